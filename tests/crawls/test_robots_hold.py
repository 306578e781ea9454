"""Who waits for robots.txt, and for how long: nothing goes before the verdict."""

from __future__ import annotations

import pytest
from scrapy import Spider
from scrapy.http import Response

from crawls.judging import (
    ALLOW,
    ALLOWED,
    DISALLOW,
    FORBIDDEN,
    MANY,
    UNREACHABLE,
    paths,
    verdict,
)
from crawls.promise import fetch_directly
from harness import Answer, Web, crawl_here, gaps, most_at_once, robots_fetches

pytestmark = pytest.mark.crawl

REFUSED = Answer(503, {"Retry-After": "1"}, ALLOW)


async def test_thirty_pages_wait_for_one_verdict(web: Web) -> None:
    """Pages queued while robots.txt is on its way get its verdict, and it is fetched once."""
    site = web.site({"/robots.txt": Answer(body=DISALLOW, delay=0.3), "*": ""})
    pages = [f"/private/{number}" for number in range(30)]
    run = await crawl_here(web, [site.url(page) for page in pages], MANY)
    assert paths(run, site) == ["/robots.txt"]
    assert [verdict(run, site, page) for page in pages] == [FORBIDDEN] * 30
    assert run.stats["robotstxt/forbidden"] == 30


@pytest.mark.usefixtures("in_process")
async def test_thirty_direct_downloads_wait_for_one_verdict(web: Web) -> None:
    """The same for requests that go past the scheduler, through `engine.download_async`."""
    slow = Answer(body=DISALLOW, delay=0.3)
    home, site = web.site({"*": ""}), web.site({"/robots.txt": slow, "*": ""})
    pages = [f"/private/{number}" for number in range(30)]
    told: list[int | str] = []

    async def parse(self: Spider, response: Response, asked_url: str) -> None:
        told.extend(await fetch_directly(self, map(site.url, pages)))

    run = await crawl_here(web, [home.url()], MANY, {"parse": parse})
    assert paths(run, site) == ["/robots.txt"]
    assert told == ["IgnoreRequest"] * 30


async def test_a_blip_loses_nothing(web: Web) -> None:
    """While robots.txt is refused, pages are held; once it can be read they go as it says."""
    files = [REFUSED, Answer(429, {"Retry-After": "1"}), DISALLOW]
    blip = web.site({"/robots.txt": files, "*": ""})
    run = await crawl_here(
        web,
        [blip.url(path) for path in ("/a", "/b", "/private/page")],
        {**MANY, "POLITE_ROBOTS_HOLD": 30},
    )
    assert len(robots_fetches(run.arrivals)) == 3
    assert [gap.wait >= 1 for gap in gaps(run.arrivals)][:2] == [True, True]
    assert [verdict(run, blip, path) for path in ("/a", "/b")] == [ALLOWED, ALLOWED]
    assert verdict(run, blip) == FORBIDDEN


async def test_held_then_dropped(web: Web) -> None:
    """After POLITE_ROBOTS_HOLD pages are dropped as RobotsUnreachable, counted and told once."""
    down = web.site({"/robots.txt": Answer(503, {"Retry-After": "0.2"}, ALLOW), "*": ""})
    mute, well = web.site({"/robots.txt": Answer(drop=True)}), web.site({})
    asked = [site.url(f"/{number}") for site in (down, mute, well) for number in range(3)]
    settings = {**MANY, "POLITE_ROBOTS_HOLD": 4, "POLITE_BACKOFF_GIVE_UP": 99}
    run = await crawl_here(web, asked, settings)
    assert set(paths(run, down)) == {"/robots.txt"}
    assert len(paths(run, down)) >= 2  # asked again within the hold, as Retry-After says
    for site in (down, mute):
        assert {verdict(run, site, f"/{number}") for number in range(3)} == {UNREACHABLE}
    assert {verdict(run, well, f"/{number}") for number in range(3)} == {(True, (404,))}
    assert run.stats["polite/robots/dropped"] == 6
    for why in ("status 503", "no answer"):
        assert run.log.count(f"could not be read for 4 s ({why}) (pages given up: 3)") == 1
    assert run.seconds >= 4


async def test_rfc9309_2_3_two_origins_of_a_host(web: Web) -> None:
    """Each port is ruled by its own file, and yet the host is asked one thing at a time."""
    page = Answer(delay=0.02)
    strict = web.site({"/robots.txt": Answer(body=DISALLOW, delay=0.05), "*": page})
    loose = web.site({"/robots.txt": Answer(body=ALLOW, delay=0.05), "*": page}, strict.host, 0)
    names = [f"/private/{number}" for number in range(4)] + ["/a", "/b"]
    asked = [site.url(name) for name in names for site in (strict, loose)]
    run = await crawl_here(web, asked, {**MANY, "POLITE_DELAY_FACTOR": 3})
    told = {site.port: [run.outcome[site.url(name)] for name in names] for site in (strict, loose)}
    assert told == {
        strict.port: [["IgnoreRequest"]] * 4 + [[200]] * 2,
        loose.port: [[200]] * 6,
    }
    assert most_at_once(run.arrivals, strict.host) == 1
    assert sorted(seen.port for seen in robots_fetches(run.arrivals)) == sorted(
        [strict.port, loose.port]
    )
    assert all(gap.wait >= 3 * gap.before.duration for gap in gaps(run.arrivals))
