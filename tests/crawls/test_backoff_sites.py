"""Sites that refuse for a while, or are in trouble, are crawled to the end at a pace they bear."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from itertools import pairwise

import pytest

from harness import Answer, Arrival, Asked, Site, Web, crawl_here, gaps, most_at_once

pytestmark = pytest.mark.crawl

NO_ROBOTS = {"/robots.txt": 404}


def limited(limit: int, window: float) -> Callable[[Asked], Answer]:
    """Return a page of a site that takes so many requests in each window of so many seconds."""
    taken: dict[int, int] = {}

    def page(asked: Asked) -> Answer:
        number = int(time.monotonic() / window)
        taken[number] = taken.get(number, 0) + 1
        return Answer(200 if taken[number] <= limit else 429)

    return page


def down(seconds: float) -> Callable[[Asked], Answer]:
    """Return a page that is refused until so many seconds after it was first asked for."""
    since: list[float] = []

    def page(asked: Asked) -> Answer:
        since.append(time.monotonic())
        return Answer(503 if since[-1] - since[0] < seconds else 200)

    return page


def urls_of(site: Site, count: int) -> list[str]:
    """Return so many pages of a site."""
    return [site.url(f"/{number}") for number in range(count)]


def seen(log: list[Arrival], site: Site) -> list[Arrival]:
    """Return the requests for pages of a site."""
    return [a for a in log if a.host == site.host and a.path != "/robots.txt"]


async def test_sites_that_refuse(web: Web) -> None:
    """Rate-limited, down for a while, refusing a burst: no page is lost and none is asked in vain.

    The pace that was refused is not tried again: refusals become rarer and end.  A site that was
    down gets one probe after each wait, and one request at a time when it is back.
    """
    metered = web.site({**NO_ROBOTS, "*": limited(3, 1.0)})
    broken = web.site({**NO_ROBOTS, "*": down(2.5)})
    crowded = web.site({**NO_ROBOTS, "*": [Answer(429, {"Retry-After": "1"}), 200]})
    urls = urls_of(metered, 30) + urls_of(broken, 10) + urls_of(crowded, 40)
    settings = {"RETRY_TIMES": 0, "POLITE_BACKOFF_MIN": 0.5, "CONCURRENT_REQUESTS": 64}
    run = await crawl_here(web, urls, settings)
    assert run.outcome == {url: [200] for url in urls}

    refused = [number for number, a in enumerate(seen(run.arrivals, metered)) if a.status == 429]
    assert 1 <= len(refused) <= 4
    assert refused[-1] < 30  # of at least 31 requests, so none at the end

    answers = [a.status or 0 for a in seen(run.arrivals, broken)]
    assert answers == sorted(answers, reverse=True)  # 503 until it is back, then none any more
    probes = [gap.wait for gap in gaps(run.arrivals) if gap.before.status == 503]
    assert 1 <= len(probes) <= 3
    assert all(wait >= 0.5 * 2**number for number, wait in enumerate(probes))
    assert most_at_once(run.arrivals, broken.host) == 1

    assert [a.status for a in seen(run.arrivals, crowded)] == [429] + [200] * 40


async def test_sites_in_trouble(web: Web) -> None:
    """Resets, errors and timeouts double the delay; recovery stays above the delay that failed."""
    reset, error = Answer(drop=True), Answer(500)
    sites = [
        web.site({**NO_ROBOTS, "*": [200, failure, failure, 200]}) for failure in (reset, error)
    ]
    silent = web.site({**NO_ROBOTS, "*": [200, Answer(hang=True), 200]})
    urls = [url for site in sites for url in urls_of(site, 12)] + urls_of(silent, 3)
    in_time = {url: {"download_timeout": 0.5} for url in urls_of(silent, 3)}
    settings = {
        "RETRY_TIMES": 2,
        "POLITE_DELAY_FACTOR": 1,  # so that the timeout alone does not wait for 5 s
        "POLITE_MIN_DELAY": 0.1,
    }
    asked = [{"url": url, "meta": in_time.get(url, {})} for url in urls]
    run = await crawl_here(web, asked, settings)
    assert run.outcome == {url: [200] for url in urls}
    for site in sites:
        log = seen(run.arrivals, site)
        waits = [after.start_at - before.end_at for before, after in pairwise(log)]
        assert waits[0] >= 0.1
        assert waits[1] >= 0.2
        assert waits[2] >= 0.4
        assert all(wait >= 0.125 for wait in waits[3:])  # 0.1 failed
        assert min(waits[8:]) < waits[2]
    assert seen(run.arrivals, silent)[2].start_at - seen(run.arrivals, silent)[1].end_at >= 0.5
    assert run.stats["polite/trouble/fetches"] == 5


async def test_site_that_refuses_connections(web: Web) -> None:
    """A site that nobody serves for a while is asked ever more rarely, and in full once it is back.

    All of its pages are fetched, one at a time, though each failure spends a retry.
    """

    def begin(asked: Asked) -> int:
        opening.start()  # not sooner: a crawl takes a while until it asks for anything
        return 200

    other = web.site({**NO_ROBOTS, "*": begin})
    closed = web.deserted()
    opening = threading.Timer(4.0, lambda: web.site({"*": 200}, closed.host))
    urls = urls_of(closed, 4)
    asked = [{"url": url, "meta": {"dont_obey_robotstxt": True}} for url in urls]
    settings = {"RETRY_TIMES": 5, "POLITE_DELAY_FACTOR": 1}  # a refused connection takes 0.3 s
    run = await crawl_here(web, [other.url(), *asked], settings)
    opening.join()
    assert run.outcome == {url: [200] for url in [other.url(), *urls]}
    assert 2 <= run.stats["polite/trouble/fetches"] <= 5  # waits of 0.3, 0.6, 1.2, 2.4 s
    assert all(gap.wait >= 0.125 for gap in gaps(run.arrivals) if gap.host == closed.host)
    assert most_at_once(run.arrivals, closed.host) == 1
    assert "polite/outages" not in run.stats
