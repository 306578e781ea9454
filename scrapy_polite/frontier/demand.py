"""What a host would use its turn for: the demand for one host, and the choice among it.

Demand comes from pages queued by origin, from requests that wait at the gate, and from robots.txt
files that somebody asked for.  What goes first: a redirect hop of a robots fetch, a robots.txt, a
request at the gate, a page.  A page is wanted only of an open origin.

Hops come from other sites, and origins are as many as a site names ports or names of this host: so
the two that serve them never have two turns in a row while something else waits, and no operation
looks at all origins.
"""

from __future__ import annotations

import enum
import math
from collections.abc import Callable
from heapq import heapify, heappop, heappush

NEVER = math.inf
_FEW = 16  # entries not worth a sweep


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
    """Demand for one origin of a host, and whether its pages may go; not before it was judged."""

    __slots__ = ("asked", "openness", "queued", "until_at")

    def __init__(self) -> None:
        self.queued = 0  # pages
        self.asked = False  # whether somebody waits for its robots.txt
        self.openness = Openness.HELD
        self.until_at = -NEVER


class Host:
    """Demand for one host, and when it is ready."""

    __slots__ = (
        "_closed",
        "_lapses",
        "entry",
        "for_others",
        "gate",
        "hops",
        "key",
        "needing",
        "opened",
        "origins",
        "ready_at",
        "taken",
    )

    def __init__(self, key: str, ready_at: float) -> None:
        self.key = key
        self.ready_at = ready_at
        self.taken: Want | None = None  # what its turn was taken for
        self.for_others = False  # whether the last turn was for a hop or a robots.txt
        self.hops = 0
        self.gate = 0
        self.origins: dict[str, Origin] = {}
        self.needing: dict[str, None] = {}  # origins that need their robots.txt, in order
        self.opened: dict[str, None] = {}  # origins whose pages may go
        self._lapses: list[tuple[float, str]] = []  # heap of instants until which verdicts stand
        self._closed: list[tuple[float, str]] = []  # the same, of those that are not open
        self.entry: Entry | None = None  # its place in a heap, None in none

    def origin(self, name: str) -> Origin:
        """Return the demand for an origin, to add to it; a new one is to be judged at once."""
        origin = self.origins.get(name)
        if origin is None:
            origin = self.origins[name] = Origin()
            self._add(self._lapses, origin.until_at, name)
        return origin

    def judged(self, name: str, openness: Openness, until_at: float) -> None:
        """Keep what was judged of an origin."""
        origin = self.origins[name]
        if (origin.openness, origin.until_at) == (openness, until_at):
            return
        self._unlist(name)
        origin.openness, origin.until_at = openness, until_at
        if openness is Openness.NEEDS_ROBOTS:
            self.needing[name] = None
        elif openness is Openness.OPEN:
            self.opened[name] = None
        if until_at < NEVER:
            self._add(self._lapses, until_at, name)
            if openness is not Openness.OPEN:
                self._add(self._closed, until_at, name)

    def forget(self, name: str) -> None:
        """An origin has no demand any more."""
        self._unlist(name)
        del self.origins[name]

    def lapsed(self, now: float) -> list[str]:
        """Return the origins whose verdict no longer stands: all of them are to be judged."""
        names = []
        while self._lapses and self._lapses[0][0] <= now:
            until_at, name = heappop(self._lapses)
            if self._is_of(until_at, name):
                self.origins[name].until_at = -NEVER  # whatever is judged now is another verdict
                names.append(name)
        return names

    def want(self) -> tuple[Want | None, str]:
        """Return what the host would use a turn for, and the origin of a robots.txt."""
        own = Want.GATE if self.gate else Want.PAGE if self.opened else None
        if own is not None and self.for_others:
            return own, ""
        if self.hops:
            return Want.HOP, ""
        if self.needing:
            return Want.ROBOTS, next(iter(self.needing))
        return own, ""

    def closed_until_at(self) -> float:
        """Return when the first of its origins that are not open is to be judged again."""
        closed = self._closed
        while closed and not (
            self._is_of(*closed[0]) and self.origins[closed[0][1]].openness is not Openness.OPEN
        ):
            heappop(closed)
        return closed[0][0] if closed else NEVER

    def _is_of(self, until_at: float, name: str) -> bool:
        origin = self.origins.get(name)
        return origin is not None and origin.until_at == until_at

    def _add(self, heap: list[tuple[float, str]], until_at: float, name: str) -> None:
        heappush(heap, (until_at, name))
        if len(heap) > 2 * len(self.origins) + _FEW:  # most of it no longer counts
            heap[:] = {entry for entry in heap if self._is_of(*entry)}
            heapify(heap)

    def _unlist(self, name: str) -> None:
        self.needing.pop(name, None)
        self.opened.pop(name, None)


Entry = tuple[float, int, Host]
