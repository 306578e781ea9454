"""What a site answers: a path and the time in, an `Answer` out. Nothing here waits or sends.

A site keeps two moments only: when its first visitor came (robots.txt may be out of order for some
seconds from then on), and when the running quota period began.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from .pages import site_pages
from .sites import SITES, Site

HTML = "text/html; charset=utf-8"
PLAIN = "text/plain; charset=utf-8"


@dataclass(frozen=True, slots=True)
class Answer:
    """A response; `retry_after` in whole seconds, None when the site does not ask for a wait."""

    status: int
    body: str
    content_type: str = PLAIN
    retry_after: int | None = None
    location: str | None = None


def kept_path(site: Site) -> str:
    """Where another host keeps this site's robots.txt."""
    return f"/{site.name}/robots.txt"


def robots_answer(site: Site, port: int) -> Answer:
    """The answer to a request for robots.txt once the site is open."""
    if site.robots == "own":
        return Answer(200, site.robots_txt())
    for keeper in SITES:
        if keeper.name == site.robots:
            location = f"http://{keeper.address}:{port}{kept_path(site)}"
            return Answer(301, "It is kept elsewhere.\n", location=location)
    return Answer(404, "We have no robots.txt.\n")


class SiteAnswers:
    """The answers of one site.

    Args:
        site: Whose answers.
        port: The port of the whole web, for redirects.
    """

    def __init__(self, site: Site, port: int) -> None:
        self.site = site
        self._robots = robots_answer(site, port)
        self._pages = {path: Answer(200, page, HTML) for path, page in site_pages(site).items()}
        for other in SITES:
            if other.robots == site.name:
                self._pages[kept_path(other)] = Answer(200, other.robots_txt())
        self._opened_at: float | None = None
        self._period_at = -math.inf
        self._in_period = 0

    def answer(self, path: str, now: float) -> Answer:
        """The answer to a request for `path` at `now` (monotonic seconds)."""
        if self._opened_at is None:
            self._opened_at = now
        if path == "/robots.txt":
            return self._closed(now - self._opened_at) or self._robots
        if path not in self._pages:
            return Answer(404, "There is no such page.\n")
        return self._over_quota(now) or self._pages[path]

    def _closed(self, age: float) -> Answer | None:
        """The refusal while the site is still opening, `age` seconds after its first visitor."""
        left = math.ceil(self.site.opens_after - age)
        if left <= 0:
            return None
        return Answer(503, "We are opening, please come back.\n", retry_after=left)

    def _over_quota(self, now: float) -> Answer | None:
        """Count a page; the refusal when the quota of this period is used up, else None."""
        quota = self.site.quota
        if quota is None:
            return None
        if now >= self._period_at + quota.seconds:
            self._period_at, self._in_period = now, 0
        if self._in_period == quota.pages:
            left = math.ceil(self._period_at + quota.seconds - now)
            return Answer(429, "Too many visitors, please wait.\n", retry_after=left)
        self._in_period += 1
        return None
