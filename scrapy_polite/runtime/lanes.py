"""Which clock and which robots.txt a request belongs to.

A *lane* is a queue within a host.  Pages that obey robots.txt wait in the lane of their origin, so
that each is judged by its own file; pages exempt from it have a lane beside; what is not http(s)
has no host and no clock.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from scrapy_polite.policy.origin import origin_of
from scrapy_polite.runtime.grouping import Grouping

if TYPE_CHECKING:
    from scrapy import Request

EXEMPT = "-"  # begins the key of a lane that needs no verdict
CLOCKLESS = ""  # key of the lane, and of the host, of what no clock is for
ROBOTS_META = "polite_robots"  # marks our own robots.txt requests


class Lane(NamedTuple):
    """Host key (whose clock) and lane key (an origin, or one of the above)."""

    host: str
    key: str


def is_lane(key: str) -> bool:
    """Return whether a text is a lane key: nothing, or an origin, exempt or not.

    >>> is_lane("https://site.example"), is_lane("-http://h:8080"), is_lane("site.example")
    (True, True, False)
    """
    return key == CLOCKLESS or "://" in key


class Lanes:
    """Finds the lane of a request.

    Args:
        obey: whether robots.txt is obeyed at all.
        grouping: tells whose clock a URL is under.
    """

    def __init__(self, *, obey: bool, grouping: Grouping | None = None) -> None:
        self._obey = obey
        self.grouping = grouping or Grouping()
        self.group = self.grouping.key_of

    def lane_of(self, request: Request) -> Lane:
        """Return a request's lane."""
        url = request.url
        host, origin = self.group(url), origin_of(url)
        if host is None or origin is None:
            return Lane(CLOCKLESS, CLOCKLESS)
        return Lane(host, EXEMPT + origin if self.is_exempt(request, origin) else origin)

    def is_exempt(self, request: Request, origin: str) -> bool:
        """Return whether a request needs no verdict; /robots.txt itself is always allowed.

        Source: RFC 9309 section 2.2.2.
        """
        meta = request.meta
        if not self._obey or meta.get("dont_obey_robotstxt") or ROBOTS_META in meta:
            return True
        return request.url.endswith("/robots.txt") and request.url.count("/") == 3

    def host_of(self, key: str) -> str:
        """Return the host key of a lane key, as this run groups hosts."""
        return self.group(key.removeprefix(EXEMPT) + "/") or CLOCKLESS

    def unresolved(self, key: str) -> str | None:
        """Return the name that has to be resolved before a lane's host key is known."""
        return self.grouping.unresolved(key.removeprefix(EXEMPT) + "/")

    async def settle(self, request: Request) -> None:
        """Wait until the lane of a request is known."""
        name = self.grouping.unresolved(request.url)
        if name is not None:
            await self.grouping.resolve(name)

    def needs_no_verdict(self, key: str) -> bool:
        """Return whether a lane key is of pages that go without a verdict.

        A lane on disk has the key that an earlier run gave it, and that run may have obeyed.
        """
        return not self._obey or key.startswith(EXEMPT)
