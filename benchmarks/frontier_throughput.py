"""How many fetches a polite crawl makes in 25 seconds: stock Scrapy beside the pack.

Stock is AutoThrottle at one tenth, one request per domain; the pack goes with its clocks in memory
and in an SQLite file.  All get the same web, requests and places, in turns.  Possible is what the
simulator makes of the same hosts, places and rule, on a clock that loses no time.  A wait is below
ten times when the server saw it so, 30 ms forgiven.

    python benchmarks/frontier_throughput.py [--seconds 25] [--only 100x16]
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from random import Random
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from metering import CPU, hosts, metered, name_of

from harness import Arrival, gaps
from harness.apart import WebApart
from scrapy_polite.policy.delay import DelayRules
from scrapy_polite.policy.host import HostRules
from scrapy_polite.simulator import HostPlan, Plan, simulate

FORGIVEN = 0.03  # seconds
TEN_TIMES = HostRules(delay=DelayRules(floor=0.0, jitter=0.0))
STOCK = {
    "AUTOTHROTTLE_ENABLED": True,
    "AUTOTHROTTLE_TARGET_CONCURRENCY": 0.1,
    "AUTOTHROTTLE_START_DELAY": 0,
    "AUTOTHROTTLE_MAX_DELAY": 600,
    "CONCURRENT_REQUESTS_PER_DOMAIN": 1,
}


class Case(NamedTuple):
    """How many hosts, how many places, and between what their latencies lie, in seconds."""

    hosts: int
    places: int
    fastest: float
    slowest: float

    @property
    def name(self) -> str:
        """What it is called on the command line."""
        return f"{self.hosts}x{self.places}"


CASES = (Case(100, 16, 0.05, 0.5), Case(1000, 64, 0.3, 1.5))


def run(case: Case, seconds: float) -> None:
    """Crawl in turns and print a row for each."""
    random = Random(9309)
    latencies = {host: random.uniform(case.fastest, case.slowest) for host in hosts(case.hosts)}
    pages = int(seconds / (11 * case.fastest)) + 2
    sites: dict[str, Any] = {
        host: {"/robots.txt": {"status": 200, "delay": delay}, "*": {"delay": delay}}
        for host, delay in latencies.items()
    }
    plan = [HostPlan(pages, delay, robots_latency=delay) for delay in latencies.values()]
    ideal = simulate(Plan(plan, case.places, rules=TEN_TIMES, until=seconds))
    possible = ideal.fetches + ideal.robots_fetches
    print(f"{case.hosts} hosts, {case.places} places: {possible} fetches possible in {seconds:g} s")
    settings = {"CONCURRENT_REQUESTS": case.places, "CLOSESPIDER_TIMEOUT": seconds + 1}
    with TemporaryDirectory() as folder:
        crawls = (
            (name_of(False), False, STOCK),
            (name_of(True), True, {}),
            ("with SQLite", True, {"POLITE_STATE": f"{folder}/polite.db"}),
        )
        for name, polite, extra in crawls:
            with WebApart(sites) as web:
                urls = [site.url(f"/p{page}") for page in range(pages) for site in web.sites]
                stats, arrivals = metered(web, urls, {**settings, **extra}, polite=polite)
                show(name, arrivals, seconds, possible, stats[CPU])


def show(name: str, arrivals: Sequence[Arrival], seconds: float, possible: int, cpu: float) -> None:
    """Print what the server saw of a crawl."""
    end_at = arrivals[0].start_at + seconds
    made = sum(seen.end_at <= end_at for seen in arrivals)
    waits = gaps(arrivals)
    short = sum(gap.wait < 10 * gap.before.duration - FORGIVEN for gap in waits)
    each = cpu / len(arrivals) * 1e3
    print(
        f"  {name:13} {made:6} fetches, {made / possible:.3f} of the possible; "
        f"{short} of {len(waits)} waits below ten times; {each:.1f} ms of CPU each",
        flush=True,
    )


def main() -> None:
    """Run the cases asked for."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--seconds", type=float, default=25.0)
    parser.add_argument("--only", choices=[case.name for case in CASES])
    asked = parser.parse_args()
    for case in CASES:
        if asked.only in (None, case.name):
            run(case, asked.seconds)


if __name__ == "__main__":
    main()
