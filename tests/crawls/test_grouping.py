"""Whose clock a page is under: its host's, its registrable domain's or its address's."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from urllib.parse import urlsplit

import pytest

from crawls.judging import paths
from crawls.promise import SLOW, assert_ten_times
from harness import Answer, Arrival, Web, crawl_here, most_at_once, robots_fetches

pytestmark = pytest.mark.crawl

NAMES = ["guest.co.uk", "www.guest.co.uk", "shop.guest.co.uk", "other.co.uk"]


@pytest.fixture
def proxy(web: Web, monkeypatch: pytest.MonkeyPatch) -> None:
    """Send all requests to a site of the web, by the environment, whatever their host."""
    site = web.site({"*": SLOW})
    monkeypatch.setenv("http_proxy", site.url(""))
    for name in ("no_proxy", "NO_PROXY", "HTTP_PROXY"):
        monkeypatch.delenv(name, raising=False)


def by_name(log: Sequence[Arrival]) -> list[Arrival]:
    """Return arrivals at a proxy under the hosts that were asked for."""
    parts = [urlsplit(seen.path) for seen in log]
    return [
        replace(seen, host=part.hostname or "", path=part.path)
        for seen, part in zip(log, parts, strict=True)
    ]


@pytest.mark.usefixtures("proxy")
async def test_a_proxy_does_not_get_round_the_clock(web: Web) -> None:
    """Through one proxy each host has its own clock, and its own robots.txt."""
    asked = [f"http://{name}/{number}" for number in range(3) for name in NAMES]
    run = await crawl_here(web, asked)
    log = by_name(run.arrivals)
    assert_ten_times(log)
    assert sorted(seen.host for seen in robots_fetches(log)) == sorted(NAMES)
    assert len(log) == 4 * len(NAMES)
    assert most_at_once(run.arrivals) > 1


@pytest.mark.usefixtures("proxy")
async def test_by_registrable_domain(web: Web) -> None:
    """With POLITE_GROUP_BY "domain" all hosts of a domain share a clock, judged each by itself."""
    asked = [f"http://{name}/{number}" for number in range(3) for name in NAMES]
    run = await crawl_here(web, asked, {"POLITE_GROUP_BY": "domain"})
    log = by_name(run.arrivals)
    assert sorted(seen.host for seen in robots_fetches(log)) == sorted(NAMES)
    assert len(log) == 4 * len(NAMES)
    domains = [replace(seen, host=".".join(seen.host.split(".")[-3:])) for seen in log]
    assert_ten_times(domains)
    assert most_at_once(run.arrivals) > 1


@pytest.mark.parametrize(("group_by", "at_once"), [("host", 2), ("ip", 1)])
async def test_by_address(web: Web, group_by: str, at_once: int) -> None:
    """With POLITE_GROUP_BY "ip" two names of one address share a clock, and else they do not."""
    site = web.site({"/robots.txt": Answer(404, delay=0.06), "*": SLOW}, "127.0.0.1", 0)
    hosts = [f"http://{name}:{site.port}" for name in ("127.0.0.1", "localhost")]
    asked = [f"{host}/{number}" for number in range(3) for host in hosts]
    run = await crawl_here(web, asked, {"POLITE_GROUP_BY": group_by})
    assert most_at_once(run.arrivals) == at_once
    if group_by == "ip":
        assert_ten_times(run.arrivals)
    assert sorted(paths(run, site)) == sorted(["/robots.txt", "/0", "/1", "/2"] * 2)
    assert run.outcome == {url: [200] for url in asked}
