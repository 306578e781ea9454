"""What both spiders do: start at the front page of each of their hosts and follow every link."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from typing import Any

from scrapy import Request, Spider
from scrapy.http import Response


class SiteSpider(Spider):
    """Base class; a spider adds `name`, `allowed_domains` and its owner in `custom_settings`."""

    allowed_domains: list[str]
    port = "8099"  # of the demo web; `scrapy crawl almanac -a port=8080` for another one

    async def start(self) -> AsyncIterator[Request]:
        for host in self.allowed_domains:
            yield Request(f"http://{host}:{self.port}/")

    def parse(self, response: Response) -> Iterator[Any]:
        yield {
            "url": response.url,
            "title": response.css("h1::text").get(),
            "words": len(response.css("p::text").get("").split()),
        }
        yield from response.follow_all(response.css("a::attr(href)").getall())
