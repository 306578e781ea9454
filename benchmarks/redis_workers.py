"""How much of what politeness allows a crew of scrapy-redis workers gets, and what stock does.

A host may be fetched for 1/11 of the time.  The share is how much of that was used from the moment
at which every host had two pages behind its front page: before, each worker queues the links of all
front pages, and what it fetches meanwhile seems slow to it.  The aim is 0.95.

Lateness is what a wait was above ten times the fetch before, as the web saw it: the worker's own
share of the duration counts ten times in it.  Plain scrapy-redis stands beside, with its overlaps
and the waits that were too short.

    python benchmarks/redis_workers.py [--hosts 50] [--seconds 30] [--fetch 0.25]
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections import Counter
from pathlib import Path
from statistics import quantiles

sys.path.append(str(Path(__file__).parents[1] / "tests"))

from distributed.crew import POLITELY, STOCK, Crew, crew, overlaps, short_waits
from distributed.servers import RedisServer
from harness.record import Arrival, gaps

PLAIN_WARM_UP = 8.0  # seconds
AT_WORK = 4  # fetches of a host: robots.txt, the front page and two more
POSSIBLE = 1 / 11
TERMS: dict[str, float] = {}  # those of every crawl


def share(arrivals: list[Arrival], hosts: int, begin_at: float, end_at: float) -> float:
    """Return the time that hosts were fetched in, over the time that they might have been."""
    spent = sum(
        max(min(seen.end_at, end_at) - max(seen.start_at, begin_at), 0.0) for seen in arrivals
    )
    return spent / (hosts * (end_at - begin_at) * POSSIBLE)


def wait_until_at_work(it: Crew) -> None:
    """Wait until all hosts are beyond the links of their front pages."""
    while True:
        counts = Counter(seen.host for seen in it.web.arrivals())
        if len(counts) == len(it.web.sites) and min(counts.values()) >= AT_WORK:
            return
        time.sleep(0.2)


def lateness(arrivals: list[Arrival]) -> str:
    """Return median, 90th and 99th percentile of what waits were longer than they had to be."""
    late = [
        gap.wait - gap.before.duration / POSSIBLE + gap.before.duration for gap in gaps(arrivals)
    ]
    if len(late) < 2:
        return "-"
    cuts = quantiles(late, n=100)
    return "/".join(f"{1000 * cuts[at - 1]:.0f}" for at in (50, 90, 99))


def busy(it: Crew) -> float:
    """Return the seconds of processor time that the workers took so far."""
    ticks = 0
    for worker in it.workers:
        told = Path(f"/proc/{worker.process.pid}/stat").read_text().rpartition(")")[2].split()
        ticks += int(told[11]) + int(told[12])
    return ticks / os.sysconf("SC_CLK_TCK")


def measure(workers: int, asked: argparse.Namespace, *, polite: bool) -> str:
    """Run a crew for a while and return what the web saw."""
    settings = POLITELY if polite else STOCK
    pages = int(asked.seconds / asked.fetch)  # more than politeness allows
    with RedisServer() as server:
        server.settle("polite:")
        with crew(
            server,
            workers=workers,
            hosts=asked.hosts,
            pages=pages,
            seconds=asked.fetch,
            settings=settings,
            terms=TERMS,
        ) as it:
            if polite:
                wait_until_at_work(it)
            else:  # its hosts have no turns
                time.sleep(PLAIN_WARM_UP)
            begin_at, begun = time.monotonic(), busy(it)
            time.sleep(asked.seconds)
            end_at, spent = time.monotonic(), busy(it) - begun
            for worker in it.workers:
                worker.close()
            arrivals = it.web.stop()
    seen = [one for one in arrivals if begin_at <= one.start_at < end_at]
    return (
        f"{workers} {'polite' if polite else 'plain':7}"
        f"{share(arrivals, asked.hosts, begin_at, end_at):6.3f} of the possible"
        f"{len(seen) / (end_at - begin_at):8.1f} fetches/s"
        f"{lateness(seen):>15} ms late (50/90/99 %)"
        f"{spent / (end_at - begin_at):6.2f} of a core"
        f"{len(overlaps(arrivals)):5} hosts with overlaps"
        f"{len(short_waits(arrivals)):6} short waits"
    )


def main() -> None:
    """Run the crews one after the other."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--hosts", type=int, default=50)
    parser.add_argument("--seconds", type=float, default=30.0)
    parser.add_argument("--fetch", type=float, default=0.25, help="seconds that a page takes")
    asked = parser.parse_args()
    for workers in (1, 2, 4):
        print(measure(workers, asked, polite=True), flush=True)
    print(measure(2, asked, polite=False))


if __name__ == "__main__":
    main()
