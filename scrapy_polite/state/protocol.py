"""The store protocol: the only way to a host's turn.

A store keeps, for each host, when it is due, its state and who has its turn; and for each origin
the last word on robots.txt.  It knows no policy.  Rules for all stores:

- No lease, no fetch.  A host has one lease at a time.
- The only exception a store raises is `StoreUnavailable`.
- Its coroutines await Twisted Deferreds only, so that they run under every reactor and without one;
  those of a store that never waits finish at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

from scrapy_polite.policy.host import HostState
from scrapy_polite.policy.robots_cache import RobotsRecord


class StoreUnavailable(Exception):
    """The store does not answer; nothing is fetched until it does."""


@dataclass(frozen=True, slots=True)
class Lease:
    """The right to one fetch of a host.

    Args:
        host: the host key.
        token: grows with each lease of the host, so that a stale one is known.
        granted_at: instant of the grant in the store's clock.
        state: what is remembered of the host.
    """

    host: str
    token: int
    granted_at: float
    state: HostState


@dataclass(frozen=True, slots=True)
class Acquired:
    """The answer to `acquire`: granted leases, and for the other hosts seconds to wait and why."""

    leases: list[Lease] = field(default_factory=list)
    waits: dict[str, tuple[float, str]] = field(default_factory=dict)


class PolitenessStore(Protocol):
    """What a store must do; see the rules above."""

    shared: bool
    """True when other processes may hold leases too."""

    async def open(self) -> None:
        """Make the store ready."""

    async def close(self) -> None:
        """Let go of everything; leases in hand end as if their fetches had lasted until now."""

    async def acquire(self, hosts: Sequence[str], *, limit: int) -> Acquired:
        """Lease at most *limit* of the hosts that are due."""

    def holds(self, lease: Lease) -> bool:
        """Return whether a lease is still ours beyond doubt, without asking anyone."""

    async def renew(self, leases: Sequence[Lease]) -> list[Lease | None]:
        """Prolong leases; None in place of one that is lost."""

    async def release(self, lease: Lease, *, delay: float, state: HostState) -> bool:
        """End a turn: the host is due *delay* seconds from now, or later if pushed back meanwhile.

        Returns:
            False for a stale lease, which may only push the host's next turn back.
        """

    async def give_back(self, leases: Sequence[Lease]) -> None:
        """End turns that were not used; the hosts stay due as they were."""

    async def get_robots(self, origin: str) -> RobotsRecord | None:
        """Return the origin's record, None without one."""

    async def put_robots(self, record: RobotsRecord) -> None:
        """Keep an origin's record."""
