"""What users bring along; crawls name it by path, so that any process can load it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from scrapy import Request
from scrapy.exceptions import IgnoreRequest
from scrapy.http import HtmlResponse, Response
from scrapy.utils.misc import load_object

if TYPE_CHECKING:
    from scrapy.crawler import Crawler

AGAIN = "company_again"  # in the meta of requests that were returned once


class Renamer:
    """A downloader middleware that gives every request another name, as found in many a blog."""

    def process_request(self, request: Request) -> None:
        request.headers["User-Agent"] = "Mozilla/5.0 (X11; Linux x86_64) Firefox/150.0"
        request.headers["From"] = "somebody@else.test"


class AllInBrowser:
    """A downloader middleware that has a browser fetch everything."""

    def process_request(self, request: Request) -> None:
        request.meta["playwright"] = True


class Scripted:
    """A downloader middleware that has a page run the script in its request's meta."""

    def process_request(self, request: Request) -> None:
        if "script" in request.meta:
            method = load_object("scrapy_playwright.page.PageMethod")
            request.meta["playwright_page_methods"] = [method("evaluate", request.meta["script"])]


class OpenPages:
    """A spider middleware that has a page which was left open fetch more, and closes it."""

    async def process_spider_output_async(
        self, response: Response, result: AsyncIterator[Any]
    ) -> AsyncIterator[Any]:
        async for output in result:
            yield output
        page = response.meta.get("playwright_page")
        if page is not None:
            await page.evaluate("fetch('/late')")
            await page.close()

    def process_spider_output(self, response: Response, result: Any) -> Any:
        raise NotImplementedError("callbacks are asynchronous here")


def is_extra(request: Any) -> bool:
    """Tell scrapy-playwright to abort what a browser asks for beside the page itself."""
    return not request.is_navigation_request() or request.frame.parent_frame is not None


class Answers:
    """A downloader middleware that takes answers and failures away.

    COMPANY_TRICKS maps hosts to what is done to those of their /page.
    """

    def __init__(self, crawler: Crawler) -> None:
        self._tricks: dict[str, str] = crawler.settings.getdict("COMPANY_TRICKS")

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Answers:
        return cls(crawler)

    def process_response(self, request: Request, response: Response) -> Request | Response:
        return self._do("response", request) or response

    def process_exception(self, request: Request, exception: Exception) -> Any:
        return self._do("exception", request)

    def _do(self, what: str, request: Request) -> Any:
        parts = urlsplit(request.url)
        when, _, trick = self._tricks.get(parts.hostname or "", "").partition(" ")
        if when != what or parts.path != "/page" or AGAIN in request.meta:
            return None
        if trick == "drop":
            raise IgnoreRequest("I do not want it")
        if trick == "fail":
            raise ValueError("I am broken")
        if trick == "answer":
            return HtmlResponse(request.url, body=b"mine", request=request)
        return request.replace(meta={**request.meta, AGAIN: True}, dont_filter=True)
