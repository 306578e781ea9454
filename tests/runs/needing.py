"""A crawl whose pages need more than themselves: `python -m runs.needing JOB.json RESULT.json`.

The job has "settings" and "pages": URL -> how it asks for more, and what for.  Its items have
`got`, how much they got of that.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from scrapy import Request, Spider
from scrapy.crawler import Crawler, CrawlerProcess
from scrapy.http import Response
from scrapy.pipelines.files import FilesPipeline

WAYS = ("files", "callback", "caught", "gathered", "pipeline", "middleware", "next page")


async def fetch(crawler: Crawler, urls: list[str]) -> int:
    """Fetch some URLs one after the other; return how many."""
    for url in urls:
        await crawler.engine.download_async(Request(url))
    return len(urls)


class Needing(Spider):
    """Fetches pages that need more."""

    name = "needing"
    pages: dict[str, tuple[str, list[str]]]

    async def start(self) -> AsyncIterator[Any]:
        for url in self.pages:
            yield Request(url)

    async def parse(self, response: Response) -> AsyncIterator[Any]:
        way, urls = self.pages[response.url]
        item: dict[str, Any] = {"page": response.url, "way": way, "wanted": urls}
        if way == "callback":
            item["got"] = await fetch(self.crawler, urls)
        elif way == "caught":
            try:
                item["got"] = await fetch(self.crawler, urls)
            except Exception:
                item["got"] = 0
        elif way == "gathered":
            fetched = (fetch(self.crawler, [url]) for url in urls)
            results = await asyncio.gather(*fetched, return_exceptions=True)
            item["got"] = sum(isinstance(result, int) for result in results)
        elif way == "next page":
            item["got"] = await fetch(self.crawler, urls[:-1])
            yield Request(urls[-1], self.parse_next, cb_kwargs={"item": item}, dont_filter=True)
            return
        yield item

    def parse_next(self, response: Response, item: dict[str, Any]) -> Any:
        yield {**item, "got": item["got"] + 1}


class Middleware:
    """Awaits what items need, before any pipeline."""

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Middleware:
        return cls(crawler)

    async def process_spider_output(
        self, response: Response, result: AsyncIterator[Any]
    ) -> AsyncIterator[Any]:
        async for output in result:
            if isinstance(output, dict) and output["way"] == "middleware":
                output["got"] = await fetch(self._crawler, output["wanted"])
            yield output


class Pipeline:
    """Awaits what items need."""

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Pipeline:
        return cls(crawler)

    async def process_item(self, item: Any) -> Any:
        if item["way"] == "pipeline":
            item["got"] = await fetch(self._crawler, item["wanted"])
        return item


class Files(FilesPipeline):
    """Fetches the files of items that have some."""

    def get_media_requests(self, item: Any, info: Any) -> list[Request]:
        return [Request(url) for url in item["wanted"]] if item["way"] == "files" else []

    def item_completed(self, results: Any, item: Any, info: Any) -> Any:
        if item["way"] == "files":
            item["got"] = sum(succeeded for succeeded, _ in results)
        return item


if __name__ == "__main__":
    job_file, result_file = map(Path, sys.argv[1:])
    job = json.loads(job_file.read_text())
    process = CrawlerProcess(job["settings"])
    crawler = process.create_crawler(Needing)
    process.crawl(crawler, pages=job["pages"])
    process.start()
    assert crawler.stats is not None
    result_file.write_text(json.dumps(crawler.stats.get_value("finish_reason")))
