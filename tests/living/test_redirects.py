"""Retries, redirects and meta refresh: every hop and every try has its host's turn."""

from __future__ import annotations

from typing import Any

import pytest

from crawls.judging import DISALLOW, moved, paths
from crawls.promise import FREE, SLOW, assert_no_lease_left, assert_ten_times
from harness import Answer, Web, crawl_here
from harness.spider import Asking

pytestmark = pytest.mark.crawl


def refresh(url: str) -> Answer:
    """Return a page that sends browsers on."""
    tag = f'<meta http-equiv="refresh" content="0; url={url}">'
    return Answer(body=f"<html><head>{tag}</head></html>", delay=0.02)


async def test_retries(web: Web) -> None:
    """A page that failed is asked for again after the wait, RETRY_TIMES times, not oftener."""
    broken: Any = Answer(500, delay=0.03)
    lost: Any = Answer(drop=True, delay=0.03)
    pages = {
        "heals": ([broken, SLOW], [200]),
        "comes back": ([lost, SLOW], [200]),
        "lingers": ([broken, lost, SLOW], [200]),
        "stays broken": (broken, [500]),
        "not again": ([broken, SLOW], [500]),
    }
    sites = {name: web.site({**FREE, "*": page}) for name, (page, _) in pages.items()}
    asked: list[Any] = [{"url": site.url("/page")} for site in sites.values()]
    asked[-1]["meta"] = {"dont_retry": True}
    run = await crawl_here(web, asked, {"RETRY_TIMES": 2})
    assert {name: run.outcome[site.url("/page")] for name, site in sites.items()} == {
        name: told for name, (_, told) in pages.items()
    }
    tries = [len(paths(run, site)) - 1 for site in sites.values()]
    assert tries == [2, 2, 3, 3, 1]
    assert_ten_times(run.arrivals)
    assert_no_lease_left(run)


async def test_redirects_and_meta_refresh(web: Web) -> None:
    """Redirects of all kinds keep the clock; where the target is forbidden they end."""
    strict = web.site({"/robots.txt": DISALLOW, "*": SLOW})
    hops: dict[str, Any] = {
        f"/{status}": {**moved(f"/to{status}", status), "delay": 0.02}
        for status in (301, 302, 303, 307, 308)
    }
    site = web.site(
        {
            **FREE,
            **hops,
            "/refresh": refresh("/to-refresh"),
            "/loop": {**moved("/loop?again"), "delay": 0.02},
            "/away": {**moved(strict.url("/private/1")), "delay": 0.02},
            "/refresh-away": refresh(strict.url("/private/2")),
            "/refresh-onto": refresh(strict.url("/open")),
            "*": SLOW,
        }
    )
    told: dict[str, list[int | str]] = {
        **{path: [200] for path in (*hops, "/refresh", "/refresh-onto")},
        "/away": ["IgnoreRequest"],
        "/refresh-away": ["IgnoreRequest"],
    }
    posted = {"/307", "/308"}
    asked: list[Asking] = [
        {"url": site.url(path), "method": "POST" if path in posted else "GET"} for path in told
    ]
    asked.append(site.url("/loop"))
    run = await crawl_here(web, asked, {"REDIRECT_MAX_TIMES": 3})
    assert run.outcome == {site.url(path): what for path, what in told.items()}
    assert sorted(paths(run, strict)) == ["/open", "/robots.txt"]
    seen = paths(run, site)
    assert {f"/to{status}" for status in (301, 302, 303, 307, 308)} <= set(seen)
    assert "/to-refresh" in seen
    assert sum(path.startswith("/loop") for path in seen) == 2  # the dupe filter ends it
    methods = {seen.path: seen.method for seen in run.arrivals if seen.host == site.host}
    assert (methods["/to303"], methods["/to307"], methods["/to308"]) == ("GET", "POST", "POST")
    assert_ten_times(run.arrivals)
    assert_no_lease_left(run)
