"""The test harness: a recording web on loopback hosts, and real crawls of it.

    site = web.site({"/robots.txt": 404, "*": Answer(delay=0.1)})
    run = crawl(web, [site.url(f"/p{n}") for n in range(5)])
    assert run.outcome[site.url("/p0")] == [200]
    assert most_at_once(run.arrivals, site.host) == 1

The verdict is the server's own record (`Arrival`), never what the crawler says of itself. Timings
are noisy, so tests put lower bounds on waits and none on how soon something happens.
"""

from __future__ import annotations

from harness.crawl import BARE, POLITE, Crawl, CrawlFailed, crawl, crawl_here
from harness.pages import Answer, Asked, Site
from harness.record import Arrival, Gap, gaps, most_at_once, robots_fetches
from harness.server import Web

__all__ = [
    "BARE",
    "POLITE",
    "Answer",
    "Arrival",
    "Asked",
    "Crawl",
    "CrawlFailed",
    "Gap",
    "Site",
    "Web",
    "crawl",
    "crawl_here",
    "gaps",
    "most_at_once",
    "robots_fetches",
]
