"""A million hosts: the real frontier, store and policies on a clock of their own.

Prints how long such a crawl takes politely, how long it took to find out, and the memory used.

    python benchmarks/frontier_million.py [--hosts 1000000] [--pages 1] [--places 1000]
"""

from __future__ import annotations

import argparse
import resource
import time
from random import Random

from scrapy_polite.simulator import HostPlan, Plan, simulate

MINUTE, GIB = 60.0, 2**20  # seconds; KiB


def main() -> None:
    """Simulate and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--hosts", type=int, default=1_000_000)
    parser.add_argument("--pages", type=int, default=1, help="pages of each host")
    parser.add_argument("--places", type=int, default=1000, help="fetches at once, of each kind")
    asked = parser.parse_args()
    random = Random(9309)
    kinds = [
        HostPlan(asked.pages, latency, spread=0.3, robots_latency=latency)
        for latency in (random.uniform(0.05, 2.0) for _ in range(100))
    ]
    plan = Plan(
        [kinds[number % len(kinds)] for number in range(asked.hosts)],
        places=asked.places,
        robots_places=asked.places,
        failures=0.03,
        refusals=0.01,
    )
    began_at = time.monotonic()
    crawl = simulate(plan)
    took, fetches = time.monotonic() - began_at, crawl.fetches + crawl.robots_fetches
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(f"{asked.hosts:,} hosts, {asked.pages} pages each, {asked.places} places:")
    print(f"  the crawl takes {crawl.seconds / MINUTE:.0f} minutes and {fetches:,} fetches;")
    print(
        f"  {crawl.refused:,} were refused, {crawl.failed:,} failed, {crawl.left:,} pages are left"
    )
    print(f"  simulated in {took:.0f} s, {took / fetches * 1e6:.0f} us a fetch,")
    print(f"  with {memory / GIB:.1f} GiB at most, {memory * 1024 / asked.hosts:,.0f} bytes a host")


if __name__ == "__main__":
    main()
