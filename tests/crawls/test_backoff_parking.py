"""Hosts that ask for too long, or refuse too often, are parked; nothing of theirs is lost."""

from __future__ import annotations

import re
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from scrapy import Request, signals
from scrapy.crawler import Crawler
from scrapy.exceptions import DontCloseSpider
from scrapy.http import Response

from harness import Answer, Crawl, Web, crawl_here, gaps
from scrapy_polite import HostParked, block_host

pytestmark = pytest.mark.crawl

NO_ROBOTS = {"/robots.txt": 404}
LATER = Answer(429, {"Retry-After": "3600"})
SETTINGS = {
    "RETRY_TIMES": 0,
    "POLITE_BACKOFF_MIN": 0.2,
    "POLITE_BACKOFF_GIVE_UP": 3,
    "POLITE_RETRY_AFTER_MAX": 60,
}


def paths(run: Crawl, host: str) -> list[str]:
    """Return what was asked of a host."""
    return [arrival.path for arrival in run.arrivals if arrival.host == host]


def table(run: Crawl) -> dict[str, tuple[str, int]]:
    """Return the log's table of parked hosts: until when, and how many requests are left."""
    rows = re.findall(r"^(\S+) +(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d) +(\d+)$", run.log, re.MULTILINE)
    return {host: (until, int(left)) for host, until, left in rows}


def in_local_time(seconds: float) -> str:
    """Return the local time so many seconds from now, as the log has it."""
    return time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(time.time() + seconds))


async def test_parked(web: Web) -> None:
    """Too long a Retry-After and too many refusals in a row park a host; the others finish.

    The run ends with its own reason, and log and stats say who is left with how many requests.  A
    page that is always refused goes last, so it does not keep the others of its host back.
    """
    late = web.site({**NO_ROBOTS, "/0": 200, "*": LATER})
    stubborn = web.site({**NO_ROBOTS, "*": 503})
    patchy = web.site({**NO_ROBOTS, "/3": 503, "*": 200})
    shut = web.site({"/robots.txt": LATER, "*": 200})
    fine = web.site({**NO_ROBOTS, "*": 200})
    sites = (late, stubborn, patchy, shut, fine)
    begun_at = time.time()
    urls = {site.host: [site.url(f"/{n}") for n in range(4)] for site in sites}
    asked: list[Any] = [url for some in urls.values() for url in some]
    # As pages found on others, which are queued last in, first out.
    asked = [{"url": url, "meta": {"is_start_request": patchy.host not in url}} for url in asked]
    run = await crawl_here(web, asked, SETTINGS)

    assert run.stats["finish_reason"] == "polite_parked"
    assert run.outcome == {
        url: [200] for url in (urls[late.host][0], *urls[patchy.host][:3], *urls[fine.host])
    }
    assert paths(run, late.host) == ["/robots.txt", "/0", "/1"]
    assert paths(run, stubborn.host) == ["/robots.txt", "/0", "/1", "/2"]
    assert 3 <= paths(run, patchy.host).count("/3") <= 4  # others in between start the count anew
    assert paths(run, shut.host) == ["/robots.txt"]

    left = {host: requests for host, (_, requests) in table(run).items()}
    assert left == {late.host: 3, stubborn.host: 4, patchy.host: 1, shut.host: 4}
    for host in (late.host, shut.host):
        assert table(run)[host][0] >= in_local_time(begun_at + 3600 - time.time())
    assert run.stats["polite/backoff/parked"] == 4
    assert run.stats["polite/backoff/parked_requests"] == 12
    lines = [line for line in run.log.splitlines() if late.host in line and "parking" in line]
    assert len(lines) == 1  # one event, one line
    assert f"is parked, this run does not ask it again: 429 for {late.url('/1')}" in lines[0]


async def test_parked_in_a_jobdir(web: Web, tmp_path: Path) -> None:
    """With JOBDIR what is left of a parked host stays queued; later runs fetch all of it.

    No run asks earlier than the host said.
    """
    site = web.site({**NO_ROBOTS, "*": [200, Answer(429, {"Retry-After": "3"}), 200]})
    urls = [site.url(f"/{n}") for n in range(5)]
    settings = {**SETTINGS, "JOBDIR": str(tmp_path), "POLITE_RETRY_AFTER_MAX": 2}
    runs = [await crawl_here(web, urls, settings)]
    assert runs[0].outcome == {urls[0]: [200]}
    assert table(runs[0])[site.host][1] == 4
    while runs[-1].stats["finish_reason"] == "polite_parked":
        runs.append(await crawl_here(web, [], settings))
    assert runs[-1].outcome == {url: [200] for url in urls[1:]}
    log = web.arrivals()
    [wait] = [gap.wait for gap in gaps(log) if gap.before.status == 429]
    assert wait >= 3
    assert len(log) == 7


async def test_requests_at_the_gate_are_told(web: Web, in_process: None) -> None:
    """Media requests of a host that is parked get HostParked, the refused one and those behind it.

    With nothing left in the queues the run still ends as one with parked hosts, and the table
    counts what these requests were for as left.
    """
    page, media = web.site({**NO_ROBOTS, "*": 200}), web.site({**NO_ROBOTS, "*": [200, LATER]})
    became: dict[str, Any] = {}

    async def parse(spider: Any, response: Response, asked_url: str) -> None:
        url = f"{media.url()}?{response.url[-1]}"
        try:
            became[url] = (await spider.crawler.engine.download_async(Request(url))).status
        except HostParked as error:
            became[url] = str(error)

    urls = [page.url(f"/{n}") for n in range(4)]
    run = await crawl_here(web, urls, SETTINGS, {"parse": parse})
    told = f"{media.host} is not asked again in this run"
    assert Counter(became.values()) == {200: 1, told: 3}
    assert len(paths(run, media.host)) == 3  # robots.txt, one that is answered, one refused
    assert run.stats["finish_reason"] == "polite_parked"
    assert table(run)[media.host][1] == 3


class Stayer:
    """Finds one more page when the spider is idle, then keeps it open once."""

    def __init__(self, crawler: Crawler) -> None:
        self.crawler = crawler
        self.calls = 0
        crawler.signals.connect(self.idle, signals.spider_idle)

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Stayer:
        return cls(crawler)

    def idle(self, spider: Any) -> None:
        self.calls += 1
        if self.calls == 1:
            kwargs = {"asked_url": "found"}
            self.crawler.engine.crawl(Request(spider.found, spider.parse, cb_kwargs=kwargs))
        elif self.calls == 2:
            raise DontCloseSpider


async def test_spider_idle(web: Web, in_process: None) -> None:
    """While only parked hosts are left, handlers of spider_idle are asked as at any other end."""
    parked, fine = web.site({**NO_ROBOTS, "*": LATER}), web.site({**NO_ROBOTS, "*": 200})
    run = await crawl_here(
        web, [parked.url()], {**SETTINGS, "EXTENSIONS": {Stayer: 1}}, {"found": fine.url()}
    )
    assert run.outcome == {"found": [200]}
    assert run.stats["finish_reason"] == "polite_parked"
    assert run.seconds >= 2  # one heartbeat of the engine


async def test_parked_while_somebody_waits_for_robots_txt(web: Web, in_process: None) -> None:
    """A request that waits for the robots.txt of a host is told when the host is parked."""
    page, other = web.site({**NO_ROBOTS, "*": 200}), web.site({**NO_ROBOTS, "*": 200})
    became: list[str] = []

    async def parse(spider: Any, response: Response, asked_url: str) -> None:
        if response.url.endswith("/0"):
            block_host(spider.crawler, other.host, 50, "for now")
            try:
                await spider.crawler.engine.download_async(Request(other.url()))
            except HostParked:
                became.append("told")
        else:
            block_host(spider.crawler, other.host, 100, "for this run")

    urls = [page.url("/0"), page.url("/1")]
    run = await crawl_here(web, urls, SETTINGS, {"parse": parse}, timeout=20)
    assert became == ["told"]
    assert paths(run, other.host) == []
