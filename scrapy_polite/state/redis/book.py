"""What one holder knows by itself: its turns, and what it told of its hosts.

Rules:

- It decides and never waits; instants are in the holder's own clock.
- A turn is good until a ttl after the last time that the server certainly heard of it, which is
  counted from before the question.
- What was told of a host is remembered until it has nothing left to tell, for a server that loses
  its data must hear it again.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

from scrapy_polite.policy.backoff import MEMORY, QUIET, Backoff
from scrapy_polite.policy.host import HostState
from scrapy_polite.state.protocol import Lease
from scrapy_polite.state.redis.terms import Terms

logger = logging.getLogger(__name__)
_CALM = Backoff()
_FRESH = HostState()
_SWEEP_LEAST = 1024  # hosts; with more, those that are past are looked for when they have doubled


class End(NamedTuple):
    """The end of a turn.

    Args:
        due_at: from when on the host may be asked again; None when the turn was not used.
        state: what to remember of the host.
    """

    lease: Lease
    due_at: float | None = None
    state: HostState = _FRESH


@dataclass(slots=True)
class Hold:
    """A turn in hand.

    Args:
        aged_from_at: what its age is counted from.
        good_until_at: until when nobody else can have it.
        silent: whether it became too old to be renewed.
        ending: whether the server is being told that it is over.
    """

    lease: Lease
    aged_from_at: float
    good_until_at: float
    silent: bool = False
    ending: bool = False


@dataclass(slots=True)
class Told:
    """What was told of a host.

    Args:
        told_at: when its state was told; None when only the host's turn was pushed back.
    """

    due_at: float
    state: HostState = _FRESH
    told_at: float | None = None


def keep_for(state: HostState) -> float:
    """Return for how many seconds after its due time a host's state has something to tell.

    >>> keep_for(HostState(duration=0.5))
    1800.0
    """
    return QUIET if state.backoff == _CALM else MEMORY


class Book:
    """The turns and hosts of one holder; see the rules above."""

    def __init__(self, terms: Terms) -> None:
        self._terms = terms
        self._holds: dict[str, Hold] = {}
        self._told: dict[str, Told] = {}
        self._sweep_at = _SWEEP_LEAST

    def granted(self, lease: Lease, asked_at: float) -> None:
        """A turn was granted, some time after *asked_at*."""
        self._holds[lease.host] = Hold(lease, asked_at, asked_at + self._terms.ttl)

    def hosts_held(self) -> set[str]:
        """Return the hosts of the turns in hand, good or not."""
        return set(self._holds)

    def is_good(self, lease: Lease, now: float) -> bool:
        """Return whether a turn is ours beyond doubt at an instant."""
        hold = self.hold(lease)
        return hold is not None and now < hold.good_until_at

    def hold(self, lease: Lease) -> Hold | None:
        """Return the turn of a lease, None when it is not in hand."""
        hold = self._holds.get(lease.host)
        return hold if hold is not None and hold.lease.token == lease.token else None

    def holds(self) -> list[Hold]:
        """Return all turns in hand."""
        return list(self._holds.values())

    def renewed(self, lease: Lease, asked_at: float) -> None:
        """The server heard of a turn, some time after *asked_at*."""
        hold = self.hold(lease)
        if hold is not None:
            hold.good_until_at = asked_at + self._terms.ttl

    def rejuvenate(self, leases: Iterable[Lease], now: float) -> None:
        """The age of these turns counts from now on."""
        for hold in filter(None, map(self.hold, leases)):
            hold.aged_from_at, hold.silent = now, False

    def drop(self, lease: Lease) -> None:
        """A turn is over."""
        if self.hold(lease) is not None:
            del self._holds[lease.host]

    def lose(self, lease: Lease) -> None:
        """A turn is over before we ended it."""
        hold = self.hold(lease)
        if hold is not None and not hold.ending:
            del self._holds[lease.host]
            logger.warning("The turn of %s was lost: it may be another's by now", lease.host)

    def grown_old(self, now: float) -> list[Hold]:
        """Return turns that just became too old to be renewed."""
        old = [
            hold
            for hold in self._holds.values()
            if not hold.silent and now - hold.aged_from_at > self._terms.max_age
        ]
        for hold in old:
            hold.silent = True
        return old

    def ending(self, end: End, now: float) -> None:
        """A turn ends as the holder says; whether the server knows is another matter."""
        hold = self.hold(end.lease)
        if hold is not None:
            hold.ending = True
        if end.due_at is None:
            return
        told = self._told.setdefault(end.lease.host, Told(end.due_at))
        told.due_at = max(told.due_at, end.due_at)
        if hold is not None:
            told.state, told.told_at = end.state, now
        if len(self._told) > self._sweep_at:
            self._sweep(now)

    def hosts_to_tell(self, now: float) -> Iterator[str]:
        """Yield the hosts of which a server that lost everything should hear."""
        self._sweep(now)
        yield from dict.fromkeys((*self._told, *self._holds))

    def known_of(self, host: str) -> tuple[Told | None, Hold | None]:
        """Return what was told of a host, and its turn in hand."""
        return self._told.get(host), self._holds.get(host)

    def _sweep(self, now: float) -> None:
        past = [
            host
            for host, told in self._told.items()
            if now - told.due_at > (0.0 if told.state.backoff == _CALM else MEMORY)
        ]
        for host in past:
            del self._told[host]
        self._sweep_at = max(_SWEEP_LEAST, 2 * len(self._told))
