"""Replay from HttpCache alone (HTTPCACHE_IGNORE_MISSING): who is not visited is not asked either.

The verdict protects the site. So what the cache answers needs none, and what goes out in spite of
it all, past the cache or to revalidate, still takes its verdict and its turn.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from scrapy.http import Response
from scrapy.spiders import SitemapSpider

from crawls.judging import DISALLOW, MANY, moved, paths
from crawls.promise import assert_no_lease_left
from crawls.running import run_spider
from harness import Answer, Asked, Site, Web, crawl_here, gaps
from harness.pages import Page
from harness.spider import Outcome

pytestmark = pytest.mark.crawl

GONE = Answer(drop=True)  # what a site answers to who has no network
FOR_LONG = {"POLITE_ROBOTS_HOLD": 600}  # longer than a test may take
OFFLINE = {"HTTPCACHE_IGNORE_MISSING": True, "POLITE_MIN_DELAY": 1, **FOR_LONG}
HTTP_CACHE = "scrapy.downloadermiddlewares.httpcache.HttpCacheMiddleware"
PAST_THE_CACHE: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {  # meta, settings
    "dont_cache": ({"dont_cache": True}, {}),
    "ignored scheme": ({}, {"HTTPCACHE_IGNORE_SCHEMES": ["http"]}),
    "no middleware": ({}, {"DOWNLOADER_MIDDLEWARES": {HTTP_CACHE: None}}),
}


def cached(folder: Path, policy: str = "DummyPolicy") -> dict[str, Any]:
    """Return settings of a crawl that is not kept waiting, with its cache in a folder."""
    return {
        **MANY,
        "HTTPCACHE_ENABLED": True,
        "HTTPCACHE_DIR": str(folder / "cache"),
        "HTTPCACHE_POLICY": f"scrapy.extensions.httpcache.{policy}",
    }


def urls(site: Site, *names: object) -> list[str]:
    """Return URLs of pages of a site."""
    return [site.url(f"/{name}") for name in names]


def all_told(pages: list[str], what: int | str) -> Outcome:
    """Return the outcome of pages that end alike."""
    return {page: [what] for page in pages}


async def test_a_replay_asks_nobody(web: Web, tmp_path: Path) -> None:
    """Every page that was fetched is there again, at once, and no site sees a request."""
    plain = web.site({"/robots.txt": [404, GONE], "*": "page"})
    strict = web.site({"/robots.txt": [404, DISALLOW], "*": "page"})
    moving = web.site({"/robots.txt": [404, GONE], "*": moved(plain.url("/new"))})
    pages = urls(plain, *range(12)) + urls(strict, "private/page") + urls(moving, "old")
    settings = cached(tmp_path)
    await crawl_here(web, pages, settings)
    [missing] = urls(plain, "missing")
    run = await crawl_here(web, [missing, *pages], {**settings, **OFFLINE})
    assert run.arrivals == []
    assert run.outcome == {missing: ["IgnoreRequest"], **all_told(pages, 200)}
    assert run.seconds < 12  # with a wait of 1 s after each, it would be longer
    assert_no_lease_left(run)


@pytest.mark.parametrize("way", PAST_THE_CACHE)
async def test_what_goes_out_is_judged(web: Web, tmp_path: Path, way: str) -> None:
    """Past the cache, all that robots.txt forbids is forbidden; the rest waits for its turn."""
    meta, settings = PAST_THE_CACHE[way]
    site = web.site({"/robots.txt": Answer(body=DISALLOW, delay=0.1), "*": Answer(delay=0.02)})
    forbidden = urls(site, *(f"private/{number}" for number in range(12)))
    allowed = urls(site, *range(3))
    [exempt] = urls(site, "private/exempt")
    asked = [{"url": url, "meta": {**meta}} for url in [*forbidden, *allowed]]
    asked.append({"url": exempt, "meta": {**meta, "dont_obey_robotstxt": True}})
    run = await crawl_here(
        web, asked, {**cached(tmp_path), **settings, **OFFLINE, "POLITE_MIN_DELAY": 0.2}
    )
    assert sorted(paths(run, site)) == ["/0", "/1", "/2", "/private/exempt", "/robots.txt"]
    assert all(gap.wait >= 0.2 for gap in gaps(run.arrivals))
    assert run.outcome == all_told(forbidden, "IgnoreRequest") | all_told([*allowed, exempt], 200)
    assert run.stats["robotstxt/forbidden"] == len(forbidden)
    assert run.stats["robotstxt/request_count"] == 1
    assert_no_lease_left(run)


async def test_who_goes_out_waits(web: Web, tmp_path: Path) -> None:
    """A page that goes out is dropped when its robots.txt cannot be read; all others are replayed.

    Its meta says so; that of a replayed page says nothing, whatever it brought along.
    """
    site, other = (web.site({"/robots.txt": [404, GONE], "*": "page"}) for _ in range(2))
    settings = cached(tmp_path)
    pages = urls(site, *range(4)) + urls(other, *range(4))
    await crawl_here(web, pages, settings)
    [out] = urls(site, "out")
    asked = [{"url": out, "meta": {"dont_cache": True}}]
    asked += [{"url": page, "meta": {"polite": {"robots": "disallowed"}}} for page in pages]
    noted = {"DOWNLOADER_MIDDLEWARES": {"report.parts.Noter": 1000}}
    run = await crawl_here(web, asked, {**settings, **OFFLINE, **noted, "POLITE_ROBOTS_HOLD": 1})
    assert (paths(run, site), paths(run, other)) == (["/robots.txt"], [])
    assert run.outcome == {out: ["RobotsUnreachable"], **all_told(pages, 200)}
    assert json.loads(run.stats[f"why/{site.host}/out"]) == {"robots": "unreachable"}
    assert json.loads(run.stats[f"why/{other.host}/0"]) == {}


async def test_revalidation_is_judged(web: Web, tmp_path: Path) -> None:
    """A page that the cache has to ask for again is not asked for where that is forbidden now."""
    stale = Answer(headers={"Cache-Control": "max-age=0", "ETag": '"1"'}, body="page")
    site = web.site({"/robots.txt": [404, DISALLOW], "*": stale})
    settings = cached(tmp_path, "RFC2616Policy")
    pages = urls(site, "private/page", "page")
    await crawl_here(web, pages, settings)
    run = await crawl_here(web, pages, {**settings, **OFFLINE})
    assert paths(run, site) == ["/robots.txt", "/page"]
    assert run.outcome == {pages[0]: ["IgnoreRequest"], pages[1]: [200]}


async def test_refusals_are_replayed(web: Web, tmp_path: Path) -> None:
    """A refusal that a crawl without the pack has stored is the answer: nobody is asked more."""
    site = web.site({"*": 429})
    pages, settings = urls(site, "page"), cached(tmp_path)
    stock = {**settings, "ROBOTSTXT_OBEY": False}
    await crawl_here(web, pages, stock, polite=False)
    run = await crawl_here(web, pages, {**settings, **OFFLINE})
    assert (run.arrivals, run.outcome) == ([], all_told(pages, 429))


@pytest.mark.parametrize(
    ("first", "then", "seen", "told"),
    [
        ({}, OFFLINE, [], 200),
        (OFFLINE, FOR_LONG, ["/robots.txt"], "IgnoreRequest"),
        ({}, {**FOR_LONG, "ROBOTSTXT_OBEY": False}, [], 200),
    ],
    ids=["online then offline", "offline then online", "obeyed, then not"],
)
async def test_resume(
    web: Web,
    tmp_path: Path,
    first: dict[str, Any],
    then: dict[str, Any],
    seen: list[str],
    told: int | str,
) -> None:
    """What a run left in its JOBDIR is replayed, or judged, as the next run would have it."""
    answers: dict[str, Page] = {"/robots.txt": 404, "*": "page"}
    site = web.site(answers)
    pages = urls(site, *(f"private/{number}" for number in range(20)))
    settings = cached(tmp_path)
    await crawl_here(web, pages, settings)
    job = {**settings, "JOBDIR": str(tmp_path / "job")}
    stop = {"POLITE_STATE": str(tmp_path / "another.db"), "CLOSESPIDER_PAGECOUNT": 2}
    stopped = await crawl_here(web, pages, {**job, **first, **stop})
    answers["/robots.txt"] = DISALLOW
    run = await crawl_here(web, pages, {**job, **then})
    assert run.stats["scheduler/dequeued/disk"] > 0
    assert paths(run, site) == seen
    left = [page for page in pages if page not in stopped.outcome]
    assert run.outcome == all_told(left, told)


@pytest.mark.usefixtures("in_process")
async def test_sitemaps(web: Web, tmp_path: Path) -> None:
    """A SitemapSpider is replayed from its own look at robots.txt on."""

    def robots(asked: Asked) -> str:
        return f"Sitemap: http://{asked.host}:{asked.port}/map.xml\n"

    def sitemap(asked: Asked) -> Answer:
        page = f"http://{asked.host}:{asked.port}/page"
        body = f"<urlset><url><loc>{page}</loc></url></urlset>"
        return Answer(headers={"Content-Type": "application/xml"}, body=body)

    site = web.site({"/robots.txt": robots, "/map.xml": sitemap, "/page": "page"})
    seen: list[str] = []

    class Mapping(SitemapSpider):
        name = "mapping"
        sitemap_urls = (site.url("/robots.txt"),)

        def parse(self, response: Response) -> None:
            seen.append(response.url)

    settings = cached(tmp_path)
    await run_spider(web, Mapping, settings)
    run = await run_spider(web, Mapping, {**settings, **OFFLINE})
    assert run.arrivals == []
    assert seen == [site.url("/page")] * 2


async def test_not_obeyed(web: Web, tmp_path: Path) -> None:
    """With ROBOTSTXT_OBEY False what goes out asks for no robots.txt either, but has its turn."""
    site = web.site({"/robots.txt": DISALLOW, "*": "page"})
    asked = [{"url": url, "meta": {"dont_cache": True}} for url in urls(site, *range(3))]
    settings = {**cached(tmp_path), **OFFLINE, "ROBOTSTXT_OBEY": False, "POLITE_MIN_DELAY": 0.2}
    run = await crawl_here(web, asked, settings)
    assert sorted(paths(run, site)) == ["/0", "/1", "/2"]
    assert all(gap.wait >= 0.2 for gap in gaps(run.arrivals))
