"""What spiders may ask for and are told: hooks, signals, RateLimit headers, lines in the log."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Any

import pytest
from pytest import approx
from scrapy.crawler import Crawler
from scrapy.http import Response
from scrapy.utils.test import get_crawler

from harness import POLITE, Answer, Asked, Crawl, Site, Web, crawl_here, gaps
from scrapy_polite import (
    block_host,
    polite_host_blocked,
    polite_host_parked,
    polite_host_released,
    set_floor,
)

pytestmark = pytest.mark.crawl

NO_ROBOTS = {"/robots.txt": 404}
SETTINGS = {"RETRY_TIMES": 0, "POLITE_BACKOFF_MIN": 0.3, "POLITE_RETRY_AFTER_MAX": 60}
SIGNALS = {
    "blocked": polite_host_blocked,
    "released": polite_host_released,
    "parked": polite_host_parked,
}


def urls_of(site: Site, count: int) -> list[str]:
    """Return so many pages of a site."""
    return [site.url(f"/{number}") for number in range(count)]


def waits(run: Crawl, site: Site) -> list[float]:
    """Return the waits between the requests to a site, robots.txt included."""
    return [gap.wait for gap in gaps(run.arrivals) if gap.host == site.host]


class Ear:
    """Hears our signals; what it heard is kept on the crawler's spider."""

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler
        self._hear = [self._listener(name) for name in SIGNALS]  # signals hold receivers weakly
        for receiver, signal in zip(self._hear, SIGNALS.values(), strict=True):
            crawler.signals.connect(receiver, signal)

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Ear:
        return cls(crawler)

    def _listener(self, name: str) -> Callable[..., None]:
        def hear(spider: Any, host: str, **details: Any) -> None:
            del details["signal"], details["sender"]
            spider.heard.append((name, host, details))

        return hear


async def test_signals(web: Web, in_process: None) -> None:
    """Each block, release and parking is told once, in order and with its arguments."""
    blocked = web.site({**NO_ROBOTS, "*": [Answer(503, {"Retry-After": "1"}), 200]})
    parked = web.site({**NO_ROBOTS, "*": Answer(429, {"Retry-After": "3600"})})
    heard: list[tuple[str, str, dict[str, Any]]] = []
    run = await crawl_here(
        web,
        [blocked.url("/a"), parked.url("/a")],
        {**SETTINGS, "EXTENSIONS": {Ear: 1}},
        {"heard": heard},
    )
    reason = f"503 for {blocked.url('/a')}"
    assert [event for event in heard if event[1] == blocked.host] == [
        ("blocked", blocked.host, {"seconds": approx(1.0), "reason": reason, "status": 503}),
        ("released", blocked.host, {}),
    ]
    asked = {"seconds": approx(3600.0), "reason": f"429 for {parked.url('/a')}"}
    assert [event for event in heard if event[1] == parked.host] == [
        ("blocked", parked.host, {**asked, "status": 429}),
        ("parked", parked.host, asked),
    ]
    counted = {name: run.stats[f"polite/backoff/{name}"] for name in SIGNALS}
    assert counted == {"blocked": 2, "released": 1, "parked": 1}


async def test_hooks(web: Web, in_process: None) -> None:
    """`block_host` and `set_floor`, with a URL or a host key, hold from the next request on.

    A longer block stands when a shorter one is asked for, and one beyond the limit parks the host.
    """
    sites = [web.site({**NO_ROBOTS, "*": 200}) for _ in range(5)]
    blocked, twice, by_key, parked, slowed = sites

    first = {site.host: site.url("/0") for site in sites}
    calls: dict[str, list[Any]] = {
        first[blocked.host]: [(block_host, first[blocked.host], 1, "captcha\n[fake]\x1b line")],
        first[twice.host]: [(block_host, first[twice.host], s, "streak") for s in (1.2, 0.1)],
        first[by_key.host]: [(block_host, by_key.host, 1)],
        first[parked.host]: [(block_host, first[parked.host], 61, "streak of 403")],
        first[slowed.host]: [(set_floor, first[slowed.host], 0.6)],
    }

    def parse(spider: Any, response: Response, asked_url: str) -> None:
        for hook, *arguments in calls.get(asked_url, ()):
            hook(spider.crawler, *arguments)

    urls = [url for site in sites for url in urls_of(site, 3)]
    run = await crawl_here(web, urls, {**SETTINGS, "POLITE_MIN_DELAY": 0.2}, {"parse": parse})
    for site, least in ((blocked, 1.0), (twice, 1.2), (by_key, 1.0)):
        assert waits(run, site)[1] >= least
    assert [arrival.path for arrival in run.arrivals if arrival.host == parked.host] == [
        "/robots.txt",
        "/0",
    ]
    assert all(wait >= 0.6 for wait in waits(run, slowed)[1:])
    assert run.stats["finish_reason"] == "polite_parked"
    assert f"{blocked.host} is left alone for 1 s: captcha [fake] line" in run.log


@pytest.mark.parametrize("seconds", [0, -1, math.nan, math.inf, 10**400, "soon", None, True])
@pytest.mark.parametrize("hook", [block_host, set_floor])
def test_bad_seconds(hook: Any, seconds: Any) -> None:
    """What is no number of seconds above 0 is a ValueError that says so."""
    with pytest.raises(ValueError, match="give a number above 0"):
        hook(get_crawler(settings_dict=POLITE), "http://site.example/", seconds)


@pytest.mark.parametrize("url", ["", "mailto:bot@site.test", "data:,x", "http://", "a b", "//x/"])
@pytest.mark.parametrize("hook", [block_host, set_floor])
def test_bad_url(hook: Any, url: str) -> None:
    """What has no host is a ValueError that says so."""
    with pytest.raises(ValueError, match="has no host"):
        hook(get_crawler(settings_dict=POLITE), url, 1)


def metered(window: int, quota: int) -> Callable[[Asked], Answer]:
    """Return a page that counts down what is left of a quota, and starts again when that is 0."""

    def page(asked: Asked) -> Answer:
        left = quota - 1 - asked.count % quota
        return Answer(200, {"RateLimit": f'"default";r={left};t={window}'})

    return page


@pytest.mark.parametrize("heeded", [True, False])
async def test_ratelimit_headers(web: Web, heeded: bool) -> None:
    """With POLITE_RATELIMIT_HEADERS what is left is spread until the reset; without, nothing is."""
    counting = web.site({**NO_ROBOTS, "*": metered(window=1, quota=4)})
    announced = web.site({**NO_ROBOTS, "*": Answer(headers={"RateLimit-Policy": '"a";q=5;w=2'})})
    urls = urls_of(counting, 5) + urls_of(announced, 3)
    settings = {**SETTINGS, "POLITE_RATELIMIT_HEADERS": heeded, "POLITE_DELAY_FACTOR": 0}
    run = await crawl_here(web, urls, settings)
    assert run.outcome == {url: [200] for url in urls}
    least = [1 / 3, 1 / 2, 1.0, 1.0]  # after 3, 2, 1 and none are left
    kept = [wait >= spread for wait, spread in zip(waits(run, counting)[1:], least, strict=True)]
    assert all(kept) is heeded
    kept = [wait >= 0.4 for wait in waits(run, announced)[1:]]
    assert all(kept) is heeded


async def test_one_line_for_each_event(web: Web) -> None:
    """The log has a line per block, release and parking, whatever a site writes into its URLs."""
    evil = "/a%0A[fake]%20INFO?" + "x" * 500 + "\n\u2028\x1b[2J"
    site = web.site({**NO_ROBOTS, "*": [Answer(429, {"Retry-After": "1"}), 429, 200]})
    urls = [site.url(evil), site.url("/b")]
    run = await crawl_here(web, urls, SETTINGS)
    assert run.stats["finish_reason"] == "finished"
    lines = [line for line in run.log.splitlines() if "scrapy_polite.runtime.parking" in line]
    left_alone = r"\[scrapy_polite\.runtime\.parking\] INFO: \S+ is left alone for \d+ s: "
    assert [bool(re.search(left_alone, line)) for line in lines] == [True, True, False]
    assert lines[-1].endswith(f"{site.host} answers again")
    assert all(len(line) < 400 for line in lines)
    assert sum(map(len, run.outcome.values())) == 2
