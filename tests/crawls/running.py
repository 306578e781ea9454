"""Crawls of spiders that a test brings along, in the reactor of the test process."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from scrapy import Spider
from scrapy.crawler import CrawlerRunner
from scrapy.utils.defer import maybe_deferred_to_future
from scrapy.utils.reactor import is_asyncio_reactor_installed

from harness import POLITE, Crawl, Web


async def run_spider(
    web: Web, spider: type[Spider], settings: Mapping[str, Any] | None = None, **arguments: Any
) -> Crawl:
    """Run a spider politely with these arguments; return how it went, without outcome and log."""
    reactor = {} if is_asyncio_reactor_installed() else {"TWISTED_REACTOR": None}
    runner = CrawlerRunner({**POLITE, **reactor, **(settings or {})})
    crawler = runner.create_crawler(spider)
    begun_at = time.monotonic()
    await maybe_deferred_to_future(runner.crawl(crawler, **arguments))
    assert crawler.stats is not None
    return Crawl(
        outcome={},
        stats=dict(crawler.stats.get_stats()),
        log="",
        seconds=time.monotonic() - begun_at,
        arrivals=[seen for seen in web.arrivals() if seen.start_at >= begun_at],
        crawler=crawler,
    )
