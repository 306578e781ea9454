"""Download handlers that users bring along; crawls name them by path."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, ClassVar

from scrapy.core.downloader.handlers.base import BaseDownloadHandler
from scrapy.core.downloader.handlers.http11 import HTTP11DownloadHandler
from scrapy.http import HtmlResponse, Response, TextResponse

from crawls.promise import pause

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.crawler import Crawler


class Derived(HTTP11DownloadHandler):
    """Scrapy's handler, with something done after each download that takes a while."""

    async def download_request(self, request: Request) -> Response:
        response = await super().download_request(request)
        await pause(0.02)
        return response


class Wrapping(BaseDownloadHandler):
    """Hands everything to a handler of Scrapy's."""

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        self._inner = HTTP11DownloadHandler(crawler)

    async def download_request(self, request: Request) -> Response:
        return await self._inner.download_request(request)

    async def close(self) -> None:
        await self._inner.close()


class FromMemory(BaseDownloadHandler):
    """Answers by itself; `log` has the URL, start and end of each answer."""

    log: ClassVar[list[tuple[str, float, float]]] = []
    answers: ClassVar[dict[str, bytes]] = {"/robots.txt": b"User-agent: *\nDisallow: /private/\n"}

    async def download_request(self, request: Request) -> Response:
        start_at = time.monotonic()
        await pause(0.05)
        self.log.append((request.url, start_at, time.monotonic()))
        path = "/" + request.url.split("/", 3)[3]
        kind = TextResponse if path == "/robots.txt" else HtmlResponse
        return kind(request.url, body=self.answers.get(path, b"a page"))
