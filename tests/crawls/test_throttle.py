"""What lengthens a wait: Crawl-delay, Request-rate, floors, AutoThrottle's settings and keys."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import Any

import pytest
from scrapy import Spider
from scrapy.http import Response

from crawls.judging import paths
from harness import Answer, Web, crawl_here, gaps, robots_fetches
from harness.pages import Page
from harness.spider import Asking

pytestmark = pytest.mark.crawl

FAST: dict[str, Any] = {"CONCURRENT_REQUESTS": 64, "RETRY_ENABLED": False}
ALL = "User-agent: *\n"
DEBUG_LINE = re.compile(
    r"slot: \S+ \| conc: 1 \| delay: +\d+ ms \([+-]\d+\) \| latency: +\d+ ms \| size: +\d+ bytes"
)


async def test_floors(web: Web) -> None:
    """Each host waits for the longest of what its robots.txt and the settings ask for.

    DOWNLOAD_DELAY is a floor without a downward jitter; DOWNLOAD_SLOTS counts by host and by slot.
    """
    ours = "User-agent: HarnessBot\nCrawl-delay: 0.5\n\nUser-agent: *\nCrawl-delay: 9\n"
    table: dict[str, tuple[Page, float]] = {
        "DOWNLOAD_DELAY": (404, 0.2),
        "Crawl-delay": (ALL + "Crawl-delay: 0.6", 0.6),
        "a smaller Crawl-delay": (ALL + "Crawl-delay: 0.01", 0.2),
        "Crawl-delay of our own group": (ours, 0.5),
        "Crawl-delay of others": ("User-agent: OtherBot\nCrawl-delay: 99\n", 0.2),
        "Crawl-delay that is cut": (ALL + "Crawl-delay: 500", 0.8),
        "Crawl-delay of a redirected file": (Answer(302, {"Location": "/rules"}), 0.55),
        "Request-rate": (ALL + "Request-rate: 2/1", 0.5),
        "DOWNLOAD_SLOTS by host": (404, 0.7),
        "DOWNLOAD_SLOTS by slot": (404, 0.65),
    }
    pages: dict[str, Page] = {"/rules": ALL + "Crawl-delay: 0.55", "*": ""}
    sites = {name: web.site({"/robots.txt": file, **pages}) for name, (file, _) in table.items()}
    slots = {sites["DOWNLOAD_SLOTS by host"].host: {"delay": 0.7}, "careful": {"delay": 0.65}}
    asked = [
        {
            "url": site.url(f"/{number}"),
            "meta": {"download_slot": "careful"} if name.endswith("slot") else {},
        }
        for name, site in sites.items()
        for number in range(3)
    ]
    limits = {"DOWNLOAD_DELAY": 0.2, "DOWNLOAD_SLOTS": slots, "POLITE_CRAWL_DELAY_MAX": 0.8}
    run = await crawl_here(web, asked, {**FAST, **limits})
    for name, site in sites.items():
        waits = [gap.wait for gap in gaps(run.arrivals) if gap.host == site.host]
        if name in ("Crawl-delay of a redirected file", "DOWNLOAD_SLOTS by slot"):
            del waits[0]  # the file that tells of it, and one that is in no slot of a user's
        assert len(waits) >= 2
        assert min(waits) >= table[name][1], (name, waits)
    assert "is 500 s and is cut to 0.8 s (POLITE_CRAWL_DELAY_MAX)" in run.log


async def test_crawl_delay_at_once(web: Web) -> None:
    """A Crawl-delay counts from the fetch that told of it, also for pages that wait already."""
    files = [Answer(headers={"Cache-Control": "max-age=1"}), ALL + "Crawl-delay: 0.6"]
    site = web.site({"/robots.txt": files, "*": ""})
    settings = {**FAST, "POLITE_ROBOTS_MIN_AGE": 0, "POLITE_MIN_DELAY": 0.25}
    run = await crawl_here(web, [site.url(f"/{n}") for n in range(6)], settings)
    _, told = robots_fetches(run.arrivals)
    later = [gap.wait for gap in gaps(run.arrivals) if gap.before.start_at >= told.start_at]
    assert later and min(later) >= 0.6


async def test_autothrottle_settings(web: Web) -> None:
    """AUTOTHROTTLE_START_DELAY is a floor until a fetch was measured, and _MAX_DELAY a ceiling.

    AUTOTHROTTLE_DEBUG logs a line per answer in the form that Scrapy users know.
    """
    site, slow = web.site({"*": ""}), web.site({"*": Answer(delay=0.1)})
    unmeasured = {"dont_obey_robotstxt": True, "autothrottle_dont_adjust_delay": True}
    asked: list[Asking] = [{"url": site.url(f"/{n}"), "meta": unmeasured} for n in range(3)]
    run = await crawl_here(
        web,
        [*asked, *(slow.url(f"/{n}") for n in range(3))],
        {
            **FAST,
            "AUTOTHROTTLE_START_DELAY": 0.4,
            "AUTOTHROTTLE_MAX_DELAY": 0.5,
            "AUTOTHROTTLE_DEBUG": True,
        },
    )
    for gap in gaps(run.arrivals):
        assert gap.host != site.host or gap.wait >= 0.4
        assert gap.before.duration < 0.1 or gap.wait >= 0.5
    assert run.stats["polite/wait/capped"] >= 3
    assert len(DEBUG_LINE.findall(run.log)) == len(run.arrivals)


async def test_dont_adjust_delay(web: Web) -> None:
    """A slow fetch with `autothrottle_dont_adjust_delay` teaches nothing; the next ones stay."""
    site = web.site({"/slow": Answer(delay=0.5), "*": Answer(delay=0.02)})
    asked: list[Asking] = [
        {"url": site.url("/1"), "priority": 2},
        {
            "url": site.url("/slow"),
            "priority": 1,
            "meta": {"autothrottle_dont_adjust_delay": True},
        },
        site.url("/2"),
    ]
    run = await crawl_here(web, asked, FAST)
    [wait] = [gap.wait for gap in gaps(run.arrivals) if gap.before.path == "/slow"]
    assert paths(run, site) == ["/robots.txt", "/1", "/slow", "/2"]
    assert 10 * 0.02 <= wait < 10 * 0.5


@pytest.mark.usefixtures("in_process")
async def test_slot_delay_and_a_slow_fetch_between(web: Web) -> None:
    """`slot.delay` can be read in callbacks; a slow fetch delays what follows it, and no more.

    The slot keeps a timer of its own, which must not outlast the wait of a faster fetch.
    """
    site = web.site({"/slow": Answer(delay=0.4), "*": Answer(delay=0.02)})
    names = ["/1", "/slow", "/2", "/3"]
    delays: dict[str, float] = {}

    def parse(self: Spider, response: Response, asked_url: str) -> None:
        slot = self.crawler.engine.downloader.slots[site.host]
        delays[asked_url] = slot.delay

    asked = [{"url": site.url(name), "priority": -n} for n, name in enumerate(names)]
    run = await crawl_here(web, asked, FAST, {"parse": parse})
    assert paths(run, site) == ["/robots.txt", *names]
    waits = {gap.before.path: gap.wait for gap in gaps(run.arrivals)}
    durations = {seen.path: seen.duration for seen in run.arrivals}
    for name, following in pairwise(names):
        assert delays[site.url(name)] >= 10 * durations[name]
        assert waits[name] >= 10 * durations[name]
        late = waits[name] - 10 * durations[name]
        assert name == "/slow" or late < 5 * durations["/slow"], (name, following)
