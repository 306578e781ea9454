"""What a host would use its turn for: the demand for one host, and the choice among it.

Demand comes from pages queued by origin, from requests that wait at the gate, and from robots.txt
files that somebody asked for.  What goes first: a redirect hop of a robots fetch, a robots.txt, a
request at the gate, a page.  A page is wanted only of an open origin.
"""

from __future__ import annotations

import enum
import math
from collections.abc import Callable

NEVER = math.inf


class Want(str, enum.Enum):
    """What a host would use its turn for; each kind has a capacity of its own."""

    HOP = "hop"
    ROBOTS = "robots"
    GATE = "gate"
    PAGE = "page"


class Openness(enum.Enum):
    """Whether pages of an origin may go."""

    OPEN = "open"  # a verdict is known
    NEEDS_ROBOTS = "needs robots"
    HELD = "held"  # robots.txt is being fetched, or is unreachable until the next attempt
    FREE = "free"  # goes without a turn: dropped, or nothing that a clock is for


Judge = Callable[[str, float], tuple[Openness, float]]
"""(origin, now) -> openness, and until when that stands; unless it is OPEN, that is after now."""


class Origin:
    """Demand for one origin of a host, and whether its pages may go."""

    __slots__ = ("asked", "openness", "queued", "until_at")

    def __init__(self) -> None:
        self.queued = 0  # pages
        self.asked = False  # whether somebody waits for its robots.txt
        self.openness = Openness.HELD
        self.until_at = -NEVER

    def stands(self, now: float) -> bool:
        """Return whether the last judgement still counts.

        That a robots.txt is needed does not stand: it changes as soon as somebody fetches it.
        """
        return now < self.until_at and self.openness is not Openness.NEEDS_ROBOTS


class Host:
    """Demand for one host, and when it is ready."""

    __slots__ = ("entry", "gate", "hops", "key", "origins", "ready_at", "taken")

    def __init__(self, key: str, ready_at: float) -> None:
        self.key = key
        self.ready_at = ready_at
        self.taken = False
        self.hops = 0
        self.gate = 0
        self.origins: dict[str, Origin] = {}
        self.entry: Entry | None = None  # its place in a heap, None in none

    def want(self) -> tuple[Want | None, str]:
        """Return what the host would use a turn for, and the origin of a robots.txt."""
        if self.hops:
            return Want.HOP, ""
        has_pages = False
        for name, origin in self.origins.items():
            if origin.openness is Openness.NEEDS_ROBOTS:
                return Want.ROBOTS, name
            has_pages = has_pages or origin.openness is Openness.OPEN
        if self.gate:
            return Want.GATE, ""
        return (Want.PAGE if has_pages else None), ""

    def closed_until_at(self) -> float:
        """Return when the first of its origins that are not open is to be judged again."""
        return min(
            (o.until_at for o in self.origins.values() if o.openness is not Openness.OPEN),
            default=NEVER,
        )


Entry = tuple[float, int, Host]
