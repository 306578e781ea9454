"""A refusal leaves its host alone for as long as it asks, and loses no page.

RETRY_TIMES is 0 throughout: what comes back after a refusal did not come back as a retry.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from harness import Answer, Asked, Crawl, Web, crawl_here, gaps, robots_fetches

pytestmark = pytest.mark.crawl

NO_ROBOTS = {"/robots.txt": 404}
LADDER = 0.5  # seconds; the first wait without a usable Retry-After
SETTINGS = {"POLITE_BACKOFF_MIN": LADDER, "RETRY_TIMES": 0, "CONCURRENT_REQUESTS": 64}
IMF, RFC850, ASCTIME = "%a, %d %b %Y %H:%M:%S GMT", "%A, %d-%b-%y %H:%M:%S GMT", "%a %b %e %T %Y"

Page = Answer | int | Callable[[Asked], Answer]


def refusal(*retry_after: str, status: int = 429, date: str | None = None) -> Answer:
    """Return a refusal with any number of Retry-After headers, and Date."""
    dates = [("Date", date)] if date else []
    return Answer(status, [*(("Retry-After", value) for value in retry_after), *dates])


def dated(form: str, seconds: float, clock: float | None = 0.0) -> Callable[[Asked], Answer]:
    """Return a refusal with a date *seconds* ahead; *clock* is how wrong Date is, None without."""

    def page(asked: Asked) -> Answer:
        now = time.time() + (clock or 0.0)
        date = None if clock is None else time.strftime(IMF, time.gmtime(now))
        return refusal(time.strftime(form, time.gmtime(now + seconds)), date=date)

    return page


# What the server answers, and the seconds that it must be left alone for.
FORMS: dict[str, tuple[Page, float]] = {
    "seconds": (refusal("1"), 1.0),
    "seconds of a 503": (refusal("1", status=503), 1.0),
    "blanks around": (refusal("  1  "), 1.0),
    "fraction": (refusal("1.5"), 1.5),
    "IMF-fixdate": (dated(IMF, 1), 1.0),
    "rfc850-date": (dated(RFC850, 1), 1.0),
    "asctime-date": (dated(ASCTIME, 1), 1.0),
    "date by a clock an hour late": (dated(IMF, 1, clock=-3600), 1.0),
    "date without Date": (dated(IMF, 2, clock=None), 1.0),  # dates have whole seconds
    "epoch": (lambda asked: refusal(f"{time.time() + 2:.0f}"), 1.0),
    "epoch in milliseconds": (lambda asked: refusal(f"{1000 * time.time() + 1500:.0f}"), 1.0),
    "list": (refusal("1, 2"), 2.0),
    "two headers": (refusal("2", "1"), 2.0),
    "two headers, one of them junk": (refusal("soon", "1"), 1.0),
    "none": (refusal(), LADDER),
    "none of a 503": (refusal(status=503), LADDER),
    "zero": (refusal("0"), LADDER),
    "negative": (refusal("-5"), LADDER),
    "junk": (refusal("soon"), LADDER),
    "nan": (refusal("nan"), LADDER),
    "infinite": (refusal("inf"), LADDER),
    "exponent": (refusal("1e3"), LADDER),
    "past date": (dated(IMF, -3600), LADDER),
    "decades": (refusal("2000000000000"), LADDER),
}


def waits_after(run: Crawl, host: str, statuses: tuple[int, ...] = (429, 503)) -> list[float]:
    """Return how long a host was left alone after each answer with one of these statuses."""
    found = [gap for gap in gaps(run.arrivals) if gap.host == host]
    return [gap.wait for gap in found if gap.before.status in statuses]


async def test_rfc9110_10_2_3_retry_after(web: Web) -> None:
    """Each form is waited for, junk means the ladder, and every page is fetched without a retry."""
    sites = {
        name: web.site({**NO_ROBOTS, "*": [200, page, 200]}) for name, (page, _) in FORMS.items()
    }
    urls = [site.url(f"/{n}") for n in range(4) for site in sites.values()]
    run = await crawl_here(web, urls, SETTINGS)
    for name, (_, least) in FORMS.items():
        [wait] = waits_after(run, sites[name].host)
        assert wait >= least, name
    assert run.outcome == {url: [200] for url in urls}
    assert "retry/count" not in run.stats
    assert run.stats["polite/backoff/refusals"] == len(FORMS)
    assert run.stats["polite/backoff/returned"] == len(FORMS)


async def test_ladder(web: Web) -> None:
    """Without Retry-After each further refusal doubles the wait; a success does not reset it."""
    site = web.site({**NO_ROBOTS, "*": [200, 429, 503, 200, 429, 200]})
    urls = [site.url(f"/{n}") for n in range(4)]
    run = await crawl_here(web, urls, {**SETTINGS, "POLITE_BACKOFF_MIN": 0.3})
    for wait, least in zip(waits_after(run, site.host), (0.3, 0.6, 1.2), strict=True):
        assert wait >= least
    assert run.outcome == {url: [200] for url in urls}


async def test_rfc9110_10_2_3_redirects(web: Web) -> None:
    """On a 3xx the next hop waits, on the same host or another, and only the next hop's host."""
    goal = web.site({**NO_ROBOTS, "/goal": 200})
    away = web.site(
        {**NO_ROBOTS, "/": Answer(302, {"Retry-After": "1", "Location": goal.url("/goal")})}
    )
    home = web.site(
        {**NO_ROBOTS, "/": Answer(301, {"Retry-After": "1", "Location": "/goal"}), "/goal": 200}
    )
    nowhere = web.site(
        {**NO_ROBOTS, "/": Answer(302, {"Retry-After": "1", "Location": "http://["}), "/b": 200}
    )
    urls = [away.url(), home.url(), nowhere.url("/b")]
    run = await crawl_here(web, [*urls, nowhere.url()], SETTINGS)
    hop_at = {a.host: a.start_at for a in run.arrivals if a.path == "/goal"}
    sent_on_at = {a.host: a.end_at for a in run.arrivals if a.path == "/"}
    assert hop_at[goal.host] - sent_on_at[away.host] >= 1.0
    assert hop_at[home.host] - sent_on_at[home.host] >= 1.0
    assert [run.outcome[url] for url in urls] == [[200]] * 3
    assert "Error caught on signal handler" not in run.log


async def test_wait_before_a_hop_is_cut(
    web: Web, monkeypatch: pytest.MonkeyPatch, in_process: None
) -> None:
    """A redirect cannot have the next hop wait for longer than the limit."""
    monkeypatch.setattr("scrapy_polite.extensions.backoff.HOP_WAIT_MAX", 1.0)
    page = Answer(302, {"Retry-After": "86400", "Location": "/goal"})
    site = web.site({**NO_ROBOTS, "/": page, "/goal": 200})
    run = await crawl_here(web, [site.url()], SETTINGS, timeout=20)
    [wait] = waits_after(run, site.host, (302,))
    assert wait >= 1.0
    assert run.outcome == {site.url(): [200]}


async def test_meta(web: Web) -> None:
    """`dont_retry` gives the spider the refusal and blocks the host; other meta keys do neither."""
    pages: dict[str, Any] = {**NO_ROBOTS, "/refused": [refusal("1"), 200], "/next": 200}
    told, listed, given = web.site(pages), web.site(pages), web.site(pages)
    metas: dict[str, dict[str, Any]] = {
        told.url("/refused"): {"dont_retry": True},
        given.url("/refused"): {"dont_retry": True, "handle_httpstatus_list": [429]},
        listed.url("/refused"): {"handle_httpstatus_list": [429]},
    }
    first = [{"url": url, "meta": meta, "priority": 1} for url, meta in metas.items()]
    last = [site.url("/next") for site in (told, listed, given)]
    run = await crawl_here(web, [*first, *last], SETTINGS)
    assert [run.outcome[url] for url in metas] == [[429], [429], [200]]
    assert [run.outcome[url] for url in last] == [[200]] * 3
    for site in (told, listed, given):
        [wait] = waits_after(run, site.host)
        assert wait >= 1.0
    assert run.stats["polite/backoff/refusals"] == 3
    assert run.stats["polite/backoff/returned"] == 1


@pytest.mark.parametrize("policy", ["DummyPolicy", "RFC2616Policy"])
async def test_http_cache(web: Web, tmp_path: Path, policy: str) -> None:
    """HttpCache stores no refusal but the page that follows, and replays none it has from before.

    The refusal says that it may be cached, which RFC2616Policy would heed.
    """
    page: list[Any] = [Answer(s, {"Cache-Control": "max-age=3600"}) for s in (429, 200)]
    site = web.site({**NO_ROBOTS, "/new": page, "/old": page})
    urls = [site.url("/new"), site.url("/old")]
    cached = {
        **SETTINGS,
        "HTTPCACHE_ENABLED": True,
        "HTTPCACHE_DIR": str(tmp_path),
        "HTTPCACHE_POLICY": f"scrapy.extensions.httpcache.{policy}",
    }
    stock = {**cached, "RETRY_ENABLED": False, "ROBOTSTXT_OBEY": False}
    before = await crawl_here(web, [site.url("/old")], stock, polite=False)
    assert before.outcome == {site.url("/old"): [429]}
    for asked, stored in ((["/new", "/new", "/old"], 2), ([], 0)):
        run = await crawl_here(web, urls, cached)
        assert run.outcome == {url: [200] for url in urls}
        assert run.stats.get("httpcache/store", 0) == stored
        assert sorted(a.path for a in run.arrivals if a.path != "/robots.txt") == asked


async def test_a_refused_page_redirects_to_nothing_twice(web: Web) -> None:
    """A page that was refused, and then redirects to one that was fetched, fetches none again."""
    onward = Answer(302, {"Location": "/there"})
    site = web.site({**NO_ROBOTS, "/there": 200, "/a": [refusal("0.2"), onward], "/b": onward})
    run = await crawl_here(web, [site.url(path) for path in ("/there", "/a", "/b")], SETTINGS)
    paths = [seen.path for seen in run.arrivals if seen.path != "/robots.txt"]
    assert sorted(paths) == ["/a", "/a", "/b", "/there"]


async def test_robots_refused(web: Web) -> None:
    """A refused robots.txt blocks its host; the log says what was refused, and the crawl goes on.

    Source: RFC 9309 section 2.3.1.4.
    """
    site = web.site({"/robots.txt": [refusal("1", status=503), 404], "*": 200})
    urls = [site.url(f"/{n}") for n in range(3)]
    run = await crawl_here(web, urls, SETTINGS)
    [wait] = waits_after(run, site.host)
    assert wait >= 1.0
    assert len(robots_fetches(run.arrivals)) == 2
    assert run.outcome == {url: [200] for url in urls}
    [line] = [line for line in run.log.splitlines() if "is left alone" in line]
    assert f"503 for robots.txt, {site.url('/robots.txt')}" in line
