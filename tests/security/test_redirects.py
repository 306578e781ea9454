"""Redirects: where they may not lead, and what they may not do to a third party."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from crawls.judging import MANY, moved
from crawls.promise import LATE, assert_no_lease_left
from harness import Answer, Asked, Web, crawl_here, gaps, most_at_once, robots_fetches

pytestmark = pytest.mark.crawl

LOCATIONS = {
    "file": "file://{file}",
    "file of a host": "file://localhost{file}",
    "ftp": "ftp://{host}:{port}/goal",
    "data": "data:text/html,goal",
    "script": "javascript:goal",
    "bucket": "s3://bucket/goal",
    "gopher": "gopher://{host}:{port}/goal",
    "port 0": "http://{host}:0/goal",
    "port too high": "http://{host}:65536/goal",
    "port of letters": "http://{host}:abc/goal",
    "broken IPv6": "http://[::1/goal",
    "empty": "",
    "NUL": "http://{host}\x00.invalid:{port}/goal",
    "15 KB of host": "http://" + "a." * 7_500 + "invalid/goal",
    "blank in the host": "http://{host} .invalid:{port}/goal",
}


async def test_pages_lead_to_http_only(web: Web, tmp_path: Path) -> None:
    """A page redirects or refreshes to another scheme, or to what is no URL: nothing is fetched."""
    secret = tmp_path / "secret.html"
    secret.write_text("<html>secret</html>")

    def location(asked: Asked) -> str:
        name = asked.path.split("/")[-1].replace("_", " ")
        return LOCATIONS[name].format(host=asked.host, port=asked.port, file=secret)

    def refresh(asked: Asked) -> Answer:
        tag = f'<meta http-equiv="refresh" content="0; url={location(asked)}">'
        return Answer(body=f"<html><head>{tag}</head></html>")

    pages: dict[str, Any] = {"/robots.txt": 404, "/goal": "goal"}
    pages |= {f"/30x/{name.replace(' ', '_')}": lambda a: moved(location(a)) for name in LOCATIONS}
    pages |= {f"/refresh/{name.replace(' ', '_')}": refresh for name in LOCATIONS}
    site = web.site(pages)
    asked = [site.url(path) for path in pages if path.count("/") == 2]
    run = await crawl_here(web, asked, MANY, timeout=100)
    assert {seen.path for seen in run.arrivals} == {"/robots.txt", *pages.keys() - {"/goal"}}
    assert {url for url in asked if "/30x/" in url and 200 in run.outcome.get(url, [])} == set()
    assert run.stats["finish_reason"] == "finished"
    assert "file" not in str([key for key in run.stats if "request" in key])
    assert_no_lease_left(run)


@pytest.mark.slow
async def test_many_hosts_send_us_to_one(web: Web) -> None:
    """Several hosts redirect robots.txt and pages to a victim: it gets one request at a time.

    What it gets keeps the waits, and no two redirects of robots.txt come before a page that waits.
    """
    slow = Answer(body="User-agent: *\n", delay=0.02)
    victim = web.site({"/robots.txt": Answer(404, delay=0.02), "*": slow})
    pages: dict[str, Any] = {
        "/robots.txt": lambda asked: moved(victim.url(f"/hop{asked.host}")),
        "/page": lambda asked: moved(victim.url(f"/page{asked.host}")),
    }
    hostile = [web.site(pages) for _ in range(6)]
    own = [victim.url(f"/own{n}") for n in range(6)]  # there is always one that waits
    asked = own + [site.url("/page") for site in hostile]
    run = await crawl_here(web, asked, {"CONCURRENT_REQUESTS": 32}, timeout=100)
    seen = [arrival for arrival in run.arrivals if arrival.host == victim.host]
    assert len(seen) == 1 + 6 + 6 + 6
    assert most_at_once(seen) == 1
    assert all(gap.wait >= 10 * (gap.before.duration - LATE) for gap in gaps(seen))
    order = [arrival.path for arrival in seen]
    assert [pair for pair in pairwise(order) if all(p.startswith("/hop") for p in pair)] == []


@pytest.mark.slow
async def test_hosts_that_wait_for_another_do_not_stop_the_rest(web: Web) -> None:
    """Hosts whose robots.txt redirect to a host that is blocked hold no place of robots fetches."""
    victim = web.site({"/robots.txt": 404, "*": [Answer(503, {"Retry-After": "4"}), "", ""]})
    away: dict[str, Any] = {"/robots.txt": moved(victim.url("/rules")), "*": ""}
    hostile = [web.site(away) for _ in range(6)]
    honest = [web.site({"/robots.txt": 404, "*": ""}) for _ in range(4)]
    asked = [site.url("/page") for site in (*hostile, *honest)]
    settings = {**MANY, "POLITE_ROBOTS_CONCURRENCY": 2}
    run = await crawl_here(web, asked, settings, timeout=100)
    [refused, again, *_] = [a for a in run.arrivals if a.host == victim.host]
    assert again.start_at - refused.end_at >= 4.0
    for site in honest:
        assert run.outcome[site.url("/page")] == [200]
        [robots] = robots_fetches(run.arrivals, site.host)
        assert robots.start_at < again.start_at
    assert most_at_once([a for a in run.arrivals if a.host == victim.host]) == 1


@pytest.mark.slow
async def test_nobody_keeps_us_from_another_host(web: Web) -> None:
    """Hosts that redirect to a victim with Retry-After have it wait once, not for ever."""
    victim = web.site({"/robots.txt": 404, "*": ""})
    pages: dict[str, Any] = {
        "/robots.txt": 404,
        "*": lambda asked: Answer(302, {"Location": victim.url(asked.path), "Retry-After": "2"}),
    }
    hostile = [web.site(pages) for _ in range(2)]
    asked = [site.url(f"/{site.host}-{n}") for n in range(4) for site in hostile]
    own = [victim.url(f"/own{n}") for n in range(3)]
    settings = {"POLITE_DELAY_FACTOR": 0, "POLITE_MIN_DELAY": 0.2}
    run = await crawl_here(web, own + asked, settings, timeout=100)
    seen = [arrival for arrival in run.arrivals if arrival.host == victim.host]
    waits = sorted(gap.wait for gap in gaps(seen))
    assert len(seen) == 1 + 3 + 8
    assert waits[-1] >= 1.9
    assert sum(waits[:-1]) < 2 * len(waits[:-1]), "all the others wait for the usual time"
