"""HttpCache: what it answers asks no host and moves no clock, whichever policy it has.

Refusals and robots.txt stay out of it: see `crawls.test_backoff_refusals`, `test_robots_company`.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from crawls.judging import DISALLOW, FORBIDDEN, MANY, paths, verdict
from crawls.promise import assert_no_lease_left
from harness import Answer, Asked, Web, crawl_here, gaps

pytestmark = pytest.mark.crawl


def changeless(asked: Asked) -> Answer:
    """Return a page that has to be asked for each time, and never changes."""
    tag = {"ETag": '"1"', "Cache-Control": "max-age=0"}
    return Answer(304 if asked.headers.get("if-none-match") == '"1"' else 200, tag, "changeless")


@pytest.mark.parametrize("policy", ["DummyPolicy", "RFC2616Policy"])
async def test_cached_answers_move_no_clock(web: Web, tmp_path: Path, policy: str) -> None:
    """Pages from the cache are not waited between; those to revalidate or to fetch are."""
    page = Answer(headers={"Cache-Control": "max-age=3600"}, body="page")
    site = web.site({"/robots.txt": 404, "/changeless": changeless, "*": page})
    settings = {
        **MANY,
        "HTTPCACHE_ENABLED": True,
        "HTTPCACHE_DIR": str(tmp_path),
        "HTTPCACHE_POLICY": f"scrapy.extensions.httpcache.{policy}",
    }
    pages = [*(site.url(f"/{number}") for number in range(8)), site.url("/changeless")]
    await crawl_here(web, pages, settings)
    asked = [*pages, site.url("/new")]
    run = await crawl_here(web, asked, {**settings, "POLITE_MIN_DELAY": 1})
    asked_again = {"/changeless"} if policy == "RFC2616Policy" else set()
    assert sorted(paths(run, site)) == sorted({"/new", "/robots.txt"} | asked_again)
    assert all(gap.wait >= 1 for gap in gaps(run.arrivals))
    assert run.outcome == {url: [200] for url in asked}
    assert run.seconds < len(pages)  # with a wait of 1 s after each, it would be longer
    assert_no_lease_left(run)


async def test_cached_pages_are_judged(web: Web, tmp_path: Path) -> None:
    """A page that robots.txt has come to forbid is not taken from the cache either."""
    site = web.site({"/robots.txt": [404, DISALLOW], "*": "page"})
    settings = {**MANY, "HTTPCACHE_ENABLED": True, "HTTPCACHE_DIR": str(tmp_path)}
    page = site.url("/private/page")
    first = await crawl_here(web, [page], settings)
    assert first.outcome == {page: [200]}
    assert verdict(await crawl_here(web, [page], settings), site) == FORBIDDEN
