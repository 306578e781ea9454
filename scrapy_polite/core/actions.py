"""What a driver is asked to do.  Each action is answered by an event, at once or later."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

from scrapy_polite.frontier.demand import Want
from scrapy_polite.policy.host import HostState
from scrapy_polite.state.protocol import Lease

Ticket: TypeAlias = Hashable
"""Who has or wants a turn: a request of a crawl, a number in a simulation."""


class Acquire(NamedTuple):
    """Ask the store for the turns of hosts: `granted`, `denied` or `failed` answers for each."""

    want: Want
    hosts: tuple[str, ...]


class GiveBack(NamedTuple):
    """Tell the store that a turn was not used: `stored` answers."""

    lease: Lease


class Release(NamedTuple):
    """Tell the store that a turn ended, and when the host is due: `stored` answers."""

    lease: Lease
    delay: float
    state: HostState


class Admit(NamedTuple):
    """A ticket that waited has its turn: let it go on; `begin` or `give_back` answers."""

    ticket: Ticket


@dataclass(frozen=True, slots=True, eq=False)
class FetchRobots:
    """A turn is for an origin's robots.txt; this is its ticket until a request takes it over."""

    origin: str
    host: str


class SendAway(NamedTuple):
    """A ticket that waited gets no turn any more; *host* parked, or the crawl stops when None."""

    ticket: Ticket
    host: str | None


class OfferPages(NamedTuple):
    """There are turns for pages: have somebody take them with `next_page`."""


Action: TypeAlias = Acquire | GiveBack | Release | Admit | FetchRobots | SendAway | OfferPages
