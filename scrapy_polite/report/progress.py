"""How a crawl stands, in figures and in a line: "it looks stuck" has an answer.

The end is estimated from what is queued now: a host is done when it has had its turns, all hosts
are done when the slowest is, and no sooner than the places allow.  Pages that are yet to be found
are in no estimate.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable
from dataclasses import dataclass, replace

from scrapy_polite.report.words import many, span

_WEIGHT = 0.3  # of the last fetch in a host's pace
_UNKNOWN = 2.0  # seconds; the cycle of a host while no fetch at all was measured


class Standing(enum.Enum):
    """What a host is doing."""

    FETCHING = "in flight"
    READY = "ready"
    WAITING = "waiting"
    BLOCKED = "blocked"
    PARKED = "parked"


@dataclass(frozen=True, slots=True)
class Queued:
    """A host with requests.

    Args:
        due_in: seconds until its next turn; 0 when it may go now.
    """

    host: str
    standing: Standing
    due_in: float
    requests: int


@dataclass(frozen=True, slots=True)
class Overview:
    """How a crawl stands.

    Args:
        pages: fetched so far.
        hosts: how many hosts are doing what.
        queued: requests that wait, those of parked hosts left out.
        next_in: seconds until the next fetch may begin; None when nothing waits for its turn.
        end_in: seconds until what is queued is done; None when nothing is.
    """

    pages: int
    hosts: dict[Standing, int]
    queued: int
    next_in: float | None
    end_in: float | None

    def __str__(self) -> str:
        hosts = ", ".join(f"{self.hosts[standing]:,} {standing.value}" for standing in Standing)
        line = f"{many(self.pages, 'page')} done, {self.queued:,} queued; hosts: {hosts}"
        if self.next_in is not None:
            line += f"; next fetch in {self.next_in:.1f} s"
        if self.end_in is not None:
            line += f"; what is queued takes about {span(self.end_in)}"
        return line


@dataclass(frozen=True, slots=True)
class Pace:
    """How fast a host goes: seconds of a fetch, and from one fetch to the next."""

    fetch: float
    cycle: float

    def after(self, duration: float, wait: float) -> Pace:
        """Return the pace after another fetch, newer ones counting more."""
        return Pace(
            self.fetch + _WEIGHT * (duration - self.fetch),
            self.cycle + _WEIGHT * (duration + wait - self.cycle),
        )


class Paces:
    """The pace of each host that is of interest."""

    def __init__(self) -> None:
        self._paces: dict[str, Pace] = {}
        self._usual = Pace(_UNKNOWN / 11, _UNKNOWN)
        self._measured = False

    def add(self, host: str, duration: float, wait: float) -> None:
        """A host was fetched from and is left alone for *wait* seconds, for it is so slow."""
        first = Pace(duration, duration + wait)
        known = self._paces.get(host)
        self._paces[host] = first if known is None else known.after(duration, wait)
        self._usual = self._usual.after(duration, wait) if self._measured else first
        self._measured = True

    def of(self, host: str) -> Pace:
        """Return a host's pace, that of others while it is not known."""
        return self._paces.get(host, self._usual)

    def keep(self, hosts: Iterable[str]) -> None:
        """Forget all other hosts."""
        self._paces = {host: self._paces[host] for host in hosts if host in self._paces}


def overview(pages: int, queued: Iterable[Queued], paces: Paces, places: int) -> Overview:
    """Return how a crawl stands.

    Args:
        pages: fetched so far.
        queued: all hosts with requests.
        places: how many requests may be in flight (CONCURRENT_REQUESTS).
    """
    hosts = dict.fromkeys(Standing, 0)
    total, work, end_in = 0, 0.0, 0.0
    next_in: float | None = None
    for host in queued:
        hosts[host.standing] += 1
        if host.standing is Standing.PARKED or not host.requests:
            continue
        pace = paces.of(host.host)
        total += host.requests
        work += host.requests * pace.fetch
        end_in = max(end_in, host.due_in + (host.requests - 1) * pace.cycle + pace.fetch)
        if host.standing is not Standing.FETCHING:
            next_in = host.due_in if next_in is None else min(next_in, host.due_in)
    result = Overview(pages, hosts, total, next_in, None)
    return replace(result, end_in=max(end_in, work / places)) if total else result
