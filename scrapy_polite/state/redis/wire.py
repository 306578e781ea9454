"""What goes over the wire: the keys of a holder's world, and the arguments of the scripts.

Rules: instants go as seconds from now, or within packed states and records in the server's clock;
see the head of each Lua file for the order of its arguments.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Sequence

from scrapy_polite.state import packing
from scrapy_polite.state.redis.book import End, Hold, Told, keep_for
from scrapy_polite.state.redis.offset import Offset
from scrapy_polite.state.redis.terms import Terms

Argument = str | bytes | float


class Wire:
    """The keys and arguments of one holder.

    Args:
        prefix: what all keys begin with.
        clock: the holder's own monotonic clock in seconds.
        server_clock: a clock in place of the server's, in seconds; None for the server's own.
    """

    def __init__(
        self,
        prefix: str,
        terms: Terms,
        clock: Callable[[], float],
        server_clock: Callable[[], float] | None = None,
    ) -> None:
        self.prefix = prefix
        self.terms = terms
        self.clock = clock
        self.offset = Offset()
        self.holder = secrets.token_hex(8)
        self.epoch_key = f"{prefix}epoch"
        self._server_clock = server_clock

    def host_key(self, host: str) -> str:
        """Return the key of a host."""
        return f"{self.prefix}host:{host}"

    def robots_key(self, origin: str) -> str:
        """Return the key of a robots record."""
        return f"{self.prefix}robots:{origin}"

    def common(self, epoch: str) -> list[Argument]:
        """Return what every script but enter.lua is told first."""
        terms, charge = self.terms, self.terms.charge
        hold = (self.holder, terms.ttl, terms.heartbeat, terms.turn_kept)
        return [epoch, self._time(), *hold, charge.factor, charge.least, charge.most]

    def enter(self, new: str) -> list[Argument]:
        """Return what enter.lua is told; *new* is the id for a new epoch."""
        return [new, self._time(), self.terms.ttl]

    def acquire(self, limit: int, unknown: Sequence[bool]) -> list[Argument]:
        """Return what acquire.lua is told of hosts, some of which are known to be without us."""
        return [limit, *map(int, unknown)]

    def finish(self, end: End) -> list[Argument]:
        """Return what finish.lua is told of a host."""
        if end.due_at is None:
            return [str(end.lease.token), "", "", 0]
        delay = max(end.due_at - self.clock(), 0.0)
        state = packing.pack(end.state, self.offset.seconds)
        return [str(end.lease.token), delay, state, keep_for(end.state)]

    def register(self, told: Told | None, hold: Hold | None) -> list[Argument]:
        """Return what register.lua is told of a host."""
        now, told = self.clock(), told or Told(0.0)
        return [
            max(told.due_at - now, 0.0),
            packing.pack(told.state, self.offset.seconds),
            "" if told.told_at is None else max(now - told.told_at, 0.0),
            keep_for(told.state),
            "" if hold is None else str(hold.lease.token),
            0.0 if hold is None else max(now - hold.lease.granted_at, 0.0),
        ]

    def _time(self) -> Argument:
        return "" if self._server_clock is None else self._server_clock()
