"""What spiders do to a crawl, and what is left of the promise: all of it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest
from scrapy import Request, Spider
from scrapy.http import Response
from scrapy.utils.asyncio import call_later

from crawls.judging import MANY, paths
from crawls.promise import FREE, assert_no_lease_left, pause
from harness import Web, crawl_here, gaps

pytestmark = pytest.mark.crawl


@pytest.mark.usefixtures("in_process")
async def test_callbacks_that_raise(web: Web) -> None:
    """Callbacks that raise, also in the middle, stop nothing but themselves."""
    site = web.site({**FREE, "*": ""})

    def parse(self: Spider, response: Response, asked_url: str) -> Any:
        yield Request(response.url + "/more", cb_kwargs={"asked_url": "more"})
        raise RuntimeError("my mistake")

    settings = {**MANY, "DEPTH_LIMIT": 2}
    run = await crawl_here(web, [site.url("/a"), site.url("/b")], settings, {"parse": parse})
    deep = [f"/{name}{more}" for name in "ab" for more in ("", "/more", "/more/more")]
    assert sorted(paths(run, site)) == sorted(["/robots.txt", *deep])
    assert run.stats["spider_exceptions/RuntimeError"] == 6
    assert_no_lease_left(run)


async def test_idle_spiders_get_more_to_do(web: Web) -> None:
    """A spider_idle handler may add requests and keep the spider open."""
    site = web.site({**FREE, "*": ""})
    more = {"EXTENSIONS": {"crawls.parts.Idler": 0}, "USERS_PARTS": {"idle": site.url("")}}
    run = await crawl_here(web, [site.url("/a")], {**MANY, **more})
    assert paths(run, site) == ["/robots.txt", "/a", "/idle1", "/idle2", "/idle3"]


@pytest.mark.usefixtures("in_process")
async def test_slow_start(web: Web) -> None:
    """Requests that come to an empty frontier, one by one, are fetched without a heartbeat's wait.

    The engine's own heartbeat of five seconds would wake it too, but late.
    """
    site = web.site({**FREE, "*": ""})

    async def start(self: Spider) -> AsyncIterator[Request]:
        for number in range(4):
            yield Request(site.url(f"/{number}"), cb_kwargs={"asked_url": str(number)})
            await pause(0.2)

    run = await crawl_here(web, [], MANY, {"start": start})
    assert paths(run, site) == ["/robots.txt", "/0", "/1", "/2", "/3"]
    assert max(gap.wait for gap in gaps(run.arrivals)) < 4


@pytest.mark.usefixtures("in_process")
async def test_pause(web: Web) -> None:
    """While the engine is paused no page goes, and afterwards all do.

    Scrapy looks for work again when something new comes in, or with its next heartbeat.
    """
    site = web.site({**FREE, "*": ""})

    def parse(self: Spider, response: Response, asked_url: str) -> None:
        engine = self.crawler.engine

        def go_on() -> None:
            engine.unpause()
            engine.crawl(Request(site.url("/last"), priority=-9, cb_kwargs={"asked_url": ""}))

        if response.url.endswith("/0"):
            engine.pause()
            call_later(1, go_on)

    asked = [{"url": site.url(f"/{number}"), "priority": -number} for number in range(4)]
    run = await crawl_here(web, asked, {**MANY, "POLITE_MIN_DELAY": 0.1}, {"parse": parse})
    assert paths(run, site)[1:] == ["/0", "/1", "/2", "/3", "/last"]
    assert max(gap.wait for gap in gaps(run.arrivals)) >= 1
