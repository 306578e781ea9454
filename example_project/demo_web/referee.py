"""The log of the demo web in, figures per site out. It knows the sites' wishes and no crawler.

* *most at once*: the greatest number of requests being answered at one moment.
* *wait / fetch*: the time from the end of a fetch to the next request, over the duration of that
  fetch; 0 when the next request came before the end. The least of a site counts.
* *waits asked*: one for each Retry-After, and for Crawl-delay one between two requests. Kept when
  the next request came no earlier; a site that was not visited again got its wait.
* *forbidden*: requests for a path that the site's owner forbids, whatever robots.txt answered.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from .pages import site_pages
from .sites import SITES, Site

PROMISED_RATIO = 10.0
"""A polite crawl waits at least so many times the duration of the fetch before."""

ROUNDING = 0.001
"""Seconds by which a wait may be short: JSON and float rounding, nothing else."""


@dataclass(frozen=True, slots=True)
class Fetch:
    """One line of the log; moments in monotonic seconds, `retry_after` in seconds or None."""

    host: str
    path: str
    start: float
    end: float
    status: int
    user_agent: str | None = None
    sender: str | None = None
    retry_after: float | None = None


@dataclass(frozen=True, slots=True)
class Figures:
    """What one crawl did to one site: `pages` of the `allowed` ones were got; `least_ratio` is None
    after fewer than two requests."""

    requests: int
    pages: int
    allowed: int
    most_at_once: int
    least_ratio: float | None
    waits_asked: int
    waits_kept: int
    forbidden: int


def read_log(lines: Iterable[str]) -> list[Fetch]:
    """The fetches of a log in the order of their starts.

    Raises:
        ValueError: A line is no JSON.
        TypeError: A line lacks a field or has one too many.
    """
    return sorted((Fetch(**json.loads(line)) for line in lines), key=lambda fetch: fetch.start)


def most_at_once(fetches: Iterable[Fetch]) -> int:
    """The greatest number of fetches in progress at one moment.

    A fetch that starts at the very moment another ends does not overlap it:

    >>> most_at_once([Fetch("h", "/", start, start + 2, 200) for start in (0, 1, 2)])
    2
    """
    edges = sorted(edge for fetch in fetches for edge in ((fetch.start, 1), (fetch.end, -1)))
    now = most = 0
    for _moment, step in edges:
        now += step
        most = max(most, now)
    return most


def gaps(fetches: Sequence[Fetch]) -> list[tuple[float, float]]:
    """(wait, duration of the fetch before) of each request but the first, in seconds.

    Args:
        fetches: One host's, by start. The fetch before is the one that ended last.
    """
    found: list[tuple[float, float]] = []
    before: Fetch | None = None
    for fetch in fetches:
        if before is not None:
            found.append((max(0.0, fetch.start - before.end), before.end - before.start))
        if before is None or fetch.end > before.end:
            before = fetch
    return found


def came_back_early(refusal: Fetch, fetches: Iterable[Fetch]) -> bool:
    """Whether a request came after the refusal and before its Retry-After was over."""
    due = refusal.end + (refusal.retry_after or 0.0) - ROUNDING
    return any(refusal.end <= fetch.start < due for fetch in fetches if fetch is not refusal)


def judge_site(site: Site, fetches: Sequence[Fetch]) -> Figures:
    """The figures of one site.

    Args:
        site: The site and its owner's wishes.
        fetches: The requests that it got, by start.
    """
    waits = gaps(fetches)
    refusals = [fetch for fetch in fetches if fetch.retry_after is not None]
    kept = sum(not came_back_early(refusal, fetches) for refusal in refusals)
    asked = len(refusals)
    if site.crawl_delay is not None:
        asked += len(waits)
        kept += sum(wait >= site.crawl_delay - ROUNDING for wait, _ in waits)
    allowed = {path for path in site_pages(site) if not site.forbids(path)}
    return Figures(
        requests=len(fetches),
        pages=len(allowed & {fetch.path for fetch in fetches if fetch.status == 200}),
        allowed=len(allowed),
        most_at_once=most_at_once(fetches),
        least_ratio=min((wait / max(fetch, 1e-6) for wait, fetch in waits), default=None),
        waits_asked=asked,
        waits_kept=kept,
        forbidden=sum(site.forbids(fetch.path) for fetch in fetches),
    )


def judge(fetches: Sequence[Fetch], sites: Iterable[Site] = SITES) -> dict[str, Figures]:
    """The figures of every site, by its name."""
    return {
        site.name: judge_site(site, [fetch for fetch in fetches if fetch.host == site.address])
        for site in sites
    }


def total(figures: Iterable[Figures]) -> Figures:
    """The figures of a whole crawl: the worst of any site, or the sum where that says more."""
    sites = list(figures)
    return Figures(
        requests=sum(site.requests for site in sites),
        pages=sum(site.pages for site in sites),
        allowed=sum(site.allowed for site in sites),
        most_at_once=max((site.most_at_once for site in sites), default=0),
        least_ratio=min((x.least_ratio for x in sites if x.least_ratio is not None), default=None),
        waits_asked=sum(site.waits_asked for site in sites),
        waits_kept=sum(site.waits_kept for site in sites),
        forbidden=sum(site.forbidden for site in sites),
    )


def broken_promises(figures: Figures) -> list[str]:
    """What a crawl promised and did not keep, a few words each; empty when it kept everything."""
    ratio = figures.least_ratio
    checks = {
        "nothing was fetched": figures.pages == 0,
        f"{figures.most_at_once} requests at once on one host": figures.most_at_once > 1,
        f"a wait of {ratio or 0:.2f} fetches": ratio is not None and ratio < PROMISED_RATIO,
        "an asked wait cut short": figures.waits_kept < figures.waits_asked,
        f"{figures.forbidden} forbidden pages fetched": figures.forbidden > 0,
    }
    return [words for words, broken in checks.items() if broken]
