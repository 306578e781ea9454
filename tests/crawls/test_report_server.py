"""The report of a real crawl says what the server saw.

Clocks of crawl and server differ, but a request is sent after its fetch began and its answer comes
before it ends.  So a fetch is never shorter for the crawl than for the server, and a wait never
longer.  Counts are equal; of seconds `TOLERANCE` a fetch is allowed.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from harness import Answer, Site, Web, crawl_here, gaps, most_at_once, robots_fetches
from harness.record import Arrival
from scrapy_polite.report.figures import HostFigures
from scrapy_polite.report.load import load
from scrapy_polite.report.summary import Report

pytestmark = pytest.mark.crawl

TOLERANCE = 0.5  # seconds; the machine may be busy with other things
SLOW = Answer(delay=0.1, body="x")
ASKED_FOR = {"Retry-After": "1"}
SETTINGS: dict[str, Any] = {"POLITE_ROBOTS_HOLD": 0.3, "POLITE_BACKOFF_MIN": 0.1}


def sites_of(web: Web) -> dict[str, Site]:
    """Return one site for each thing that a report tells."""
    return {
        "plain": web.site({"/robots.txt": 404, "*": SLOW}),
        "asks for a delay": web.site(
            {"/robots.txt": "User-agent: *\nCrawl-delay: 0.7\nDisalow: /x\n", "*": SLOW}
        ),
        "refuses": web.site({"/robots.txt": 404, "/1": [Answer(429, ASKED_FOR), SLOW], "*": SLOW}),
        "disallows": web.site(
            {"/robots.txt": "User-agent: *\nDisallow: /1\nDisallow: /2\n", "*": SLOW}
        ),
        "unreachable": web.site({"/robots.txt": 503, "*": SLOW}),
    }


async def report_and_record(
    web: Web, folder: Path, settings: dict[str, Any] | None = None
) -> tuple[Report, list[Arrival], dict[str, Site]]:
    """Crawl three pages of each site; return report, record and sites."""
    sites = sites_of(web)
    urls = [site.url(f"/{number}") for number in range(3) for site in sites.values()]
    path = folder / "report.json"
    run = await crawl_here(web, urls, {**SETTINGS, "POLITE_REPORT": str(path), **(settings or {})})
    assert f"Politeness report in {path}." in run.log
    return load(path), run.arrivals, sites


def assert_same(host: HostFigures, seen: list[Arrival]) -> None:
    """Compare the figures of a host with what the server saw of it."""
    assert host.fetches == len(seen)
    assert host.robots == len(robots_fetches(seen))
    assert host.pages == host.fetches - host.robots
    assert host.most_at_once == most_at_once(seen)
    assert host.refused == sum(arrival.status in (429, 503) for arrival in seen)
    busy = sum(arrival.duration for arrival in seen)
    assert busy <= host.busy <= busy + TOLERANCE * len(seen)
    waits = [gap.wait for gap in gaps(seen)]
    if waits:
        assert host.least_wait is not None and host.least_ratio is not None
        assert min(waits) - TOLERANCE <= host.least_wait <= min(waits)
        assert 10 <= host.least_ratio <= min(gap.ratio for gap in gaps(seen))
        occupied = sum(arrival.duration for arrival in seen[:-1])
        seconds = seen[-1].start_at - seen[0].start_at
        assert host.share == pytest.approx(occupied / seconds, abs=TOLERANCE / seconds)


async def test_figures_are_those_of_the_server(web: Web, tmp_path: Path) -> None:
    """Per host: requests, robots.txt, most at once, refusals, seconds, waits, share; and names."""
    report, arrivals, sites = await report_and_record(web, tmp_path)
    hosts = {host.host: host for host in report.hosts}
    assert set(hosts) == {arrival.host for arrival in arrivals}
    for host in hosts.values():
        assert_same(host, [arrival for arrival in arrivals if arrival.host == host.host])
    agents = {agent.user_agent: agent.fetches for agent in report.user_agents}
    assert agents == Counter(arrival.headers["user-agent"] for arrival in arrivals)
    assert {agent.from_address for agent in report.user_agents} == {arrivals[0].headers["from"]}
    assert hosts[sites["asks for a delay"].host].crawl_delay == 0.7
    assert hosts[sites["refuses"].host].asked == 1.0


async def test_everything_is_told(web: Web, tmp_path: Path) -> None:
    """Promises kept, what was not fetched and why, and what each robots.txt is like."""
    report, _, sites = await report_and_record(web, tmp_path)
    assert report.verdict == "kept" and report.notes == ()
    assert report.ended == "finished"
    dropped = {item.reason: (item.count, set(item.urls)) for item in report.not_fetched}
    disallows, unreachable = sites["disallows"], sites["unreachable"]
    assert dropped == {
        "disallowed": (2, {disallows.url("/1"), disallows.url("/2")}),
        "unreachable": (3, {unreachable.url(f"/{number}") for number in range(3)}),
    }
    files = {file.origin: file for file in report.robots}
    standing = {name: files[site.url("")].standing for name, site in sites.items()}
    assert standing == {
        "plain": "allowed",
        "asks for a delay": "rules",
        "refuses": "allowed",
        "disallows": "rules",
        "unreachable": "unreachable",
    }
    assert "line 3" in files[sites["asks for a delay"].url("")].problems[0]
    assert files[unreachable.url("")].status == 503
    assert list(tmp_path.iterdir()) == [tmp_path / "report.json"]  # its event log is gone


async def test_impolite_crawl_is_told(web: Web, tmp_path: Path) -> None:
    """A crawl with waits of two fetches breaks the promise of ten, and its log says so."""
    report, _, _ = await report_and_record(web, tmp_path, {"POLITE_DELAY_FACTOR": 2})
    broken = {promise.key for promise in report.promises if promise.verdict == "broken"}
    assert broken == {"ten-times", "share"}


async def test_disobedient_crawl_is_told(web: Web, tmp_path: Path) -> None:
    """Pages that robots.txt disallows are told of also when a request was made exempt from it."""
    site = web.site({"/robots.txt": "User-agent: *\nDisallow: /1\n", "*": SLOW})
    exempt = {"url": site.url("/1"), "meta": {"dont_obey_robotstxt": True}, "priority": -1}
    path = tmp_path / "report.json"
    await crawl_here(web, [site.url("/0"), exempt], {"POLITE_REPORT": str(path)})
    report = load(path)
    [promise] = [item for item in report.promises if item.key == "disallowed"]
    assert (promise.verdict, promise.count) == ("broken", 1)
