"""Stops: nothing is drained, nothing is lost, and nothing is fetched twice."""

from __future__ import annotations

from pathlib import Path

import pytest
from scrapy import Spider
from scrapy.exceptions import CloseSpider
from scrapy.http import Response
from scrapy.utils.asyncio import call_later
from scrapy.utils.defer import deferred_from_coro

from crawls.judging import MANY
from crawls.promise import FREE, assert_no_lease_left, assert_ten_times, fetch_directly
from harness import Answer, Web, crawl_here
from harness.pages import Page

pytestmark = pytest.mark.crawl


async def test_stop_and_resume(web: Web, tmp_path: Path) -> None:
    """With JOBDIR a crawl that is stopped again and again fetches each page exactly once."""
    sites = [web.site({**FREE, "*": Answer(delay=0.01)}) for _ in range(4)]
    pages = [site.url(f"/{number}") for number in range(6) for site in sites]
    settings = {"JOBDIR": str(tmp_path), "CLOSESPIDER_PAGECOUNT": 7, "CONCURRENT_REQUESTS": 4}
    told: list[str] = []
    for _ in range(8):
        run = await crawl_here(web, pages, settings)
        told += run.outcome
        if run.stats["finish_reason"] == "finished":
            break
    assert sorted(told) == sorted(pages)
    fetched = [f"http://{seen.host}:{seen.port}{seen.path}" for seen in web.arrivals()]
    assert sorted(url for url in fetched if not url.endswith("robots.txt")) == sorted(pages)
    assert_ten_times(web.arrivals())


@pytest.mark.usefixtures("in_process")
async def test_stop_while_hosts_wait(web: Web) -> None:
    """A stop sends away what waits at the gate or for a verdict, drains nothing, and counts."""
    patient: dict[str, Page] = {"/robots.txt": "User-agent: *\nCrawl-delay: 60\n", "*": ""}
    home, queued, gate = web.site({**FREE, "*": ""}), web.site(patient), web.site(patient)
    robots = web.site({"/robots.txt": Answer(404, delay=3), "*": ""})
    told: list[int | str] = []

    def close(spider: Spider) -> None:
        deferred_from_coro(spider.crawler.engine.close_spider_async(reason="enough"))

    async def parse(self: Spider, response: Response, asked_url: str) -> None:
        waiting = [site.url(f"/{number}") for site in (gate, robots) for number in range(3)]
        call_later(0.5, close, self)
        told.extend(await fetch_directly(self, waiting))

    asked = [home.url("/a"), *(queued.url(f"/{number}") for number in range(20))]
    run = await crawl_here(web, asked, MANY, {"parse": parse})
    assert told == ["CrawlStopping"] * 6
    assert run.stats["finish_reason"] == "enough"
    assert run.stats["polite/gate/stopped"] == 6
    assert run.seconds < 30
    assert_no_lease_left(run)


@pytest.mark.usefixtures("in_process")
async def test_close_spider_in_a_callback(web: Web) -> None:
    """CloseSpider ends the crawl although a hundred pages of a slow host are queued."""
    home = web.site({**FREE, "*": ""})
    slow = web.site({"/robots.txt": "User-agent: *\nCrawl-delay: 60\n", "*": ""})

    def parse(self: Spider, response: Response, asked_url: str) -> None:
        raise CloseSpider("seen enough")

    asked = [*(slow.url(f"/{number}") for number in range(100)), home.url("/a")]
    run = await crawl_here(web, asked, MANY, {"parse": parse})
    assert run.stats["finish_reason"] == "seen enough"
    assert run.seconds < 30
    assert_no_lease_left(run)
