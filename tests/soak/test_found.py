"""What soaks found, each as a small test of its own."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from scrapy import Request, Spider, signals
from scrapy.crawler import Crawler
from scrapy.http import Response
from scrapy.utils.defer import deferred_from_coro

from crawls.promise import FREE, fetch_directly, pause
from crawls.running import run_spider
from harness import Answer, Web, crawl_here
from scrapy_polite.extensions import progress
from scrapy_polite.frontier.hosts import NEVER, Frontier, Openness, Want
from scrapy_polite.policy import robots_cache as cache
from scrapy_polite.policy.host import HostState
from scrapy_polite.policy.robots_access import Access
from scrapy_polite.policy.robots_cache import Ages
from scrapy_polite.report.load import load
from scrapy_polite.runtime.lanes import Lanes
from scrapy_polite.runtime.pump import STORE_RETRY, TROUBLE_RETRY, Pump
from scrapy_polite.runtime.verdicts import Verdicts
from scrapy_polite.state.memory import MemoryStore
from scrapy_polite.state.protocol import Acquired, Lease


@pytest.mark.crawl
async def test_pages_of_all_priorities_go_though_robots_lapses_between(web: Web) -> None:
    """A lane whose best priority has just run out still knows its next page, a start request."""
    site = web.site({**FREE, "*": Answer(delay=0.01)})
    urls = [site.url(f"/{number}") for number in range(4)]
    first = {"url": urls[0], "priority": 5, "meta": {"is_start_request": False}}
    ages = {"POLITE_ROBOTS_MIN_AGE": 0.01, "POLITE_ROBOTS_MAX_AGE": 0.01}
    run = await crawl_here(web, [*urls[1:], first], ages, timeout=20.0)
    assert run.outcome == {url: [200] for url in urls}


def test_turn_that_cannot_be_used_costs_nobody_else() -> None:
    """What fails with a lease in hand gives it back: its host waits, the others get theirs."""
    now, granted = 0.0, list[str]()
    frontier, store = Frontier(lambda lane, at: (Openness.OPEN, NEVER)), MemoryStore(lambda: now)

    def use(lease: Lease) -> None:
        if lease.host == "a":
            raise KeyError("nothing to do with politeness")
        granted.append(lease.host)

    pump = Pump(frontier, store, granted=use, woken=lambda: None, clock=lambda: now)
    for host in "ab":
        frontier.push(host, f"http://{host}", now)
    pump.fill(Want.PAGE, 2)
    assert (granted, frontier.next_at(now)) == (["b"], TROUBLE_RETRY)
    assert [key for key, _, taken, _ in frontier.overview() if taken] == ["b"]
    assert [key for key, host in store._hosts.items() if host.holder] == ["b"]


def test_store_that_raises_what_it_should_not() -> None:
    """Whatever a store raises, its hosts wait for the next attempt; none stays taken for ever."""
    now = 0.0

    class Broken(MemoryStore):
        async def acquire(self, hosts: Sequence[str], *, limit: int) -> Acquired:
            raise ZeroDivisionError

        async def release(self, lease: Lease, *, delay: float, state: HostState) -> bool:
            raise ZeroDivisionError

    frontier, store = Frontier(lambda lane, at: (Openness.OPEN, NEVER)), Broken(lambda: now)
    pump = Pump(frontier, store, granted=print, woken=lambda: None, clock=lambda: now)
    for host in "ab":
        frontier.push(host, f"http://{host}", now)
    with pytest.raises(ZeroDivisionError):
        pump.fill(Want.PAGE, 2)
    pump.stop()
    assert list(frontier.overview()) == [(host, STORE_RETRY, False, 1) for host in "ab"]
    now = STORE_RETRY
    assert frontier.take(Want.PAGE, now) == "a"
    with pytest.raises(ZeroDivisionError):
        pump.end(Lease("a", 1, now, HostState()), 5.0, HostState())
    assert frontier.next_at(now) == now + 5.0


@pytest.mark.crawl
async def test_turn_that_is_handed_on_is_one_turn(web: Web) -> None:
    """Turns less the unused ones are fetches, also when a middleware's login went first."""
    site = web.site({**FREE, "*": Answer(delay=0.01)})
    settings = {"DOWNLOADER_MIDDLEWARES": {"crawls.parts.Login": 500}}
    run = await crawl_here(web, [site.url("/page")], settings)
    turns, unused = (run.stats.get(f"polite/gate/{name}", 0) for name in ("turns", "unused"))
    assert turns - unused == len(run.arrivals) == 3


@pytest.mark.crawl
async def test_who_comes_to_a_parked_host_is_counted(
    web: Web, request: pytest.FixtureRequest
) -> None:
    """Requests that are sent away at once are counted like those that had waited."""
    if request.config.getoption("reactorless"):
        pytest.skip("needs the crawl in the process of the tests")
    closing = Answer(503, {"Retry-After": "500000"})
    site, other = web.site({**FREE, "*": closing}), web.site({**FREE, "*": Answer(delay=0.3)})
    told: list[int | str] = []

    class Visitor(Spider):
        name = "visitor"

        async def start(self) -> AsyncIterator[Any]:
            yield Request(site.url("/closing"))
            yield Request(other.url("/page"))

        async def parse(self, response: Response) -> None:
            told.extend(await fetch_directly(self, [site.url("/1"), site.url("/2")]))

    run = await run_spider(web, Visitor)
    assert told == ["HostParked", "HostParked"]
    assert run.stats["polite/gate/stopped"] == 2


def test_origins_of_long_ago_are_forgotten() -> None:
    """Dead origins, and those with a Crawl-delay, are bounded by those of the last hour."""
    verdicts, seconds = Verdicts(Lanes(obey=True), Ages(min_age=60.0, max_age=60.0), 600.0), 10
    for number in range(20_000):
        now, host, origin = float(seconds * number), f"{number}.test", f"http://{number}.test"
        entry = verdicts.entry(origin, host, now)
        record = cache.unreachable(None, origin, now=now, status=None)
        if number % 2:
            record = cache.answered(
                origin, Access.SUCCESSFUL, now=now, fresh_for=60.0, status=200, body=b""
            )
            verdicts.hear_crawl_delay(origin, entry, 5.0)
        verdicts.adopt(origin, entry, record, now)
    assert len(verdicts._entries) < 5_000
    assert [verdicts.crawl_delay_of(f"{number}.test") for number in (1, 19_999)] == [0.0, 5.0]


@pytest.mark.crawl
async def test_progress_forgets_hosts_without_a_line_in_the_log(
    web: Web, monkeypatch: pytest.MonkeyPatch
) -> None:
    """LOGSTATS_INTERVAL = 0 switches the line off, not the forgetting of hosts that are done."""
    monkeypatch.setattr(progress, "FORGET_INTERVAL", 0.05)
    sites = [web.site({**FREE, "*": Answer(delay=0.01)}) for _ in range(5)]
    slow = web.site({**FREE, "*": Answer(delay=1.0)})
    urls = [site.url("/") for site in (*sites, slow)]
    run = await crawl_here(web, urls, {"LOGSTATS_INTERVAL": 0})
    if run.crawler is None:
        pytest.skip("needs the crawl in the process of the tests")
    extension = run.crawler.get_extension(progress.PoliteProgress)
    assert extension is not None
    assert set(extension._waits) == {slow.host}


@pytest.mark.crawl
async def test_report_judges_a_page_by_the_file_of_its_time(web: Web, tmp_path: Path) -> None:
    """RFC 9309 section 2.3.1.4: a file that is unreachable later forbids no page fetched before."""
    site = web.site({"/robots.txt": [404, 503], "*": Answer(delay=0.01)})
    path = tmp_path / "report.json"
    settings = {
        "POLITE_ROBOTS_MIN_AGE": 0.05,
        "POLITE_ROBOTS_MAX_AGE": 0.05,
        "POLITE_ROBOTS_HOLD": 0.2,
        "POLITE_REPORT": str(path),
    }
    run = await crawl_here(web, [site.url("/1"), site.url("/2")], settings)
    assert run.outcome == {site.url("/1"): [200], site.url("/2"): ["RobotsUnreachable"]}
    assert load(path).verdict == "kept"


@pytest.mark.crawl
async def test_stop_between_two_hops_is_no_failure(
    web: Web, request: pytest.FixtureRequest
) -> None:
    """A robots.txt is not called unreachable because the end of the crawl came between hops."""
    if request.config.getoption("reactorless"):
        pytest.skip("needs the crawl in the process of the tests")
    there = web.site({"*": ""})
    here = web.site({"/robots.txt": Answer(301, {"Location": there.url("/rules")}), "*": ""})

    class Stopped(Spider):
        name = "stopped"

        async def start(self) -> AsyncIterator[Any]:
            yield Request(here.url("/page"))

        @classmethod
        def from_crawler(cls, crawler: Crawler, *args: Any, **kwargs: Any) -> Stopped:
            crawler.signals.connect(cls.stop, signals.response_received)
            spider: Stopped = super().from_crawler(crawler, *args, **kwargs)
            return spider

        @staticmethod
        def stop(spider: Spider) -> None:
            deferred_from_coro(spider.crawler.engine.close_spider_async(reason="enough"))

    run = await run_spider(web, Stopped)
    await pause(0.2)
    assert [seen.path for seen in run.arrivals] == ["/robots.txt"]
    assert run.crawler is not None and run.crawler.stats is not None
    assert run.crawler.stats.get_value("robotstxt/request_count") is None
