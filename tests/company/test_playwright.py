"""scrapy-playwright: what the pack promises of pages in a browser, and what it cannot see.

One crawl for the promises and the limits, one with what we recommend.  Debian's chromium is used.
A *visit* is a page with all that the browser asks its host for meanwhile.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, NamedTuple

import pytest

from company.needing import MUST, need_package
from crawls.judging import DISALLOW
from crawls.promise import LATE, assert_ten_times
from harness import Answer, Arrival, Crawl, Site, Web, crawl, gaps, most_at_once
from harness.pages import Page
from harness.spider import Asking
from report.chromium import need_chromium

need_package("scrapy-playwright", "scrapy_playwright.handler")
CHROMIUM = need_chromium(must=MUST)
pytestmark = pytest.mark.slow

HANDLER = "scrapy_playwright.handler.ScrapyPlaywrightDownloadHandler"
SETTINGS: dict[str, Any] = {
    "DOWNLOAD_HANDLERS": {"http": HANDLER},
    "PLAYWRIGHT_LAUNCH_OPTIONS": {"executable_path": CHROMIUM, "args": ["--no-sandbox"]},
    "PLAYWRIGHT_CONTEXTS": {"default": {}},  # has the browser start before the first page
    "SPIDER_MIDDLEWARES": {"company.parts.OpenPages": 100},
    "DOWNLOADER_MIDDLEWARES": {"company.parts.Scripted": 500},
    "RETRY_ENABLED": False,
    "CONCURRENT_REQUESTS": 4,
}
OURS = "HarnessBot/1.0 (ops@harness.test)"
BUSY = """<html><head><link rel="stylesheet" href="/style.css"><script src="/script.js"></script>
</head><body><img src="/1.png"><img src="/private/2.png"><iframe src="/frame"></iframe>
</body></html>"""
BESIDE = ["/1.png", "/frame", "/private/2.png", "/script.js", "/style.css"]
PART = Answer(delay=0.05)
PAGES: dict[str, Page] = {
    "/robots.txt": DISALLOW,
    "/busy1": Answer(body=BUSY, delay=0.05),
    "/busy2": Answer(body=BUSY, delay=0.05),
    "*": PART,
}


class Sites(NamedTuple):
    """The hosts of the first crawl, by what happens there."""

    plain: Site
    busy: Site
    refusing: Site
    mute: Site
    hanging: Site
    scripted: Site
    left_open: Site
    moved: Site
    elsewhere: Site


def in_browser(url: str, **meta: Any) -> dict[str, Any]:
    """Return a request for a page in a browser."""
    return {"url": url, "meta": {"playwright": True, **meta}}


@pytest.fixture(scope="module")
def visited() -> Iterator[tuple[Crawl, Sites]]:
    """A crawl of all kinds of pages."""
    with Web() as web:
        elsewhere = web.site({"/robots.txt": DISALLOW, "*": PART})
        away = Answer(302, {"Location": elsewhere.url("/private/landed")}, delay=0.05)
        refusal = Answer(503, {"Retry-After": "3"}, "<p>not now")
        sites = Sites(
            plain=web.site(PAGES),
            busy=web.site(PAGES),
            refusing=web.site({"/robots.txt": 404, "*": [refusal, PART]}),
            mute=web.site({"/robots.txt": 404, "*": replace(refusal, body="")}),
            hanging=web.site({"/robots.txt": 404, "/hang": Answer(hang=True), "*": PART}),
            scripted=web.site({"/robots.txt": 404, "/more": Answer(delay=0.1), "*": PART}),
            left_open=web.site({"/robots.txt": 404, "*": Answer(delay=0.3)}),
            moved=web.site({"/robots.txt": 404, "/away": away, "*": PART}),
            elsewhere=elsewhere,
        )
        fetch = {"script": "fetch('/more').then(answer => answer.text())"}
        asked: list[Asking] = [
            *(in_browser(sites.plain.url(path)) for path in ("/1", "/private/page", "/2")),
            sites.plain.url("/3"),
            *(in_browser(sites.busy.url(path)) for path in ("/busy1", "/busy2")),
            in_browser(sites.refusing.url("/1")),
            in_browser(sites.mute.url("/1")),
            in_browser(sites.hanging.url("/hang"), playwright_page_goto_kwargs={"timeout": 300}),
            in_browser(sites.hanging.url("/1")),
            *(in_browser(sites.scripted.url(path), **fetch) for path in ("/1", "/2")),
            in_browser(sites.left_open.url("/1"), playwright_include_page=True),
            in_browser(sites.moved.url("/away")),
        ]
        yield crawl(web, asked, SETTINGS, timeout=100), sites


def seen_by(run: Crawl, site: Site) -> list[Arrival]:
    """Return what a site saw."""
    return [seen for seen in run.arrivals if seen.host == site.host]


def visits(run: Crawl, site: Site, *pages: str) -> list[list[Arrival]]:
    """Return the arrivals of a site by visit; each begins with one of these pages."""
    found: list[list[Arrival]] = []
    for seen in seen_by(run, site):
        if seen.path in pages or not found:
            found.append([])
        found[-1].append(seen)
    return found


def assert_rests(first: list[Arrival], second: list[Arrival]) -> None:
    """Assert that a host was left alone for ten times the whole of a visit."""
    over_at = max(seen.end_at for seen in first) - LATE
    assert second[0].start_at - over_at >= 10 * (over_at - first[0].start_at)


def test_pages_in_a_browser_are_pages(visited: tuple[Crawl, Sites]) -> None:
    """They obey robots.txt, which no browser fetches, and wait their turn among other pages."""
    run, site = visited[0], visited[1].plain
    seen = {arrival.path: arrival for arrival in seen_by(run, site)}
    assert sorted(seen) == ["/1", "/2", "/3", "/robots.txt"]
    browsers = {path for path, arrival in seen.items() if "sec-fetch-mode" in arrival.headers}
    assert browsers == {"/1", "/2"}
    assert run.outcome[site.url("/private/page")] == ["IgnoreRequest"]
    assert_ten_times(seen.values())


def test_a_browser_says_who_asks(visited: tuple[Crawl, Sites]) -> None:
    """The User-Agent is ours in all that a browser asks for; From is, in its pages."""
    run, sites = visited
    assert {seen.headers["user-agent"] for seen in run.arrivals} == {OURS}
    pages = {seen.headers["from"] for seen in seen_by(run, sites.plain)}
    assert pages == {"ops@harness.test"}


def test_refusals_and_timeouts_in_a_browser(visited: tuple[Crawl, Sites]) -> None:
    """A refusal's Retry-After is kept to, and a page that times out is waited for too."""
    run, sites = visited
    [_, after_refusal] = gaps(seen_by(run, sites.refusing))
    assert after_refusal.wait >= 3
    assert run.outcome[sites.refusing.url("/1")] == [200]
    assert run.outcome[sites.hanging.url("/hang")] == ["TimeoutError"]
    assert_ten_times(seen_by(run, sites.hanging))


def test_the_whole_page_counts(visited: tuple[Crawl, Sites]) -> None:
    """What a page loads, and what playwright_page_methods fetch, is within its duration."""
    run, sites = visited
    robots, first, second = visits(run, sites.busy, "/busy1", "/busy2")
    assert [seen.path for seen in robots] == ["/robots.txt"]
    assert_rests(first, second)
    _, first, second = visits(run, sites.scripted, "/1", "/2")
    assert [seen.path for seen in first][-1] == "/more"
    assert_rests(first, second)


def test_what_the_pack_cannot_see(visited: tuple[Crawl, Sites]) -> None:
    """A browser loads parts of a page side by side, unjudged; it follows redirects by itself.

    What a callback has an open page fetch has no turn either, and an error without a body is a
    failure to chromium: neither its status nor its Retry-After comes out.
    """
    run, sites = visited
    _, first, _ = visits(run, sites.busy, "/busy1", "/busy2")
    assert sorted(seen.path for seen in first[1:]) == BESIDE
    assert most_at_once(first) > 1
    assert [seen.path for seen in seen_by(run, sites.elsewhere)] == ["/private/landed"]
    assert run.outcome[sites.mute.url("/1")] == ["Error"]
    *_, last = gaps(seen_by(run, sites.left_open))
    assert last.after.path == "/late"
    assert last.wait < 10 * last.before.duration


def test_what_we_recommend(web: Web) -> None:
    """With PLAYWRIGHT_ABORT_REQUEST as recommended a site sees the pages alone, in their turns.

    Nor does a middleware that has a browser fetch everything get at robots.txt.
    """
    site = web.site(PAGES)
    settings = {
        **SETTINGS,
        "PLAYWRIGHT_ABORT_REQUEST": "company.parts.is_extra",
        "DOWNLOADER_MIDDLEWARES": {"company.parts.AllInBrowser": 543},
    }
    asked = [site.url(path) for path in ("/busy1", "/private/page", "/busy2")]
    run = crawl(web, asked, settings, timeout=100)
    assert [seen.path for seen in run.arrivals] == ["/robots.txt", "/busy1", "/busy2"]
    browsers = ["sec-fetch-mode" in seen.headers for seen in run.arrivals]
    assert browsers == [False, True, True]
    assert_ten_times(run.arrivals)
