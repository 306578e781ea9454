"""`scrapy politeness --plan`: how long a polite crawl takes and where the time goes.

The estimate runs the real frontier on a clock of its own (see `simulator`), with the delays that
the settings ask for.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from scrapy_polite import config
from scrapy_polite.report.words import many, printable, span
from scrapy_polite.simulator import HostPlan, Plan, Simulation, simulate
from scrapy_polite.simulator.result import PLACE, ROBOTS, ROBOTS_PLACE

if TYPE_CHECKING:
    from scrapy.settings import BaseSettings

    from scrapy_polite.report.summary import Report

_REASONS = {
    "duration": "ten times the last fetch",
    "floor": "the least delay (POLITE_MIN_DELAY)",
    "crawl-delay": "Crawl-delay",
    "trouble": "failures of the host",
    "backoff": "refusals of the host",
    ROBOTS: "robots.txt",
    PLACE: "a free place (CONCURRENT_REQUESTS)",
    ROBOTS_PLACE: "a free place for robots.txt (POLITE_ROBOTS_CONCURRENCY)",
}


def equal_hosts(hosts: int, pages: int, latency: float) -> list[HostPlan]:
    """Return that many hosts with so many pages, each of which takes *latency* seconds.

    Raises:
        ValueError: a number is out of range.
    """
    if hosts < 1:
        raise ValueError(f"--hosts is {hosts}: write a whole number of at least 1.")
    return [HostPlan(pages=pages, latency=latency, robots_latency=latency)] * hosts


def hosts_like(report: Report) -> list[HostPlan]:
    """Return hosts like those of a crawl: as many pages, as long fetches, the same Crawl-delay.

    Raises:
        ValueError: the report lists no host that was fetched from.
    """
    hosts = [host for host in report.hosts if host.fetches]
    if not hosts:
        raise ValueError(f"{printable(report.source)} has no fetches to plan by.")
    return [
        HostPlan(
            pages=host.pages + host.media + host.remains,
            latency=host.busy / host.fetches,
            robots_latency=host.busy / host.fetches if host.robots else None,
            crawl_delay=host.crawl_delay,
        )
        for host in hosts
    ]


def estimate(
    hosts: Sequence[HostPlan], places: int, settings: BaseSettings, report: Report | None
) -> str:
    """Return in words how long a crawl of these hosts takes.

    Args:
        places: fetches at once.
        report: the crawl that the hosts are like; None without one.

    Raises:
        ValueError: a number or setting is bad.
    """
    rules = config.read_rules(settings)
    robots_places = config.count(settings, "POLITE_ROBOTS_CONCURRENCY")
    crawl = simulate(Plan(hosts, places=places, robots_places=robots_places, rules=rules))
    pages = sum(host.pages for host in hosts)
    lines = [
        f"{many(pages, 'page')} of {many(len(hosts), 'host')}, at most {places} at once: "
        f"about {span(crawl.seconds)}."
    ]
    if report is not None:
        left = sum(host.remains for host in report.hosts)
        more = f"; {many(left, 'more page')} were left" if left else ""
        lines.append(f"The crawl itself took {span(report.seconds)}{more}.")
    return "\n".join([*lines, *_where(crawl)])


def _where(crawl: Simulation) -> list[str]:
    """Return where the time of the hosts goes."""
    total = sum(crawl.waits.values())
    lines = [f"{crawl.busy:.0%} of the time of the places is in use."]
    if total:
        lines.append("Hosts wait for")
    for reason, seconds in sorted(crawl.waits.items(), key=lambda item: -item[1]):
        lines.append(f"  {seconds / total:4.0%}  {_REASONS.get(reason, reason)}")
    return lines
