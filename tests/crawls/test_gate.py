"""One request of a host at a time, and ten times its duration between two, whatever is done."""

from __future__ import annotations

from dataclasses import dataclass
from ipaddress import IPv4Address
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from scrapy import Spider
from scrapy.http import Response

import harness
from crawls.judging import moved, paths
from crawls.promise import FREE, SLOW, assert_ten_times, fetch_directly
from harness import Answer, Asked, Web, crawl_here, gaps
from harness.pages import Pages

pytestmark = pytest.mark.crawl

SETTINGS: dict[str, Any] = {
    "CONCURRENT_REQUESTS": 64,
    "CONCURRENT_REQUESTS_PER_DOMAIN": 16,
    "RETRY_TIMES": 1,
    "POLITE_BACKOFF_MIN": 0.1,
    "POLITE_ROBOTS_HOLD": 0.5,
}


@dataclass(frozen=True, slots=True)
class Site:
    """What a site answers, what is asked of it, and how many requests it is to see.

    Args:
        asked: arguments of requests; ``url`` is a path.
        least: requests that come of these, robots.txt included.
    """

    pages: Pages
    asked: list[dict[str, Any]]
    least: int


def pages(count: int, **arguments: Any) -> list[dict[str, Any]]:
    """Return requests of so many pages with these arguments."""
    return [{"url": f"/{number}", **arguments} for number in range(count)]


SITES = {
    "plain": Site({"*": SLOW}, pages(9), 10),
    "slow body": Site({"*": Answer(body="x", body_delay=0.03)}, pages(4), 5),
    "slots": Site(
        {"*": SLOW},
        [{**page, "meta": {"download_slot": str(n)}} for n, page in enumerate(pages(5))],
        6,
    ),
    "methods": Site(
        {"*": SLOW},
        [
            {**page, "method": method}
            for page, method in zip(pages(4), ("HEAD", "POST", "PUT", "DELETE"), strict=True)
        ],
        5,
    ),
    "slow robots.txt": Site({"/robots.txt": Answer(404, delay=0.1), "*": 200}, pages(2), 3),
    "retries": Site({"*": [Answer(500, delay=0.03), 200] * 2}, pages(2), 4),
    "drops": Site({"*": Answer(delay=0.03, drop=True)}, pages(1), 3),
    "drops at once": Site({"*": [Answer(drop=True), SLOW]}, pages(2), 4),
    "404": Site({"*": Answer(404, delay=0.03)}, pages(3), 4),
    "timeouts": Site({"*": Answer(hang=True)}, pages(1, meta={"download_timeout": 0.1}), 3),
    "half a body": Site(
        {"*": Answer(headers={"Content-Length": "99", "Connection": "close"}, delay=0.03)},
        pages(1),
        3,
    ),
    "closed connections": Site(
        {"*": Answer(headers={"Connection": "close"}, delay=0.03)}, pages(3), 4
    ),
    "redirects": Site(
        {"/0": {**moved("/1"), "delay": 0.03}, "/1": {**moved("/2"), "delay": 0.03}, "/2": SLOW},
        pages(1),
        4,
    ),
    "robots.txt redirects": Site(
        {
            "/robots.txt": {**moved("/a"), "delay": 0.03},
            "/a": {**moved("/b"), "delay": 0.03},
            "/b": SLOW,
            "*": SLOW,
        },
        pages(2),
        5,
    ),
    "unreachable robots.txt": Site(
        {"/robots.txt": Answer(503, {"Retry-After": "1"}, delay=0.03)}, pages(3), 1
    ),
    "same page again": Site(
        {"*": SLOW}, [{"url": "/0", "dont_filter": True, "priority": n} for n in range(4)], 5
    ),
}


async def test_ten_times_whatever_is_done(web: Web) -> None:
    """Slots, methods, retries, redirects and all kinds of failures leave the rule alone."""
    sites = {name: web.site({**FREE, **site.pages}) for name, site in SITES.items()}
    asked = [
        {**asking, "url": sites[name].url(asking["url"])}
        for name, site in SITES.items()
        for asking in site.asked
    ]
    run = await crawl_here(web, asked, SETTINGS)
    assert_ten_times(run.arrivals)
    seen = {name: len(paths(run, site)) for name, site in sites.items()}
    assert {name: count >= SITES[name].least for name, count in seen.items()} == dict.fromkeys(
        SITES, True
    ), seen


async def test_redirects_between_hosts(web: Web) -> None:
    """Pages that send one back and forth between two hosts wait for the clocks of both."""

    def onward(to: harness.Site, asked: Asked) -> Answer:
        return Answer(302, {"Location": to.url(asked.path + "x")}, delay=0.03)

    first = web.site({})
    second = web.site({"/robots.txt": 404, "*": lambda asked: onward(first, asked)})
    first.pages.update(  # type: ignore[attr-defined]
        {"/robots.txt": 404, "*": lambda asked: onward(second, asked)}
    )
    settings = {**SETTINGS, "REDIRECT_MAX_TIMES": 3, "RETRY_ENABLED": False}
    run = await crawl_here(web, [first.url("/a"), second.url("/b")], settings)
    assert_ten_times(run.arrivals)
    assert len(run.arrivals) == 10


@pytest.mark.parametrize("delay", [0, 0.2])
async def test_hosts_that_share_a_slot(web: Web, delay: float) -> None:
    """A slot of DOWNLOAD_SLOTS keeps its own pace, and hosts that share it do not slow each other.

    What a page waits in a slot is no part of its duration, and a host's wait no wait of the slot.
    """
    slow, *others = (web.site({**FREE, "*": Answer(delay=time)}) for time in (0.4, 0.01, 0.01))
    shared = {"download_slot": "shared"}
    asked = [{"url": site.url(f"/{n}"), "meta": shared} for n in range(4) for site in others]
    asked += [{"url": slow.url(f"/{n}"), "meta": shared} for n in range(2)]
    slots = {"DOWNLOAD_SLOTS": {"shared": {"delay": delay}}}
    run = await crawl_here(web, asked, {**SETTINGS, **slots}, timeout=30)
    assert_ten_times(run.arrivals)
    pages = [seen for seen in run.arrivals if seen.path != "/robots.txt"]
    assert len(pages) == len(asked)
    assert all(b.start_at - a.start_at >= 0.9 * delay for a, b in pairwise(pages))
    others_gaps = [gap for gap in gaps(run.arrivals) if gap.host != slow.host]
    late = max(gap.wait - 10 * gap.before.duration for gap in others_gaps)
    assert late < 7 * 0.4 + 3 * delay  # the slow host waits for ten times 0.4


@pytest.mark.usefixtures("in_process")  # HTTP clients without a reactor refuse the number
async def test_spellings_of_a_host(web: Web) -> None:
    """However a host's address is spelled in URLs, it is one host with one robots.txt."""
    site = web.site({"/robots.txt": [404, 500], "*": SLOW})
    spellings = [site.host, str(int(IPv4Address(site.host)))]
    asked = [f"http://{host}:{site.port}/{n}" for n in range(2) for host in spellings]
    run = await crawl_here(web, asked, SETTINGS)
    assert_ten_times(run.arrivals)
    assert sorted(paths(run, site)) == ["/0", "/0", "/1", "/1", "/robots.txt"]


@pytest.mark.usefixtures("in_process")
async def test_direct_downloads_and_media(web: Web, tmp_path: Path) -> None:
    """Neither `engine.download_async` in numbers nor a media pipeline gets round the gate."""
    home, files = (web.site({**FREE, "*": SLOW}) for _ in range(2))
    told: list[int | str] = []

    async def parse(self: Spider, response: Response, asked_url: str) -> Any:
        yield {"file_urls": [files.url(f"/file{n}") for n in range(4)]}
        direct = [site.url(f"/direct{n}") for n in range(4) for site in (home, files)]
        told.extend(await fetch_directly(self, direct))

    settings = {
        **SETTINGS,
        "ITEM_PIPELINES": {"scrapy.pipelines.files.FilesPipeline": 1},
        "FILES_STORE": str(tmp_path),
    }
    run = await crawl_here(web, [home.url()], settings, {"parse": parse})
    assert_ten_times(run.arrivals)
    assert told == [200] * 8
    assert len(paths(run, home)) == 1 + 1 + 4
    assert len(paths(run, files)) == 1 + 4 + 4
