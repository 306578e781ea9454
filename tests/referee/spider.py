"""An ordinary CrawlSpider that reads parts of Python's documentation; run by `crawling`.

By hand: `python tests/referee/spider.py SETTINGS URL ...`; SETTINGS is a JSON object.
"""

from __future__ import annotations

import json
import sys
from urllib.parse import urlsplit

from scrapy.crawler import AsyncCrawlerProcess
from scrapy.linkextractors import LinkExtractor
from scrapy.spiders import CrawlSpider, Rule

SECTIONS = ("extending", "faq", "howto", "tutorial", "using")
WITHIN = rf"^http://[^/]+/(({'|'.join(SECTIONS)})(/|$)|slow\.html$)"


class ReadingSpider(CrawlSpider):
    """Follows the links to some sections, on the sites that it starts from."""

    name = "reading"
    rules = (Rule(LinkExtractor(allow=WITHIN)),)


def main(settings: str, *urls: str) -> None:
    process = AsyncCrawlerProcess(json.loads(settings))
    hosts = [urlsplit(url).hostname for url in urls]
    process.crawl(ReadingSpider, start_urls=urls, allowed_domains=hosts)
    process.start()


if __name__ == "__main__":
    main(*sys.argv[1:])
