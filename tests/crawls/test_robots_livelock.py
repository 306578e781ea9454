"""A robots.txt that is stale before its host's turn comes again is not fetched for ever."""

from __future__ import annotations

import pytest
from scrapy import signals
from scrapy.crawler import Crawler
from scrapy.http import Response
from scrapy.utils.asyncio import call_later

from harness import Web, crawl_here, robots_fetches


@pytest.mark.crawl
async def test_freshness_shorter_than_the_delay(web: Web) -> None:
    """Each page still goes, on a file fetched for it: robots, page, robots, page."""
    site = web.site({"/robots.txt": 404, "*": "page"})
    urls = [site.url(f"/p{n}") for n in range(3)]
    settings = {"POLITE_ROBOTS_MIN_AGE": 0.1, "POLITE_ROBOTS_MAX_AGE": 0.1, "POLITE_MIN_DELAY": 0.5}
    run = await crawl_here(web, urls, settings, timeout=20)
    assert [run.outcome.get(url) for url in urls] == [[200]] * 3
    assert [arrival.path == "/robots.txt" for arrival in run.arrivals] == [True, False] * 3


class Pauser:
    """Pauses the engine after the first page, for longer than a robots.txt is fresh."""

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler
        crawler.signals.connect(self._received, signals.response_received)

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Pauser:
        return cls(crawler)

    def _received(self, response: Response) -> None:
        if response.url.endswith("/p0"):
            engine = self._crawler.engine
            assert engine is not None
            engine.pause()
            call_later(2.0, engine.unpause)


@pytest.mark.crawl
async def test_verdict_that_runs_out_while_a_host_is_ready(web: Web) -> None:
    """The crawl goes on when the engine was paused for longer than the freshness."""
    site = web.site({"/robots.txt": 404, "*": "page"})
    settings = {
        "POLITE_ROBOTS_MIN_AGE": 1,
        "POLITE_ROBOTS_MAX_AGE": 1,
        "SCHEDULER_MEMORY_QUEUE": "scrapy_polite.LeanFifoQueue",
        "EXTENSIONS": {"crawls.test_robots_livelock.Pauser": 0},
    }
    run = await crawl_here(web, [site.url(f"/p{n}") for n in range(2)], settings, timeout=20)
    assert run.outcome == {site.url(f"/p{n}"): [200] for n in range(2)}
    assert len(robots_fetches(run.arrivals)) == 2
