"""Settings of Scrapy's that have little to do with politeness: with each the promise holds.

A user's own downloader and scheduler queues are in `crawls.test_survival`.
"""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest

from crawls.judging import DISALLOW, MANY, paths
from crawls.promise import FREE, SLOW, assert_no_lease_left, assert_ten_times
from harness import Answer, Web, crawl_here, most_at_once
from scrapy_polite.addon import SETTINGS
from scrapy_polite.runtime.listing import COMPONENTS

pytestmark = pytest.mark.crawl

OWN: dict[str, dict[str, Any]] = {
    "scheduler": {"SCHEDULER": "living.parts.ListScheduler"},
    "dupe filter": {"DUPEFILTER_CLASS": "living.parts.PathDupeFilter"},
    "no dupe filter": {"DUPEFILTER_CLASS": "scrapy.dupefilters.BaseDupeFilter"},
    "stats": {"STATS_CLASS": "living.parts.ForgetfulStats"},
    "no stats": {"STATS_CLASS": "scrapy.statscollectors.DummyStatsCollector"},
    "short names in the log": {"LOG_SHORT_NAMES": True, "AUTOTHROTTLE_DEBUG": True},
    "telnet": {"TELNETCONSOLE_ENABLED": True, "TELNETCONSOLE_PORT": [0]},
    "breadth first": {
        "DEPTH_PRIORITY": 1,
        "SCHEDULER_DISK_QUEUE": "scrapy.squeues.PickleFifoDiskQueue",
        "SCHEDULER_MEMORY_QUEUE": "scrapy.squeues.FifoMemoryQueue",
    },
    "one place": {"CONCURRENT_REQUESTS": 1},
    "no retries, redirects, cookies": {
        "RETRY_ENABLED": False,
        "REDIRECT_ENABLED": False,
        "COOKIES_ENABLED": False,
        "HTTPPROXY_ENABLED": False,
        "COMPRESSION_ENABLED": False,
    },
}


@pytest.mark.parametrize("own", OWN.values(), ids=OWN)
async def test_the_promise_holds(web: Web, own: dict[str, Any]) -> None:
    """All pages are fetched once, forbidden ones not, the refused one after its wait."""
    refused = [Answer(429, {"Retry-After": "1"}), SLOW]
    first, second = (web.site({"/robots.txt": DISALLOW, "*": SLOW}) for _ in range(2))
    third = web.site({**FREE, "/page1": refused, "*": SLOW})
    sites = [first, second, third]
    pages = [f"/page{number}" for number in range(3)]
    asked = [site.url(path) for site in sites for path in (*pages, "/private/page")]
    run = await crawl_here(web, asked, own, timeout=30)
    expected = sorted(["/robots.txt", *pages])
    assert [sorted(paths(run, site)) for site in (first, second)] == [expected] * 2
    assert sorted(paths(run, third)) == sorted([*expected, "/page1", "/private/page"])
    told = {url: ["IgnoreRequest"] if "private" in url else [200] for url in asked}
    assert run.outcome == {**told, third.url("/private/page"): [200]}
    before, after = (
        seen for seen in run.arrivals if (seen.host, seen.path) == (third.host, "/page1")
    )
    assert after.start_at - before.end_at >= 1
    assert_ten_times(run.arrivals)
    assert "Traceback" not in run.log
    assert_no_lease_left(run)


async def test_dupe_filters_are_asked(web: Web) -> None:
    """A user's dupe filter decides what is a duplicate, and `dont_filter` passes it."""
    site = web.site({**FREE, "*": ""})
    asked: list[Any] = [site.url(f"/page?{number}") for number in range(3)]
    asked.append({"url": site.url("/page?3"), "dont_filter": True})
    own = {"DUPEFILTER_CLASS": "living.parts.PathDupeFilter"}
    run = await crawl_here(web, asked, {**MANY, **own})
    assert sorted(paths(run, site)) == ["/page?0", "/page?3", "/robots.txt"]


# Its body never comes, for the crawl leaves when it sees the length: so the server sees it leave.
LARGE = Answer(headers={"Content-Length": "99999"}, delay=0.03, body_delay=60)


async def test_too_large_and_too_slow(web: Web) -> None:
    """DOWNLOAD_MAXSIZE and DOWNLOAD_TIMEOUT end a download, and the host's next page waits."""
    large, slow = (web.site({**FREE, "/0": page, "*": SLOW}) for page in (LARGE, Answer(hang=True)))
    asked: list[Any] = [
        {"url": site.url(f"/{number}"), "priority": -number}
        for site, number in product((large, slow), range(3))
    ]
    limits = {"DOWNLOAD_MAXSIZE": 9_999, "DOWNLOAD_TIMEOUT": 0.2, "RETRY_ENABLED": False}
    run = await crawl_here(web, asked, limits, timeout=30)
    assert paths(run, large) == paths(run, slow) == ["/robots.txt", "/0", "/1", "/2"]
    assert run.outcome[large.url("/0")] != [200] != run.outcome[slow.url("/0")]
    assert [run.outcome[site.url(f"/{n}")] for site in (large, slow) for n in (1, 2)] == [[200]] * 4
    assert_ten_times(run.arrivals)


@pytest.mark.parametrize(
    ("limit", "reason"),
    [
        ({"CLOSESPIDER_PAGECOUNT": 2}, "closespider_pagecount"),
        ({"CLOSESPIDER_TIMEOUT": 1}, "closespider_timeout"),
        ({"CLOSESPIDER_TIMEOUT_NO_ITEM": 1}, "closespider_timeout_no_item"),
        (
            {
                "MEMUSAGE_LIMIT_MB": 1,
                "MEMUSAGE_CHECK_INTERVAL_SECONDS": 0.5,
                "EXTENSIONS": {
                    "scrapy.extensions.memusage.MemoryUsage": None,
                    "living.parts.LaterMemoryUsage": 0,
                },
            },
            "memusage_exceeded",
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
async def test_closing_conditions(web: Web, limit: dict[str, Any], reason: str) -> None:
    """The crawl ends for its reason at once, although pages wait for a minute each."""
    await assert_closed(web, limit, reason)


@pytest.mark.usefixtures("in_process")
async def test_too_many_errors(web: Web) -> None:
    """CLOSESPIDER_ERRORCOUNT ends the crawl as fast."""

    def parse(self: object, response: object, asked_url: str) -> None:
        raise RuntimeError("my mistake")

    limit = {"CLOSESPIDER_ERRORCOUNT": 1}
    await assert_closed(web, limit, "closespider_errorcount", parse=parse)


async def assert_closed(web: Web, limit: dict[str, Any], reason: str, **attributes: Any) -> None:
    """Crawl some quick hosts and one with a long Crawl-delay; assert why and how it ends."""
    patient = web.site({"/robots.txt": "User-agent: *\nCrawl-delay: 60\n", "*": ""})
    quick = [web.site({**FREE, "*": ""}) for _ in range(4)]
    asked = [patient.url(f"/{number}") for number in range(50)]
    asked += [site.url("/0") for site in quick]
    run = await crawl_here(web, asked, {**MANY, **limit}, attributes, timeout=30)
    assert run.stats["finish_reason"] == reason
    assert len(paths(run, patient)) <= 2
    assert_no_lease_left(run)


BY_HAND: dict[str, Any] = {
    **SETTINGS,
    "DOWNLOADER_MIDDLEWARES": {
        "scrapy.downloadermiddlewares.robotstxt.RobotsTxtMiddleware": None,
        **{item.path: item.position for item in COMPONENTS[:4]},
    },
    "EXTENSIONS": {
        "scrapy.extensions.throttle.AutoThrottle": None,
        **{item.path: item.position for item in COMPONENTS[4:]},
    },
    "AUTOTHROTTLE_ENABLED": False,
}
SWITCHES = {"add-on": {"ADDONS": {"scrapy_polite.Addon": 500}}, "by hand": BY_HAND}


@pytest.mark.parametrize("listed", SWITCHES.values(), ids=SWITCHES)
async def test_switched_off(web: Web, listed: dict[str, Any]) -> None:
    """With POLITE_ENABLED False the crawl is stock Scrapy's, however the pack is listed.

    It needs no contact, says who Scrapy is, asks a host for several pages at once, and still obeys
    robots.txt in Scrapy's way.
    """
    site = web.site({"/robots.txt": DISALLOW, "*": Answer(delay=0.2)})
    asked = [site.url(path) for path in ("/private/page", *(f"/{n}" for n in range(6)))]
    settings = {**listed, "POLITE_ENABLED": False}
    run = await crawl_here(web, asked, settings, polite=False)
    assert sorted(paths(run, site)) == [*(f"/{n}" for n in range(6)), "/robots.txt"]
    assert most_at_once(run.arrivals) > 1
    assert all("Scrapy/" in seen.headers["user-agent"] for seen in run.arrivals)
    assert not any(name.startswith("polite") for name in run.stats)
