"""Who holds a lease, how it ends, and what becomes of one that nobody ends.

Rules: the store knows no policy, so it is told by which factor and within which bounds a host is
charged for a fetch whose end nobody saw.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from scrapy_polite.policy.host import HostState
from scrapy_polite.state.protocol import Lease

_FRESH = HostState()


@dataclass(frozen=True, slots=True)
class LeaseRules:
    """What becomes of leases that their holders do not end.

    Args:
        max_age: seconds from the grant or the last renewal after which a lease is freed.
        dead_factor: the host of a freed lease is left alone for this many times the lease's age.
        dead_least: at least so many seconds.
        dead_most: at most so many seconds.
        entering: seconds in which crawls can enter their turns into a file that was begun anew.
    """

    max_age: float = 600.0
    dead_factor: float = 10.0
    dead_least: float = 1.0
    dead_most: float = 600.0
    entering: float = 10.0

    def charge(self, age: float) -> float:
        """Return for how many seconds the host of a freed lease of this age is left alone.

        >>> [LeaseRules().charge(age) for age in (0.0, 5.0, 86400.0)]
        [1.0, 50.0, 600.0]
        """
        return min(max(self.dead_factor * age, self.dead_least), self.dead_most)


class Holder(NamedTuple):
    """One crawl: the sign of life of its process, and a name of its own."""

    process: str
    name: str


class End(NamedTuple):
    """The end of a turn.

    Args:
        due_at: from when on the host may be asked again; None when the turn was not used.
        state: what to remember of the host.
    """

    lease: Lease
    due_at: float | None = None
    state: HostState = _FRESH
