"""A worker of a distributed crawl: a RedisSpider that follows every link; run by the tests.

By hand: `python worker.py SETTINGS [TERMS]`, both JSON objects; TERMS are those on which turns are
held, for tests that cannot wait as long as a crawl can.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from functools import partial

from scrapy import Request
from scrapy.crawler import AsyncCrawlerProcess
from scrapy.http import Response
from scrapy_redis.spiders import RedisSpider

from scrapy_polite.state import redis


class Worker(RedisSpider):  # type: ignore[misc]
    """Follows every link; seeds come from the list `crew:start_urls`."""

    name = "crew"

    def parse(self, response: Response) -> Iterator[Request]:
        yield from response.follow_all(response.css("a::attr(href)").getall())


def main(settings: str, terms: str = "{}") -> None:
    redis.Terms = partial(redis.Terms, **json.loads(terms))  # type: ignore[misc,assignment]
    process = AsyncCrawlerProcess(json.loads(settings))
    process.crawl(Worker)
    process.start()


if __name__ == "__main__":
    main(*sys.argv[1:])
