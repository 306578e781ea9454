"""scrapy-poet: page objects that fetch more take turns, and pages that nobody reads cost none."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest
from scrapy import Request, Spider
from scrapy.http import Response

from company.needing import need_package
from crawls.judging import DISALLOW, paths
from crawls.promise import SLOW, assert_no_lease_left, assert_ten_times
from crawls.running import run_spider
from harness import Web

need_package("scrapy-poet", "scrapy_poet")

from company import pages  # noqa: E402

pytestmark = [pytest.mark.crawl, pytest.mark.usefixtures("in_process", "asyncio_reactor")]

SETTINGS: dict[str, Any] = {
    "ADDONS": {"scrapy_polite.Addon": 500, "scrapy_poet.Addon": 300},
    "SCRAPY_POET_RULES": pages.RULES,
    "CONCURRENT_REQUESTS": 1,
}


@pytest.fixture(autouse=True)
def offline(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep the rules' matcher from fetching the list of public suffixes."""
    extract = need_package("tldextract", "tldextract").TLDExtract(suffix_list_urls=())
    monkeypatch.setattr("tldextract.tldextract.extract", extract)


async def test_additional_requests(web: Web) -> None:
    """With one place only, requests of page objects take turns, obey robots.txt and come back.

    Items are injected: their requests are made while the page's own is still in the middlewares.
    """
    first, second, other = (web.site({"/robots.txt": DISALLOW, "*": SLOW}) for _ in range(3))
    told: dict[str, list[int | str]] = {}

    class Fetching(Spider):
        name = "fetching"

        async def start(self) -> AsyncIterator[Request]:
            for site in (first, second):
                for number in range(2):
                    for parse in ("parse_page", "parse_item"):
                        url, callback = site.url(f"/{parse}{number}"), getattr(self, parse)
                        params = {"also": other.url("/")}
                        yield Request(url, callback, meta={"page_params": params})

        async def parse_page(self, response: Response, page: pages.Page) -> None:
            told[response.url] = (await page.to_item()).told

        def parse_item(self, response: pages.DummyResponse, item: pages.Item) -> None:
            told[response.url] = item.told

    run = await run_spider(web, Fetching, SETTINGS)
    assert list(told.values()) == [[200, "HttpError", 200, "HttpError"]] * 8
    for site in (first, second):
        assert len(paths(run, site)) == 1 + 4 + 4
    assert len(paths(run, other)) == 1 + 8
    assert_ten_times(run.arrivals)
    assert_no_lease_left(run)


async def test_pages_that_nobody_reads(web: Web) -> None:
    """A page that no callback reads is judged by robots.txt, but not fetched, and uses no turn."""
    site = web.site({"/robots.txt": DISALLOW, "*": SLOW})
    told: list[str] = []

    class Unread(Spider):
        name = "unread"

        async def start(self) -> AsyncIterator[Request]:
            callback: Any = self.parse_url
            for path in ("/1", "/2", "/private/page", "/3"):
                yield Request(site.url(path), callback)
            yield Request(site.url("/read"), priority=-1)

        def parse_url(self, response: pages.DummyResponse) -> None:
            told.append(response.url)

        def parse(self, response: Response) -> None:
            told.append(response.url)

    run = await run_spider(web, Unread, SETTINGS)
    assert told == [site.url(path) for path in ("/1", "/2", "/3", "/read")]
    assert paths(run, site) == ["/robots.txt", "/read"]
    assert_no_lease_left(run)


async def test_retries_of_page_objects(web: Web) -> None:
    """A page object that asks for its page again gets it after the host's wait."""
    site = web.site({"/robots.txt": "", "*": SLOW})

    class Retrying(Spider):
        name = "retrying"

        async def start(self) -> AsyncIterator[Request]:
            yield Request(site.url("/page"), self.parse_page)

        async def parse_page(self, response: Response, page: pages.Unhappy) -> None:
            await page.to_item()

    run = await run_spider(web, Retrying, {**SETTINGS, "RETRY_TIMES": 2})
    assert paths(run, site) == ["/robots.txt", "/page", "/page", "/page"]
    assert_ten_times(run.arrivals)
    assert_no_lease_left(run)
