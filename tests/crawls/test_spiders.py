"""What spiders do to a crawl, and what is left of the promise: all of it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest
from scrapy import Request, Spider
from scrapy.http import Response
from scrapy.linkextractors import LinkExtractor
from scrapy.spiders import CrawlSpider, Rule, SitemapSpider
from scrapy.utils.asyncio import call_later
from scrapy.utils.defer import deferred_from_coro, maybe_deferred_to_future
from twisted.internet.defer import DeferredList

from crawls.judging import DISALLOW, MANY, paths
from crawls.promise import FREE, SLOW, assert_no_lease_left, assert_ten_times, pause
from crawls.running import run_spider
from harness import Answer, Asked, Web, crawl_here, gaps

pytestmark = pytest.mark.crawl


@pytest.mark.usefixtures("in_process")
async def test_callbacks_that_raise(web: Web) -> None:
    """Callbacks that raise, also in the middle, stop nothing but themselves."""
    site = web.site({**FREE, "*": ""})

    def parse(self: Spider, response: Response, asked_url: str) -> Any:
        yield Request(response.url + "/more", cb_kwargs={"asked_url": "more"})
        raise RuntimeError("my mistake")

    settings = {**MANY, "DEPTH_LIMIT": 2}
    run = await crawl_here(web, [site.url("/a"), site.url("/b")], settings, {"parse": parse})
    deep = [f"/{name}{more}" for name in "ab" for more in ("", "/more", "/more/more")]
    assert sorted(paths(run, site)) == sorted(["/robots.txt", *deep])
    assert run.stats["spider_exceptions/RuntimeError"] == 6
    assert_no_lease_left(run)


async def test_idle_spiders_get_more_to_do(web: Web) -> None:
    """A spider_idle handler may add requests and keep the spider open."""
    site = web.site({**FREE, "*": ""})
    more = {"EXTENSIONS": {"crawls.parts.Idler": 0}, "USERS_PARTS": {"idle": site.url("")}}
    run = await crawl_here(web, [site.url("/a")], {**MANY, **more})
    assert paths(run, site) == ["/robots.txt", "/a", "/idle1", "/idle2", "/idle3"]


@pytest.mark.usefixtures("in_process")
async def test_slow_start(web: Web) -> None:
    """Requests that come to an empty frontier, one by one, are fetched without a heartbeat's wait.

    The engine's own heartbeat of five seconds would wake it too, but late.
    """
    site = web.site({**FREE, "*": ""})

    async def start(self: Spider) -> AsyncIterator[Request]:
        for number in range(4):
            yield Request(site.url(f"/{number}"), cb_kwargs={"asked_url": str(number)})
            await pause(0.2)

    run = await crawl_here(web, [], MANY, {"start": start})
    assert paths(run, site) == ["/robots.txt", "/0", "/1", "/2", "/3"]
    assert run.seconds < 5


async def test_priorities_inside_a_host(web: Web) -> None:
    """Of a host's requests the one with the highest priority goes first."""
    site = web.site({"/robots.txt": Answer(404, delay=0.1), "*": ""})
    asked = [{"url": site.url(f"/{n}"), "priority": n} for n in (0, 3, -2, 5, 1)]
    run = await crawl_here(web, asked, MANY)
    assert paths(run, site)[1:] == ["/5", "/3", "/1", "/0", "/-2"]


@pytest.mark.usefixtures("in_process")
async def test_pause(web: Web) -> None:
    """While the engine is paused no page goes, and afterwards all do.

    Scrapy looks for work again when something new comes in, or with its next heartbeat.
    """
    site = web.site({**FREE, "*": ""})

    def parse(self: Spider, response: Response, asked_url: str) -> None:
        engine = self.crawler.engine

        def go_on() -> None:
            engine.unpause()
            engine.crawl(Request(site.url("/last"), priority=-9, cb_kwargs={"asked_url": ""}))

        if response.url.endswith("/0"):
            engine.pause()
            call_later(1, go_on)

    asked = [{"url": site.url(f"/{number}"), "priority": -number} for number in range(4)]
    run = await crawl_here(web, asked, {**MANY, "POLITE_MIN_DELAY": 0.1}, {"parse": parse})
    assert paths(run, site)[1:] == ["/0", "/1", "/2", "/3", "/last"]
    assert max(gap.wait for gap in gaps(run.arrivals)) >= 1


@pytest.mark.usefixtures("in_process")
async def test_crawl_spider_and_sitemap_spider(web: Web) -> None:
    """Scrapy's generic spiders crawl as they do, but not where robots.txt forbids it.

    SitemapSpider reads /robots.txt itself too.
    """

    def robots(asked: Asked) -> str:
        return f"{DISALLOW}Sitemap: http://{asked.host}:{asked.port}/sitemap.xml\n"

    links = "".join(f'<a href="{path}">x</a>' for path in ("/1", "/private/2", "/3"))
    site = web.site({"/robots.txt": robots, "/sitemap.xml": sitemap, "/": links, "*": SLOW})

    class Crawling(CrawlSpider):
        name = "crawling"
        rules = (Rule(LinkExtractor()),)

    class Mapping(SitemapSpider):
        name = "mapping"

    crawling = await run_spider(web, Crawling, start_urls=[site.url()])
    mapping = await run_spider(web, Mapping, sitemap_urls=[site.url("/robots.txt")])
    assert sorted(paths(crawling, site)) == ["/", "/1", "/3", "/robots.txt"]
    map_and_pages = ["/4", "/6", "/robots.txt", "/robots.txt", "/sitemap.xml"]
    assert sorted(paths(mapping, site)) == map_and_pages
    assert_ten_times(crawling.arrivals)
    assert_ten_times(mapping.arrivals)


def sitemap(asked: Asked) -> Answer:
    """Return a sitemap of three pages, one of them forbidden."""
    site = f"http://{asked.host}:{asked.port}"
    entries = "".join(f"<url><loc>{site}{path}</loc></url>" for path in ("/4", "/private/5", "/6"))
    namespace = "http://www.sitemaps.org/schemas/sitemap/0.9"
    return Answer(
        headers={"Content-Type": "application/xml"},
        body=f'<?xml version="1.0"?><urlset xmlns="{namespace}">{entries}</urlset>',
    )


@pytest.mark.usefixtures("in_process")
async def test_two_crawlers_in_a_process(web: Web) -> None:
    """Crawlers side by side share nothing: each keeps its own clocks and verdicts."""
    site = web.site({"/robots.txt": "User-agent: Left\nDisallow: /\n", "*": SLOW})
    pages = [site.url(f"/{number}") for number in range(3)]
    runs = [
        deferred_from_coro(crawl_here(web, pages, {"POLITE_PRODUCT": name}))
        for name in ("Left", "Right")
    ]
    done = await maybe_deferred_to_future(DeferredList(runs))
    left, right = (run for _, run in done)
    assert {tuple(told) for told in left.outcome.values()} == {("IgnoreRequest",)}
    assert right.outcome == {page: [200] for page in pages}
    asked_right = [a for a in web.arrivals() if a.headers["user-agent"].startswith("Right")]
    assert len(asked_right) == 4
    assert_ten_times(asked_right)
