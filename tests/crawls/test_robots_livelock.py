"""A robots.txt that is stale before its host's turn comes again is not fetched for ever."""

from __future__ import annotations

import pytest
from harness import Web, crawl_here


@pytest.mark.crawl
async def test_freshness_shorter_than_the_delay(web: Web) -> None:
    """Each page still goes, on a file fetched for it: robots, page, robots, page."""
    site = web.site({"/robots.txt": 404, "*": "page"})
    urls = [site.url(f"/p{n}") for n in range(3)]
    settings = {"POLITE_ROBOTS_MIN_AGE": 0.1, "POLITE_ROBOTS_MAX_AGE": 0.1, "POLITE_MIN_DELAY": 0.5}
    run = await crawl_here(web, urls, settings, timeout=20)
    assert [run.outcome.get(url) for url in urls] == [[200]] * 3
    assert [arrival.path == "/robots.txt" for arrival in run.arrivals] == [True, False] * 3
