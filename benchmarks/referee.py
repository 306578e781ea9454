"""What nginx says of three crawls of the same sites: stock Scrapy, its AutoThrottle, and the pack.

nginx serves Python's documentation under 12 loopback addresses; each answer takes 30 ms at least,
and one page of each address 500 ms.  An address takes one request at a time, and no more of them
than 1/11 of its time allows, ten in advance.  All figures are from nginx's access log.  Prints a
Markdown table.  Needs Debian's nginx and python3-doc.

    python benchmarks/referee.py [--seconds 120] [--burst 10]
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))  # before this folder: see the names

from referee.crawling import AUTOTHROTTLE, PACK, STOCK, crawl
from referee.figures import Figures, figures
from referee.nginx import Referee
from referee.sites import OWNERS

SIDES = {
    "stock Scrapy": STOCK,
    "AutoThrottle at 1/11": AUTOTHROTTLE,
    "with the add-on": PACK,
}
ROWS: dict[str, Callable[[Figures], str]] = {
    "pages asked for": lambda seen: f"{seen.asked}",
    "pages got, of those allowed": lambda seen: f"{seen.got} of {seen.to_get}",
    "refused for the rate (429)": lambda seen: f"{seen.refused.get(429, 0)}",
    "refused as one too many (503)": lambda seen: f"{seen.refused.get(503, 0)}",
    "requests that robots.txt forbids": lambda seen: f"{seen.forbidden}",
    "pages fetched again": lambda seen: f"{seen.again}",
    "connections with a host at once": lambda seen: f"{seen.connections}",
    "busiest host's share of time": lambda seen: f"{seen.share:.3f}",
    "least wait, in fetches": lambda seen: f"{max(seen.least_wait, 0.0):.1f}",
    "seconds": lambda seen: f"{seen.seconds:.0f}",
}


def measure(settings: dict[str, object], asked: argparse.Namespace) -> Figures:
    """Crawl once and return what nginx saw."""
    with Referee(OWNERS, burst=asked.burst) as referee:
        crawl(referee, settings, timeout=asked.seconds)
        return figures(referee.log(), referee.owners)


def main() -> None:
    """Crawl with each side and print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--seconds", type=float, default=120.0, help="most that a crawl takes")
    parser.add_argument("--burst", type=int, default=10, help="requests in advance of the rate")
    asked = parser.parse_args()
    seen = [measure(settings, asked) for settings in SIDES.values()]
    rows = [["what nginx saw", *SIDES], ["---"] * (len(SIDES) + 1)]
    rows += [[name, *map(figure, seen)] for name, figure in ROWS.items()]
    for row in rows:
        print(f"| {' | '.join(row)} |")


if __name__ == "__main__":
    main()
