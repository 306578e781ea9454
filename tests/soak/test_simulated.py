"""Half an hour of crawling on clocks that jump: no leak, books that balance, promises kept.

Once with the frontier, store and policies alone, of 2,000 hosts; once with all of Scrapy around
them, see `virtual`.
"""

from __future__ import annotations

import gc
import json
import subprocess
import sys
import tracemalloc
from collections import defaultdict
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from random import Random
from typing import Any

import pytest

from harness.child import environment
from scrapy_polite.frontier.hosts import Want
from scrapy_polite.policy.host import Outcome
from scrapy_polite.simulator import Fetched, HostPlan, Plan, simulate
from scrapy_polite.simulator.run import _Flight, _Run
from soak.sampling import PROC

HALF_AN_HOUR = 1800.0  # seconds
LOOKS = (590.0, 1190.0, 1790.0, 9e9)  # seconds; the last one never comes
MOST_GROWTH = 0.1  # of objects and octets since the first look
FAULTS: dict[str, Any] = {
    "left over": {},
    "differences": [],
    "report": [],
    "breaches": [],
    "growths": [],
    "chains": 0,
}
RETRY_AFTER = 90.0  # seconds


def bad_weather(seed: int) -> Plan:
    """Return half an hour of 2,000 different hosts; of ten fetches one fails or is refused."""
    random = Random(seed)
    hosts = [
        HostPlan(
            pages=10_000,
            latency=random.uniform(0.2, 5.0),
            spread=random.uniform(0.0, 0.9),
            robots_latency=random.uniform(0.05, 5.0),
            crawl_delay=random.choice((0.0, 0.0, 0.0, 20.0)),
        )
        for _ in range(2000)
    ]
    return Plan(
        hosts,
        places=64,
        failures=0.06,
        refusals=0.04,
        retry_after=random.choice((None, RETRY_AFTER)),
        until=HALF_AN_HOUR,
        seed=seed,
    )


class Watched(_Run):
    """A simulated crawl that is looked at after 10, 20 and 30 minutes."""

    looks: list[dict[str, int]]

    def land(self, flight: _Flight) -> None:
        """A fetch ends."""
        if self.now > LOOKS[len(self.looks)]:
            gc.collect()
            octets, _ = tracemalloc.get_traced_memory()
            self.looks.append({"objects": len(gc.get_objects()), "octets": octets})
        super().land(flight)


def watched(plan: Plan) -> Watched:
    """Return a crawl that is over, traced from its beginning."""
    run = Watched(plan)
    run.looks = []
    tracemalloc.start()
    try:
        run.crawl()
    finally:
        tracemalloc.stop()
    return run


@pytest.mark.slow
def test_simulated_hosts_leak_nothing() -> None:
    """2,000 hosts, 30 minutes: as many objects after 20 and 30 as after 10, and no lost lease."""
    run = watched(bad_weather(seed=1))
    first, *others = run.looks
    assert len(others) == 2
    for look in others:
        assert all(look[what] <= first[what] * (1 + MOST_GROWTH) for what in look), run.looks
    flying = {flight.lease.host for flight in run.flights}
    assert {key for key, host in run.store._hosts.items() if host.holder} == flying
    assert {key for key, _, taken, _ in run.frontier.overview() if taken} == flying
    assert run.free[Want.PAGE] + run.free[Want.ROBOTS] + len(flying) == 64 + 64


@pytest.mark.parametrize("seed", [1, 2])
def test_simulated_promises_are_kept(seed: int) -> None:
    """2,000 hosts, 30 minutes: no overlap, ten times the fetch, Crawl-delay, Retry-After."""
    plan = bad_weather(seed)
    log = simulate(replace(plan, keep=10_000_000)).log
    hosts: dict[int, list[Fetched]] = defaultdict(list)
    for fetched in sorted(log, key=lambda f: f.started_at):
        hosts[fetched.host].append(fetched)
    assert len(hosts) == len(plan.hosts) and {f.outcome for f in log} == set(Outcome)
    for number, fetches in hosts.items():
        for before, after in pairwise(fetches):
            least = 10.0 * (before.ended_at - before.started_at)
            if before.outcome is Outcome.REFUSED:
                least = max(least, plan.retry_after or 0.0)
            if fetches[0].outcome is Outcome.ANSWERED:  # its robots.txt
                least = max(least, plan.hosts[number].crawl_delay)
            assert after.started_at - before.ended_at >= least * (1 - 1e-9), (before, after)


@pytest.mark.slow
@pytest.mark.skipif(not PROC.exists(), reason="memory and files are read from /proc")
def test_a_whole_crawl_leaks_nothing(tmp_path: Path) -> None:
    """40 hosts, 30 minutes, with all of Scrapy, no line for a while: nothing leaks or is lost."""
    job, result = tmp_path / "job.json", tmp_path / "result.json"
    job.write_text(json.dumps({"seconds": HALF_AN_HOUR, "hosts": 40, "seed": 9309}))
    command = [sys.executable, "-m", "soak.virtual", str(job), str(result)]
    with (tmp_path / "log.txt").open("w") as log:
        subprocess.run(command, env=environment(), check=True, stdout=log, stderr=log)
    told = json.loads(result.read_text())
    assert {name: told[name] for name in FAULTS} == FAULTS, told["figures"]
    assert told["outages"] == 1
    assert told["requests"] > 2000 and told["samples"] >= 29
