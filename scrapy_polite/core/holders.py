"""The one record of who has which turn: by host, and by the ticket that it was lent to.

Each change goes by the table of `turn`; nothing is decided here.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from scrapy_polite.core.actions import Ticket
from scrapy_polite.core.turn import Do, Event, State, step
from scrapy_polite.frontier.demand import Want
from scrapy_polite.state.protocol import Lease


@dataclass(slots=True, eq=False)
class Turn:
    """A host's turn that is not idle; instants in the crawl's own clock.

    Args:
        want: what it was asked for.
        lease: None until it is granted.
        ticket: who has it; None until it is lent.
        asked_at: since when its ticket waited.
        held_at: when it was granted.
        began_at: when its request went to the network; None before.
        rest: seconds from its end until the host is due.
    """

    host: str
    want: Want
    state: State = State.IDLE
    lease: Lease | None = None
    ticket: Ticket = None
    asked_at: float = 0.0
    held_at: float = 0.0
    began_at: float | None = None
    rest: float = 0.0

    def on(self, event: Event) -> Do:
        """Go where the table says; return what is to be done."""
        self.state, do = step(self.state, event)
        return do


class Holders:
    """Turns by host and by ticket; see above."""

    def __init__(self) -> None:
        self._by_host: dict[str, Turn] = {}
        self._by_ticket: dict[Ticket, Turn] = {}
        self.asking: dict[Want, int] = dict.fromkeys(Want, 0)  # turns that the store is asked for
        self.for_pages: dict[str, None] = {}  # hosts whose turn no page has taken yet, in order

    def __len__(self) -> int:
        return len(self._by_host)

    def __iter__(self) -> Iterator[Turn]:
        return iter(list(self._by_host.values()))

    def of_host(self, host: str) -> Turn | None:
        """Return a host's turn, None when it is idle."""
        return self._by_host.get(host)

    def of_ticket(self, ticket: Ticket) -> Turn | None:
        """Return the turn that a ticket has, None when it has none."""
        return self._by_ticket.get(ticket)

    def ask(self, host: str, want: Want) -> None:
        """A host's turn is asked for."""
        turn = self._by_host[host] = Turn(host, want)
        turn.on(Event.ASK)
        self.asking[want] += 1

    def answer(self, host: str, event: Event) -> tuple[Turn, Do]:
        """The store answered that; return the turn, and what is to be done."""
        turn = self._by_host.get(host) or Turn(host, Want.PAGE)  # an idle one
        do = turn.on(event)
        self.asking[turn.want] -= 1
        return turn, do

    def lend(self, turn: Turn, ticket: Ticket, asked_at: float) -> None:
        """A ticket gets a turn."""
        turn.on(Event.LEND)
        turn.ticket, turn.asked_at = ticket, asked_at
        self._by_ticket[ticket] = turn
        self.for_pages.pop(turn.host, None)

    def pass_on(self, ticket: Ticket, other: Ticket) -> None:
        """A ticket leaves its turn to another one of the same host."""
        turn = self._by_ticket.pop(ticket)
        turn.on(Event.PASS)
        turn.ticket = other
        self._by_ticket[other] = turn

    def end(self, turn: Turn, event: Event) -> Do:
        """A turn ends; nobody has it, but it is not idle before the store was told."""
        do = turn.on(event)
        self._by_ticket.pop(turn.ticket, None)
        self.for_pages.pop(turn.host, None)
        return do

    def forget(self, host: str) -> None:
        """A host's turn is idle."""
        del self._by_host[host]
