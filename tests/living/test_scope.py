"""What a crawl covers: OffsiteMiddleware, DepthMiddleware, CrawlSpider, SitemapSpider."""

from __future__ import annotations

import gzip
from typing import Any

import pytest
from scrapy import Request, Spider
from scrapy.http import Response
from scrapy.linkextractors import LinkExtractor
from scrapy.spiders import CrawlSpider, Rule, SitemapSpider

from crawls.judging import DISALLOW, MANY, moved, paths
from crawls.promise import FREE, SLOW, assert_no_lease_left, assert_ten_times
from crawls.running import run_spider
from harness import Answer, Asked, Web, crawl_here

pytestmark = pytest.mark.crawl


async def test_offsite(web: Web) -> None:
    """What is off-site is not asked for its robots.txt either, be it queued or redirected to.

    `allow_offsite` in its meta lets a page pass, with all that belongs to it.
    """
    stranger, friend = (web.site({**FREE, "*": SLOW}) for _ in range(2))
    home = web.site({**FREE, "/away": moved(stranger.url("/hop")), "*": SLOW})
    asked: list[Any] = [
        home.url("/away"),
        home.url("/page"),
        stranger.url("/page"),
        {"url": friend.url("/page"), "meta": {"allow_offsite": True}},
    ]
    run = await crawl_here(web, asked, spider_attrs={"allowed_domains": [home.host]})
    assert paths(run, stranger) == []
    assert paths(run, friend) == ["/robots.txt", "/page"]
    assert sorted(paths(run, home)) == ["/away", "/page", "/robots.txt"]
    assert_ten_times(run.arrivals)
    assert_no_lease_left(run)


@pytest.mark.usefixtures("in_process")
async def test_depth(web: Web) -> None:
    """A page that was refused and came back is as deep as before: DEPTH_LIMIT holds."""
    refused = [Answer(429, {"Retry-After": "1"}), Answer(503, {"Retry-After": "1"}), 200]
    site = web.site({**FREE, "/x/x": refused, "*": ""})

    def parse(self: Spider, response: Response, asked_url: str) -> Any:
        yield Request(f"{response.url}/x", cb_kwargs={"asked_url": ""})

    run = await crawl_here(web, [site.url("/x")], {**MANY, "DEPTH_LIMIT": 3}, {"parse": parse})
    deep = ["/x", "/x/x", "/x/x", "/x/x", "/x/x/x", "/x/x/x/x"]
    assert paths(run, site) == ["/robots.txt", *deep]


@pytest.mark.usefixtures("in_process")
async def test_crawl_spider(web: Web) -> None:
    """CrawlSpider follows links as it does, but not where robots.txt forbids it."""
    links = "".join(f'<a href="{path}">x</a>' for path in ("/1", "/private/2", "/3"))
    site = web.site({"/robots.txt": DISALLOW, "/": links, "*": SLOW})

    class Crawling(CrawlSpider):
        name = "crawling"
        rules = (Rule(LinkExtractor()),)

    run = await run_spider(web, Crawling, start_urls=[site.url()])
    assert sorted(paths(run, site)) == ["/", "/1", "/3", "/robots.txt"]
    assert_ten_times(run.arrivals)


@pytest.mark.usefixtures("in_process")
async def test_sitemap_spider(web: Web) -> None:
    """Sitemaps that robots.txt names are read, indexes and compressed ones too, and obeyed.

    SitemapSpider reads /robots.txt itself as well.
    """

    def robots(asked: Asked) -> str:
        return f"{DISALLOW}Sitemap: http://{asked.host}:{asked.port}/index.xml\n"

    pages: dict[str, Any] = {"/robots.txt": robots, "*": SLOW}
    site = web.site(pages)
    pages["/index.xml"] = xml("sitemap", site.url("/1.xml"), site.url("/2.xml.gz"))
    pages["/1.xml"] = xml("url", site.url("/4"), site.url("/private/5"))
    packed = gzip.compress(str(xml("url", site.url("/6")).body).encode())
    pages["/2.xml.gz"] = Answer(headers={"Content-Type": "application/gzip"}, body=packed)

    class Mapping(SitemapSpider):
        name = "mapping"

    run = await run_spider(web, Mapping, sitemap_urls=[site.url("/robots.txt")])
    maps = ["/1.xml", "/2.xml.gz", "/index.xml"]
    expected = ["/4", "/6", *maps, "/robots.txt", "/robots.txt"]
    assert sorted(paths(run, site)) == sorted(expected)
    assert_ten_times(run.arrivals)


def xml(kind: str, *urls: str) -> Answer:
    """Return a sitemap of pages ("url") or of sitemaps ("sitemap")."""
    entries = "".join(f"<{kind}><loc>{url}</loc></{kind}>" for url in urls)
    name = {"url": "urlset", "sitemap": "sitemapindex"}[kind]
    namespace = "http://www.sitemaps.org/schemas/sitemap/0.9"
    return Answer(
        headers={"Content-Type": "application/xml"},
        body=f'<?xml version="1.0"?><{name} xmlns="{namespace}">{entries}</{name}>',
    )
