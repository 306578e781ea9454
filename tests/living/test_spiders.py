"""What spiders are written with: start_urls, async start, items, errbacks, response.follow."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest
from scrapy import Request, Spider
from scrapy.http import Response, TextResponse
from scrapy.spidermiddlewares.httperror import HttpError
from twisted.python.failure import Failure

from crawls.judging import DISALLOW, paths
from crawls.promise import SLOW, assert_no_lease_left, assert_ten_times
from crawls.running import run_spider
from harness import Answer, Web

pytestmark = [pytest.mark.crawl, pytest.mark.usefixtures("in_process")]


async def test_an_ordinary_spider(web: Web) -> None:
    """Whatever a spider yields where is done, and its errbacks hear what did not come."""
    links = "".join(f'<a href="{path}">x</a>' for path in ("/1", "/private/2", "3", "/none"))
    pages: dict[str, Any] = {
        "/robots.txt": DISALLOW,
        "/a": Answer(body=links, delay=0.02),
        "/none": Answer(404, delay=0.02),
    }
    site = web.site({**pages, "*": SLOW})
    heard: list[Any] = []

    class Ordinary(Spider):
        name = "ordinary"
        start_urls = [site.url("/a"), site.url("/a"), site.url("/private/b")]  # noqa: RUF012

        async def start(self) -> AsyncIterator[Any]:
            yield {"item": "from start"}
            async for request in super().start():
                yield request.replace(errback=self.failed)
            yield Request(site.url("/last"), self.seen, priority=-1)

        def parse(self, response: Response) -> Iterator[Any]:
            assert isinstance(response, TextResponse)
            yield {"item": response.url}
            yield from response.follow_all(css="a", callback=self.seen, errback=self.failed)

        async def seen(self, response: Response) -> AsyncIterator[Any]:
            yield {"item": response.url}

        def failed(self, failure: Failure) -> None:
            error = failure.value
            what = error.response.status if isinstance(error, HttpError) else type(error).__name__
            heard.append((failure.request.url, what))  # type: ignore[attr-defined]

    run = await run_spider(web, Ordinary)
    # Scrapy's start requests are not filtered, so /a is fetched twice.
    fetched = ["/robots.txt", "/a", "/a", "/1", "/3", "/none", "/last"]
    assert sorted(paths(run, site)) == sorted(fetched)
    assert sorted(heard) == [
        (site.url("/none"), 404),
        (site.url("/private/2"), "IgnoreRequest"),
        (site.url("/private/b"), "IgnoreRequest"),
    ]
    assert run.stats["item_scraped_count"] == 1 + 2 + 3
    assert_ten_times(run.arrivals)
    assert_no_lease_left(run)


async def test_a_spider_that_only_yields_items(web: Web) -> None:
    """A spider that asks for nothing ends, and nobody is asked for a robots.txt."""

    class Itemising(Spider):
        name = "itemising"

        async def start(self) -> AsyncIterator[Any]:
            for number in range(3):
                yield {"item": number}

    run = await run_spider(web, Itemising)
    assert run.arrivals == []
    assert run.stats["item_scraped_count"] == 3
    assert run.stats["finish_reason"] == "finished"
