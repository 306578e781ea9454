"""Requests that wait for their host's turn: first come, first served within a host.

They are no pages of the scheduler: media of a pipeline, hops of a robots.txt redirect, whatever is
downloaded through the engine directly.  Hops have a line of their own, and are counted.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from scrapy_polite.core.actions import Ticket


class Waiter(NamedTuple):
    """Who waits, for which host, since when, and whether for a hop of a robots.txt redirect."""

    ticket: Ticket
    host: str
    hop: bool
    asked_at: float


class WaitingList:
    """Waiters by host; who comes twice waits once."""

    def __init__(self) -> None:
        self._lines: dict[tuple[str, bool], dict[Ticket, Waiter]] = {}
        self._places: dict[Ticket, tuple[str, bool]] = {}
        self.hops = 0

    def __len__(self) -> int:
        return len(self._places)

    def __contains__(self, ticket: Ticket) -> bool:
        return ticket in self._places

    def enter(self, waiter: Waiter) -> None:
        """Somebody begins to wait."""
        place = waiter.host, waiter.hop
        self._places[waiter.ticket] = place
        self._lines.setdefault(place, {})[waiter.ticket] = waiter
        self.hops += waiter.hop

    def next(self, host: str, *, hop: bool) -> Waiter:
        """Return whose turn it is, and have it wait no more."""
        return self.leave(next(iter(self._lines[host, hop])))

    def leave(self, ticket: Ticket) -> Waiter:
        """Somebody waits no more."""
        place = self._places.pop(ticket)
        line = self._lines[place]
        waiter = line.pop(ticket)
        self.hops -= waiter.hop
        if not line:
            del self._lines[place]
        return waiter

    def clear(self, host: str | None = None) -> Iterator[Waiter]:
        """Yield the waiters of a host, or all; they wait no more."""
        places = [(host, False), (host, True)] if host is not None else list(self._lines)
        for place in places:
            for ticket in list(self._lines.get(place, ())):
                yield self.leave(ticket)
