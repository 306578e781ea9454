"""The waiting room: requests that came to the gate without a turn.

They are no pages of the scheduler: media of a pipeline, hops of a robots.txt redirect, whatever is
downloaded through the engine directly.  First come, first served within a host.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from twisted.internet.defer import Deferred

if TYPE_CHECKING:
    from scrapy import Request


@dataclass(slots=True, eq=False)
class Waiter:
    """A request that waits, since when (our monotonic clock), and what fires at its turn."""

    request: Request
    host: str
    hop: bool
    asked_at: float
    turn: Deferred[None] = field(default_factory=Deferred)


class WaitingRoom:
    """Waiters by host; redirect hops of robots.txt have a line of their own, and are counted."""

    def __init__(self) -> None:
        self._lines: dict[tuple[str, bool], dict[int, Waiter]] = {}
        self.hops = 0

    def enter(self, request: Request, host: str, now: float, *, hop: bool) -> Waiter:
        """A request begins to wait."""
        waiter = Waiter(request, host, hop, now)
        self._lines.setdefault((host, hop), {})[id(waiter)] = waiter
        self.hops += hop
        return waiter

    def next(self, host: str, *, hop: bool) -> Waiter:
        """Return the waiter whose turn it is; it leaves the room."""
        waiter = next(iter(self._lines[host, hop].values()))
        self.leave(waiter)
        return waiter

    def leave(self, waiter: Waiter) -> bool:
        """A waiter leaves the room; False when it has left already."""
        place = waiter.host, waiter.hop
        line = self._lines.get(place, {})
        if line.pop(id(waiter), None) is None:
            return False
        self.hops -= waiter.hop
        if not line:
            del self._lines[place]
        return True

    def clear(self, host: str | None = None) -> Iterator[Waiter]:
        """Yield the waiters of a host, or all; they leave the room."""
        for key in list(self._lines):
            if host is None or key[0] == host:
                line = self._lines.pop(key)
                self.hops -= len(line) * key[1]
                yield from line.values()
