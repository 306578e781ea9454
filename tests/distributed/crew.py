"""A crew: workers of one distributed crawl, each a process, and the web that they crawl.

Rules: each host of the web has a page that links to all its other pages.  The verdict is the web's
record.  Terms are short, so that a test need not wait for as long as a crawl does.
"""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from distributed.servers import RedisServer
from harness.apart import WebApart
from harness.child import environment
from harness.crawl import BARE, POLITE
from harness.needing import need
from harness.record import Arrival, gaps, most_at_once, robots_fetches

TERMS = {"ttl": 2.0, "heartbeat": 0.4}
PATIENCE = 90.0  # seconds until a worker must have ended
ROUNDING = 0.001  # seconds
WORKER = Path(__file__).with_name("worker.py")
ON_REDIS = {
    "SCHEDULER": "scrapy_redis.scheduler.Scheduler",
    "SCHEDULER_PERSIST": True,
    "MAX_IDLE_TIME_BEFORE_CLOSE": 3,
}
STOCK = {**BARE, **ON_REDIS, "DUPEFILTER_CLASS": "scrapy_redis.dupefilter.RFPDupeFilter"}
POLITELY = {
    **POLITE,
    **ON_REDIS,
    "SCHEDULER_QUEUE_CLASS": "scrapy_polite.redis.PoliteQueue",
    "DUPEFILTER_CLASS": "scrapy_polite.redis.PoliteDupeFilter",
}


def sites(hosts: int, pages: int, seconds: float) -> dict[str, dict[str, Any]]:
    """Return so many hosts of so many pages each; an answer takes so many seconds."""
    links = "".join(f'<a href="/p{number}">' for number in range(1, pages))
    site = {
        "/robots.txt": {"body": "User-agent: *\nDisallow: /private/\n", "delay": seconds / 2},
        "/": {"body": links, "delay": seconds},
        "*": {"body": "text", "delay": seconds},
    }
    return {f"127.8.{number // 250}.{number % 250 + 1}": site for number in range(hosts)}


class Worker:
    """A worker in a process of its own.

    Args:
        log: path of a file for its log.
    """

    def __init__(self, log: Path, settings: Mapping[str, Any], terms: Mapping[str, float]) -> None:
        self._log = log
        command = [sys.executable, str(WORKER), json.dumps(settings), json.dumps(terms)]
        with log.open("w") as out:
            self.process = subprocess.Popen(command, stdout=out, stderr=out, env=environment())

    def send(self, number: signal.Signals) -> None:
        self.process.send_signal(number)

    def wait(self) -> str:
        """Wait for its end and return its log."""
        self.process.wait(PATIENCE)
        return self._log.read_text()

    def close(self) -> None:
        """End it, however it is."""
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()


class Crew:
    """Workers of one crawl; made by `crew`."""

    def __init__(self, server: RedisServer, web: WebApart, workers: list[Worker]) -> None:
        self.server = server
        self.web = web
        self.workers = workers

    def run(self, settings: Mapping[str, Any]) -> str:
        """Have one more worker at it until it ends; return its log."""
        where = {"REDIS_URL": self.server.url, "POLITE_STATE": self.server.url}
        with tempfile.TemporaryDirectory() as folder:
            worker = Worker(Path(folder, "log"), {**settings, **where}, TERMS)
            try:
                return worker.wait()
            finally:
                worker.close()

    def wait_for_pages(self) -> None:
        """Wait until a page of each host was fetched, and so every robots.txt is known."""
        until = time.monotonic() + PATIENCE
        while len({host for host, _ in self.pages_of(self.web.arrivals())}) < len(self.web.sites):
            assert time.monotonic() < until
            time.sleep(0.1)

    def wait(self) -> list[str]:
        """Wait for the end of all workers and return their logs."""
        return [worker.wait() for worker in self.workers]

    def pages_of(self, arrivals: list[Arrival]) -> set[tuple[str, str]]:
        """Return the pages that were fetched."""
        return {(seen.host, seen.path) for seen in arrivals} - {
            (site.host, "/robots.txt") for site in self.web.sites
        }


def seed(server: RedisServer, *urls: str) -> None:
    """Have the workers begin with more pages."""
    server.client.rpush("crew:start_urls", *(json.dumps({"url": url}) for url in urls))


@contextmanager
def crew(
    server: RedisServer,
    *,
    workers: int,
    hosts: int,
    pages: int,
    seconds: float = 0.04,
    seeded: int | None = None,
    more: Mapping[str, dict[str, Any]] | None = None,
    settings: Mapping[str, Any] = POLITELY,
    terms: Mapping[str, float] = TERMS,
) -> Iterator[Crew]:
    """Have workers crawl a web.

    Args:
        seeded: how many hosts' front pages are seeds from the beginning; None for all.
        more: hosts that are other than the rest.
    """
    need("scrapy-redis", find_spec("scrapy_redis"), "pip install scrapy-redis")
    where = {"REDIS_URL": server.url}
    if settings is not STOCK:
        where["POLITE_STATE"] = server.url
    started: list[Worker] = []
    served = {**sites(hosts, pages, seconds), **(more or {})}
    with WebApart(served) as web, tempfile.TemporaryDirectory() as folder:
        if seeded != 0:
            seed(server, *(site.url("/") for site in web.sites[:seeded]))
        try:
            for number in range(workers):
                log = Path(folder, f"{number}.log")
                started.append(Worker(log, {**settings, **where}, terms))
            yield Crew(server, web, started)
        finally:
            for worker in started:
                worker.close()


def short_waits(arrivals: list[Arrival], factor: float = 10.0) -> list[str]:
    """Return the waits that were shorter than so many times the fetch before."""
    return [
        f"{gap.host}{gap.after.path}: {gap.wait:.3f} s after {gap.before.duration:.3f} s"
        for gap in gaps(arrivals)
        if gap.wait < factor * gap.before.duration - ROUNDING
    ]


def overlaps(arrivals: list[Arrival]) -> dict[str, int]:
    """Return the hosts that had more than one request at once, and how many."""
    hosts = {seen.host for seen in arrivals}
    most = {host: most_at_once(arrivals, host) for host in hosts}
    return {host: count for host, count in most.items() if count > 1}


def fetched_robots(arrivals: list[Arrival]) -> int:
    """Return how often a robots.txt was fetched."""
    return len(robots_fetches(arrivals))
