"""What the pack costs: an unthrottled crawl with and without it, in turns.

All waits are switched off (factor, floor and jitter 0), so what is left is the work per request.
robots.txt is obeyed by both.  Prints requests per second of CPU and of wall time, and the pack's
share of stock Scrapy's; the aim is 0.8 at the least.

    python benchmarks/overhead.py [--hosts 200] [--pages 25] [--rounds 2]
"""

from __future__ import annotations

import argparse
from typing import Any

from metering import CPU, WALL, WebApart, hosts, metered

ROBOTS = "User-agent: *\nDisallow: /private/\n"
UNTHROTTLED = {"POLITE_DELAY_FACTOR": 0}


def main() -> None:
    """Crawl in turns and print the ratios."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--hosts", type=int, default=200)
    parser.add_argument("--pages", type=int, default=25, help="pages of each host")
    parser.add_argument("--rounds", type=int, default=2)
    asked = parser.parse_args()
    sites: dict[str, Any] = {
        host: {"/robots.txt": ROBOTS, "*": "<html>x</html>"} for host in hosts(asked.hosts)
    }
    rates: dict[bool, list[tuple[float, float]]] = {False: [], True: []}
    with WebApart(sites) as web:
        urls = [site.url(f"/p{page}") for page in range(asked.pages) for site in web.sites]
        for number in range(asked.rounds * 2):
            polite = bool(number % 2)
            stats, _ = metered(web, urls, UNTHROTTLED if polite else {}, polite=polite)
            count = stats["downloader/response_count"]
            rates[polite].append((count / stats[CPU], count / stats[WALL]))
            name = "scrapy_polite" if polite else "stock"
            print(f"{name:13} {count} responses, {count / stats[CPU]:6.0f} per CPU second, "
                  f"{count / stats[WALL]:6.0f} per second")
    for column, what in enumerate(("CPU", "wall")):
        best = {polite: max(row[column] for row in rows) for polite, rows in rates.items()}
        print(f"scrapy_polite / stock by {what}: {best[True] / best[False]:.2f}")


if __name__ == "__main__":
    main()
