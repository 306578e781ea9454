"""A spider middleware for tests whose pages need more: a download of their own that they await."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

from scrapy import Request
from scrapy.crawler import Crawler
from scrapy.http import Response


class Needing:
    """Awaits the URL in the setting NEEDS for each page of the host in the setting NEEDING."""

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Needing:
        return cls(crawler)

    async def process_spider_output(
        self, response: Response, result: AsyncIterator[Any]
    ) -> AsyncIterator[Any]:
        settings = self._crawler.settings
        if settings["NEEDING"] in response.url:
            await self._crawler.engine.download_async(Request(settings["NEEDS"]))
        async for output in result:
            yield output
