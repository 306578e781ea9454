"""What the pack costs: an unthrottled crawl with and without it, in turns.

All waits are switched off (factor, floor and jitter 0), so what is left is the work per page.
robots.txt is obeyed by both.  Of each side the best round counts, for other work on the machine
only ever slows a round down.  Prints pages per second of CPU and of wall time, and the pack's share
of stock Scrapy's; the aim is 0.8 at the least.

    python benchmarks/overhead.py [--hosts 200] [--pages 15] [--rounds 4]
"""

from __future__ import annotations

import argparse
from typing import Any

from metering import CPU, WALL, hosts, metered, name_of

from harness.apart import WebApart

ROBOTS = "User-agent: *\nDisallow: /private/\n"
UNTHROTTLED = {"POLITE_DELAY_FACTOR": 0}


def main() -> None:
    """Crawl in turns and print the ratios."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--hosts", type=int, default=200)
    parser.add_argument("--pages", type=int, default=15, help="pages of each host")
    parser.add_argument("--rounds", type=int, default=4)
    asked = parser.parse_args()
    pages: dict[str, Any] = {"/robots.txt": ROBOTS, "*": "<html>x</html>"}
    rates: dict[bool, list[tuple[float, float]]] = {False: [], True: []}
    with WebApart(dict.fromkeys(hosts(asked.hosts), pages)) as web:
        urls = [site.url(f"/p{page}") for page in range(asked.pages) for site in web.sites]
        for turn in range(asked.rounds * 2):
            polite = bool(turn % 2)
            stats, arrivals = metered(web, urls, UNTHROTTLED if polite else {}, polite=polite)
            got = len(arrivals) - asked.hosts
            assert got == len(urls), f"{got} pages were fetched, not {len(urls)}"
            by_cpu, by_wall = got / stats[CPU], got / stats[WALL]
            rates[polite].append((by_cpu, by_wall))
            print(f"{name_of(polite):13} {by_cpu:5.0f} pages/CPU s {by_wall:5.0f} pages/s")
    for column, what in enumerate(("CPU", "wall")):
        ours, stock = (max(rate[column] for rate in rates[polite]) for polite in (True, False))
        print(f"scrapy_polite / stock by {what}: {ours / stock:.2f}")


if __name__ == "__main__":
    main()
