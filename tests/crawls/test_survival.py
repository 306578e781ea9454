"""What users do to a crawl, and what is left of the promise: all of it, and no page is lost."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from crawls.judging import MANY, paths, verdict
from crawls.running import run_spider
from crawls.test_gate import SLOW, assert_ten_times
from scrapy import Request, Spider
from scrapy.exceptions import CloseSpider
from scrapy.http import Response
from scrapy.linkextractors import LinkExtractor
from scrapy.spiders import CrawlSpider, Rule, SitemapSpider
from scrapy.utils.asyncio import call_later
from scrapy.utils.defer import deferred_from_coro, maybe_deferred_to_future
from twisted.internet.defer import Deferred, DeferredList

from harness import Answer, Crawl, Web, crawl_here, gaps
from harness.pages import Page
from scrapy_polite.runtime.runtime import Runtime

pytestmark = pytest.mark.crawl

FREE: dict[str, Page] = {"/robots.txt": 404}


async def pause(seconds: float) -> None:
    """Wait under every reactor."""
    over: Deferred[None] = Deferred()
    call_later(seconds, over.callback, None)
    await maybe_deferred_to_future(over)


def assert_no_lease_left(run: Crawl) -> None:
    """Assert that every turn was given back; unknown of a crawl in another process."""
    if run.crawler is not None:
        assert list(Runtime.of(run.crawler).turns.leases) == []


@pytest.mark.parametrize("position", [10, 540, 940, 960])
async def test_middlewares_that_take_requests_away(web: Web, position: int) -> None:
    """Whatever a middleware does to a request, its host's turn comes back and others go on."""
    tricks: dict[str, tuple[int | str, list[str]]] = {
        "answer": (200, []),
        "answer_for_another": (200, []),
        "drop": ("IgnoreRequest", []),
        "fail": ("ValueError", []),
        "repeat": (200, ["/page"]),
        "rewrite": (200, ["/instead"]),
    }
    sites = {trick: web.site({**FREE, "*": ""}) for trick in tricks}
    asked = [site.url(path) for site in sites.values() for path in ("/1", "/page", "/2", "/3")]
    settings = {
        **MANY,
        "CONCURRENT_REQUESTS": 3,
        "DOWNLOADER_MIDDLEWARES": {"crawls.parts.Middleware": position},
        "USERS_PARTS": {f"{site.host}/page": trick for trick, site in sites.items()},
    }
    run = await crawl_here(web, asked, settings)
    for trick, (told, fetched) in tricks.items():
        site = sites[trick]
        assert run.outcome[site.url("/page")] == [told], trick
        assert sorted(paths(run, site)) == sorted(["/robots.txt", "/1", "/2", "/3", *fetched])
    assert_no_lease_left(run)


@pytest.mark.usefixtures("in_process")
async def test_callbacks_and_pipelines_that_raise(web: Web) -> None:
    """Callbacks that raise, also in the middle, stop nothing but themselves."""
    site = web.site({**FREE, "*": ""})

    def parse(self: Spider, response: Response, asked_url: str) -> Any:
        yield Request(response.url + "/more", cb_kwargs={"asked_url": "more"})
        raise RuntimeError("my mistake")

    run = await crawl_here(web, [site.url("/a"), site.url("/b")], {**MANY, "DEPTH_LIMIT": 2}, {"parse": parse})
    assert sorted(paths(run, site)) == sorted(
        ["/robots.txt", "/a", "/b", "/a/more", "/b/more", "/a/more/more", "/b/more/more"]
    )
    assert_no_lease_left(run)


@pytest.mark.parametrize(
    "own",
    [
        {"DOWNLOADER": "crawls.parts.OwnDownloader"},
        {"DOWNLOADER": "crawls.parts.OwnPoliteDownloader"},
        {"SCHEDULER_PRIORITY_QUEUE": "scrapy.pqueues.ScrapyPriorityQueue"},
        {"SCHEDULER_PRIORITY_QUEUE": "scrapy.pqueues.DownloaderAwarePriorityQueue"},
        {
            "DOWNLOADER": "crawls.parts.OwnDownloader",
            "SCHEDULER_PRIORITY_QUEUE": "scrapy.pqueues.DownloaderAwarePriorityQueue",
        },
    ],
    ids=lambda own: "+".join(path.rpartition(".")[2] for path in own.values()),
)
async def test_own_downloader_and_queue(web: Web, own: dict[str, str]) -> None:
    """A user's downloader or scheduler queue costs speed, never a wait."""
    sites = [web.site({**FREE, "*": SLOW}) for _ in range(3)]
    tricks = {f"{sites[0].host}/1": "drop", f"{sites[1].host}/1": "answer"}
    asked = [site.url(f"/{number}") for number in range(3) for site in sites]
    settings = {
        "CONCURRENT_REQUESTS": 4,
        "DOWNLOADER_MIDDLEWARES": {"crawls.parts.Middleware": 50},
        "USERS_PARTS": tricks,
        **own,
    }
    run = await crawl_here(web, asked, settings)
    assert_ten_times(run.arrivals)
    assert sorted(len(paths(run, site)) for site in sites) == [3, 3, 4]
    assert_no_lease_left(run)


async def test_cached_answers_move_no_clock(web: Web, tmp_path: Path) -> None:
    """Pages that HttpCache answers are not waited between, and those that it lacks are."""
    site = web.site({**FREE, "*": ""})
    cache = {"HTTPCACHE_ENABLED": True, "HTTPCACHE_DIR": str(tmp_path)}
    pages = [site.url(f"/{number}") for number in range(8)]
    await crawl_here(web, pages, {**MANY, **cache})
    settings = {**MANY, **cache, "POLITE_MIN_DELAY": 1}
    run = await crawl_here(web, [*pages, site.url("/new")], settings)
    assert sorted(paths(run, site)) == ["/new", "/robots.txt"]
    assert all(gap.wait >= 1 for gap in gaps(run.arrivals))
    assert run.seconds < len(pages)  # with a wait of 1 s after each, it would be longer
    assert_no_lease_left(run)


async def test_other_schemes_move_no_clock(web: Web, tmp_path: Path) -> None:
    """`data:` and `file:` URLs need no robots.txt and no turn."""
    (tmp_path / "page.html").write_text("local")
    asked = [f"data:,{number}" for number in range(9)] + [(tmp_path / "page.html").as_uri()]
    run = await crawl_here(web, asked, {"POLITE_MIN_DELAY": 1})
    assert run.outcome == {url: [200] for url in asked}
    assert run.seconds < len(asked)
    assert not any(name.startswith("polite/wait") for name in run.stats)


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
    links = "".join(f'<a href="{path}">x</a>' for path in ("/1", "/private/2", "/3"))
    entries = "".join(
        f"<url><loc>{{}}{path}</loc></url>" for path in ("/4", "/private/5", "/6")
    )
    pages: dict[str, Page] = {"/": links, "/sitemap.xml": lambda asked: _sitemap(entries, asked.host, asked.port)}
    site = web.site(
        {
            "/robots.txt": lambda asked: (
                "User-agent: *\nDisallow: /private/\n"
                f"Sitemap: http://{asked.host}:{asked.port}/sitemap.xml\n"
            ),
            "*": SLOW,
            **pages,
        }
    )

    class Crawling(CrawlSpider):
        name = "crawling"
        start_urls = (site.url(),)
        rules = (Rule(LinkExtractor()),)

    class Mapping(SitemapSpider):
        name = "mapping"
        sitemap_urls = (site.url("/robots.txt"),)

    crawling, mapping = await run_spider(web, Crawling), await run_spider(web, Mapping)
    assert sorted(paths(crawling, site)) == ["/", "/1", "/3", "/robots.txt"]
    assert sorted(paths(mapping, site)) == ["/4", "/6", "/robots.txt", "/robots.txt", "/sitemap.xml"]
    assert_ten_times(crawling.arrivals)
    assert_ten_times(mapping.arrivals)


def _sitemap(entries: str, host: str, port: int) -> Answer:
    body = entries.replace("{}", f"http://{host}:{port}")
    namespace = "http://www.sitemaps.org/schemas/sitemap/0.9"
    return Answer(
        headers={"Content-Type": "application/xml"},
        body=f'<?xml version="1.0"?><urlset xmlns="{namespace}">{body}</urlset>',
    )


async def test_stop_and_resume(web: Web, tmp_path: Path) -> None:
    """With JOBDIR a crawl that is stopped again and again fetches each page exactly once."""
    sites = [web.site({**FREE, "*": Answer(delay=0.01)}) for _ in range(4)]
    pages = [site.url(f"/{number}") for number in range(6) for site in sites]
    settings = {"JOBDIR": str(tmp_path), "CLOSESPIDER_PAGECOUNT": 7, "CONCURRENT_REQUESTS": 4}
    told: list[str] = []
    for _ in range(8):
        run = await crawl_here(web, pages, settings)
        assert_ten_times(run.arrivals)
        told += run.outcome
        if run.stats["finish_reason"] == "finished":
            break
    assert sorted(told) == sorted(pages)
    fetched = [f"http://{a.host}:{a.port}{a.path}" for a in web.arrivals() if a.path != "/robots.txt"]
    assert sorted(fetched) == sorted(pages)


@pytest.mark.usefixtures("in_process")
async def test_stop_while_hosts_wait(web: Web) -> None:
    """A stop sends away what waits at the gate or for a verdict, drains nothing, and counts."""
    patient: dict[str, Page] = {"/robots.txt": "User-agent: *\nCrawl-delay: 60\n", "*": ""}
    home, queued, gate = web.site({**FREE, "*": ""}), web.site(patient), web.site(patient)
    robots = web.site({"/robots.txt": Answer(404, delay=1.5), "*": ""})
    told: list[str] = []

    async def ask(spider: Spider, url: str) -> None:
        try:
            await spider.crawler.engine.download_async(Request(url))
        except Exception as error:
            told.append(type(error).__name__)

    async def parse(self: Spider, response: Response, asked_url: str) -> None:
        waiting = [site.url(f"/{number}") for site in (gate, robots) for number in range(3)]
        everyone = DeferredList([deferred_from_coro(ask(self, url)) for url in waiting])
        await pause(0.5)
        closing = self.crawler.engine.close_spider_async(reason="enough")
        deferred_from_coro(closing)
        await maybe_deferred_to_future(everyone)

    asked = [home.url("/a"), *(queued.url(f"/{number}") for number in range(20))]
    run = await crawl_here(web, asked, MANY, {"parse": parse})
    assert told == ["CrawlStopping"] * 6
    assert run.stats["finish_reason"] == "enough"
    assert run.stats["polite/gate/stopped"] == 6
    assert run.seconds < 30
    assert_no_lease_left(run)


@pytest.mark.usefixtures("in_process")
async def test_close_spider_in_a_callback(web: Web) -> None:
    """CloseSpider ends the crawl although a hundred pages of a slow host are queued."""
    home = web.site({**FREE, "*": ""})
    slow = web.site({"/robots.txt": "User-agent: *\nCrawl-delay: 60\n", "*": ""})

    def parse(self: Spider, response: Response, asked_url: str) -> None:
        raise CloseSpider("seen enough")

    asked = [*(slow.url(f"/{number}") for number in range(100)), home.url("/a")]
    run = await crawl_here(web, asked, MANY, {"parse": parse})
    assert run.stats["finish_reason"] == "seen enough"
    assert run.seconds < 30
    assert_no_lease_left(run)


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
