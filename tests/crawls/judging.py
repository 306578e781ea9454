"""Tables of robots.txt cases: a host per case, all of them in one crawl.

What became of a case is what the server saw of its page, and what the spider was told.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, TypeAlias

from harness import Crawl, Site, Web, crawl_here
from harness.pages import Page, Pages
from harness.server import loopback_block

Verdict: TypeAlias = tuple[bool, tuple[int | str, ...]]
"""Whether the server saw the page, and what the spider was told of it."""

ALLOWED: Verdict = (True, (200,))
FORBIDDEN: Verdict = (False, ("IgnoreRequest",))
UNREACHABLE: Verdict = (False, ("RobotsUnreachable",))

PAGE = "/private/page"
DISALLOW = "User-agent: *\nDisallow: /private/\n"
ALLOW = "User-agent: *\nAllow: /\n"
MANY: dict[str, Any] = {
    "CONCURRENT_REQUESTS": 64,
    "POLITE_DELAY_FACTOR": 0,
    "POLITE_ROBOTS_HOLD": 0.3,
    "POLITE_BACKOFF_MIN": 0.1,
    "RETRY_ENABLED": False,
}
"""Settings of a crawl of many hosts, whose only subject is the verdict."""


@dataclass(frozen=True, slots=True)
class Case:
    """A site and what its robots.txt means for `PAGE`.

    Args:
        robots: what it answers to /robots.txt.
        verdict: what is to become of the page.
        pages: what else it answers.
    """

    robots: Page
    verdict: Verdict
    pages: Pages | None = None


async def judge(
    web: Web, cases: Mapping[str, Case], settings: Mapping[str, Any] | None = None
) -> tuple[dict[str, Verdict], Crawl, dict[str, Site]]:
    """Crawl a page of each case; return verdicts by case, the crawl, and sites by case.

    Hosts that are no case are off-site.
    """
    hosts = _hosts()
    sites = {
        name: web.site({"*": "", **(case.pages or {}), "/robots.txt": case.robots}, next(hosts))
        for name, case in cases.items()
    }
    run = await crawl_here(
        web,
        [site.url(PAGE) for site in sites.values()],
        {**MANY, **(settings or {})},
        {"allowed_domains": [site.host for site in sites.values()]},
    )
    return {name: verdict(run, site) for name, site in sites.items()}, run, sites


def verdict(run: Crawl, site: Site, path: str = PAGE) -> Verdict:
    """Return what became of a page."""
    return path in paths(run, site), tuple(run.outcome.get(site.url(path), ()))


def expected(cases: Mapping[str, Case]) -> dict[str, Verdict]:
    """Return what is to become of each case."""
    return {name: case.verdict for name, case in cases.items()}


def paths(run: Crawl, site: Site) -> list[str]:
    """Return the paths that a site was asked for, in order."""
    return [seen.path for seen in run.arrivals if seen.host == site.host]


def moved(location: str, status: int = 302) -> dict[str, Any]:
    """Return a redirect."""
    return {"status": status, "headers": {"Location": location}}


def chain(hops: int, last: Page, verdict: Verdict, *, status: int = 301, delay: float = 0) -> Case:
    """Return a site that redirects so many times: from /robots.txt to /1, to /2 and so on.

    Args:
        delay: seconds before each redirect.
    """
    steps = ["/robots.txt", *(f"/{number}" for number in range(1, hops + 1))]
    pages: dict[str, Page] = {
        step: {**moved(onward, status), "delay": delay} for step, onward in pairwise(steps)
    }
    pages[steps[-1]] = last
    return Case(pages.pop("/robots.txt"), verdict, pages)


def _hosts() -> Iterator[str]:
    while True:
        yield from map(str, loopback_block().hosts())
