"""HttpProxy and a real proxy: robots.txt and pages take one way, and each host has its clock."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from crawls.judging import ALLOWED, DISALLOW, FORBIDDEN, moved, paths, verdict
from crawls.promise import SLOW, assert_ten_times
from harness import Web, crawl_here
from harness.spider import Asking
from living.proxy import Proxy, running

pytestmark = pytest.mark.crawl

QUEUES: dict[str, dict[str, Any]] = {
    "memory": {},
    "disk": {"JOBDIR": "job"},
    "stock queue": {"SCHEDULER_PRIORITY_QUEUE": "scrapy.pqueues.ScrapyPriorityQueue"},
}


@pytest.fixture
def proxy(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Proxy]:
    """A proxy that no environment names; it wants a login where Scrapy's client can send one."""
    for name in ("http_proxy", "HTTP_PROXY", "no_proxy", "NO_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    # Without a reactor, that of Scrapy before 2.19 sends none.
    login = None if request.config.getoption("reactorless") else "me:secret"
    with running(login) as proxy:
        yield proxy


async def test_a_proxy_of_the_environment(
    web: Web, proxy: Proxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every request goes through it, robots.txt too, and each host behind it has its own clock."""
    monkeypatch.setenv("http_proxy", proxy.url())
    sites = [web.site({"/robots.txt": DISALLOW, "*": SLOW}) for _ in range(3)]
    asked = [site.url(path) for path in ("/0", "/1", "/private/page") for site in sites]
    run = await crawl_here(web, asked)
    assert sorted(proxy.urls) == sorted(
        site.url(path) for site in sites for path in ("/robots.txt", "/0", "/1")
    )
    assert len(run.arrivals) == len(proxy.urls)
    assert_ten_times(run.arrivals)
    assert {verdict(run, site) for site in sites} == {FORBIDDEN}
    assert proxy.refused == []


@pytest.mark.parametrize("queue", QUEUES.values(), ids=QUEUES)
async def test_a_proxy_of_a_request(
    web: Web, proxy: Proxy, queue: dict[str, str], tmp_path: Path
) -> None:
    """A robots.txt goes through the proxy of the page that needs it, also where a page redirects.

    Nobody but the proxy gets to see its login.
    """
    other = web.site({"/robots.txt": DISALLOW, "*": SLOW})
    away = {**moved(other.url("/page")), "delay": 0.03}
    proxied = web.site({"/robots.txt": DISALLOW, "/go": away, "*": SLOW})
    direct = web.site({"/robots.txt": DISALLOW, "*": SLOW})
    meta = {"meta": {"proxy": proxy.url()}}
    asked: list[Asking] = [
        {"url": proxied.url(path), **meta} for path in ("/private/page", "/go", "/0")
    ]
    settings = {**queue, **({"JOBDIR": str(tmp_path)} if "JOBDIR" in queue else {})}
    run = await crawl_here(web, [*asked, direct.url("/0")], settings)
    through = [proxied.url(path) for path in ("/robots.txt", "/go", "/0")]
    through += [other.url(path) for path in ("/robots.txt", "/page")]
    assert sorted(proxy.urls) == sorted(through)
    assert paths(run, direct) == ["/robots.txt", "/0"]
    assert len(run.arrivals) == len(through) + 2
    assert_ten_times(run.arrivals)
    assert verdict(run, proxied) == FORBIDDEN
    assert verdict(run, proxied, "/0") == ALLOWED
    assert proxy.refused == []
    assert not any("proxy-authorization" in seen.headers for seen in run.arrivals)


async def test_no_proxy_for_a_request(
    web: Web, proxy: Proxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`proxy: None` in a page's meta keeps its robots.txt off the environment's proxy too."""
    monkeypatch.setenv("http_proxy", proxy.url())
    through, past = (web.site({"/robots.txt": 404, "*": ""}) for _ in range(2))
    asked: list[Asking] = [through.url("/0"), {"url": past.url("/0"), "meta": {"proxy": None}}]
    run = await crawl_here(web, asked)
    assert sorted(proxy.urls) == sorted([through.url("/robots.txt"), through.url("/0")])
    assert paths(run, past) == ["/robots.txt", "/0"]


async def test_a_host_that_refuses_behind_a_proxy(web: Web, proxy: Proxy) -> None:
    """What a host refused comes back after the wait, and takes the same way again."""
    refuses = web.site(
        {"/robots.txt": 404, "*": [{"status": 429, "headers": {"Retry-After": "1"}}, 200]}
    )
    others = [web.site({"/robots.txt": 404, "*": SLOW}) for _ in range(2)]
    meta = {"meta": {"proxy": proxy.url()}}
    asked = [{"url": site.url("/0"), **meta} for site in (refuses, *others)]
    asked += [{"url": site.url("/1"), **meta} for site in others]
    run = await crawl_here(web, asked)
    assert {tuple(told) for told in run.outcome.values()} == {(200,)}
    refused, again = (
        seen for seen in run.arrivals if (seen.host, seen.path) == (refuses.host, "/0")
    )
    assert again.start_at - refused.end_at >= 1
    assert len(proxy.urls) == len(run.arrivals) == 3 + 2 * 3
    assert proxy.refused == []
