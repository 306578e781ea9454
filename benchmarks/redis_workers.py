"""How much of what politeness allows a crew of scrapy-redis workers gets, and what stock does.

A host may be fetched for 1/11 of the time.  The share is how much of that was used from the moment
at which all workers were at work.  Prints one line a crew; the aim is 0.95.  Plain scrapy-redis
stands beside, with its overlaps and the waits that were too short.

    python benchmarks/redis_workers.py [--hosts 50] [--seconds 30] [--fetch 0.25]
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1] / "tests"))

from distributed.crew import POLITELY, STOCK, crew, overlaps, short_waits
from distributed.servers import RedisServer
from harness.record import Arrival

WARM_UP = 8.0  # seconds until all workers are at work
POSSIBLE = 1 / 11
TERMS: dict[str, float] = {}  # those of every crawl


def share(arrivals: list[Arrival], hosts: int, begin_at: float, end_at: float) -> float:
    """Return the time that hosts were fetched in, over the time that they might have been."""
    spent = sum(
        max(min(seen.end_at, end_at) - max(seen.start_at, begin_at), 0.0) for seen in arrivals
    )
    return spent / (hosts * (end_at - begin_at) * POSSIBLE)


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
            time.sleep(WARM_UP)
            begin_at = time.monotonic()
            time.sleep(asked.seconds)
            end_at = time.monotonic()
            for worker in it.workers:
                worker.close()
            arrivals = it.web.stop()
    seen = [one for one in arrivals if begin_at <= one.start_at < end_at]
    return (
        f"{workers} {'polite' if polite else 'plain':7}"
        f"{share(arrivals, asked.hosts, begin_at, end_at):6.3f} of the possible"
        f"{len(seen) / (end_at - begin_at):8.1f} fetches/s"
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
