"""Who holds a lease, how it ends, and what becomes of one that nobody ends.

Rules: the store knows no policy, so it is told what a fetch costs whose end nobody saw.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from scrapy_polite.policy.host import HostState
from scrapy_polite.state.charge import Charge
from scrapy_polite.state.protocol import Lease

_FRESH = HostState()


@dataclass(frozen=True, slots=True)
class LeaseRules:
    """What becomes of leases that their holders do not end.

    Args:
        max_age: seconds from the grant or the last renewal after which a lease is freed.
        charge: how long the host of a freed lease is left alone; its fetch is taken to be as long
            as the lease is old.
        entering: seconds in which crawls can enter their turns into a file that was begun anew.
    """

    max_age: float = 600.0
    charge: Charge = field(default_factory=Charge)
    entering: float = 10.0


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
