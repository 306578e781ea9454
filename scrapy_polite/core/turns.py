"""All turns of a crawl: who gets which, and what is to be done about it.

Rules:
- What happens is told by calling a method; what is to be done because of it is in `todo`, in order,
  until the driver takes it from there.  Nothing is done here, and nothing is called back.
- Every turn goes by the table of `turn`; what the crawl as a whole may do, by that of `phase`.
- A turn that was granted has an owner at any time: the line of pages, or one ticket.
- Which host is next, and for what, is the frontier's to say.
"""

from __future__ import annotations

from collections import deque

from scrapy_polite.core.actions import (
    Acquire,
    Action,
    Admit,
    FetchRobots,
    GiveBack,
    OfferPages,
    Release,
    SendAway,
    Ticket,
)
from scrapy_polite.core.holders import Holders, Turn
from scrapy_polite.core.phase import Change, Permit, Phase
from scrapy_polite.core.turn import Do, Event, State, UnexpectedEvent
from scrapy_polite.core.waiting import Waiter, WaitingList
from scrapy_polite.frontier.hosts import NEVER, Frontier, Judge, Want
from scrapy_polite.policy.host import HostState
from scrapy_polite.state.protocol import Lease

STORE_RETRY = 1.0  # seconds until a host is tried again whose store did not answer
TROUBLE_RETRY = 60.0  # seconds until a host's next turn after one that could not be used
ASKED_AHEAD = 64  # turns for pages that are asked for at once, where places have no limit


class Turns:
    """The turns of one crawl; see the rules above.

    Args:
        judge: tells the openness of an origin.
    """

    def __init__(self, judge: Judge) -> None:
        self.frontier = Frontier(judge)
        self.todo: deque[Action] = deque()
        self._permit = Permit()
        self.parked: dict[str, float] = {}  # host key -> until when it asked to be left alone
        self.waiting = WaitingList()
        self._holders = Holders()

    def __len__(self) -> int:
        return len(self._holders)

    @property
    def phase(self) -> Phase:
        """What the crawl may do."""
        return self._permit.phase

    def turn_of(self, ticket: Ticket) -> Turn | None:
        """Return the turn that a ticket has, None when it has none."""
        return self._holders.of_ticket(ticket)

    def turn_of_host(self, host: str) -> Turn | None:
        """Return the turn of a host, None when it is idle."""
        return self._holders.of_host(host)

    # who is next

    def tick(self, now: float, robots_places: int) -> None:
        """Ask for the turns that need no scheduler, and offer those for pages.

        Args:
            robots_places: how many more robots.txt fetches may be in flight.
        """
        frontier = self.frontier
        frontier.next_at(now)  # what is due becomes ready
        for want in (Want.HOP, Want.ROBOTS):
            if frontier.has_ready(want):
                asking = self._holders.asking[Want.HOP] + self._holders.asking[Want.ROBOTS]
                # A hop that waits holds no place, or hosts that redirect to a slow one took all.
                self._ask(want, now, robots_places + self.waiting.hops - asking)
        # As with Scrapy itself, direct downloads need no place: pages that wait may hold all.
        self._ask(Want.GATE, now, len(frontier))
        if self._holders.for_pages or frontier.has_ready(Want.PAGE):
            self.todo.append(OfferPages())

    def ask_for_pages(self, now: float, places: int) -> None:
        """Ask for turns for pages, as many as there are free places for."""
        coming = len(self._holders.for_pages) + self._holders.asking[Want.PAGE]
        self._ask(Want.PAGE, now, min(places - coming, ASKED_AHEAD))

    def _ask(self, want: Want, now: float, places: int) -> None:
        limit, hosts = self._permit.limit(places), list[str]()
        while len(hosts) < limit and (host := self.frontier.take(want, now)) is not None:
            hosts.append(host)
            self._holders.ask(host, want)
        if hosts:
            self._permit.spend(hosts)
            self.todo.append(Acquire(want, tuple(hosts)))

    # what the store says

    def granted(self, lease: Lease, now: float) -> None:
        """The store gave a turn."""
        turn, do = self._holders.answer(lease.host, Event.GRANT)
        turn.lease, turn.held_at = lease, now
        self._do(turn, do)
        if turn.state is State.GRANTED:
            self._use(turn, now)

    def denied(self, host: str, wait: float, now: float) -> None:
        """The store says that a host is due in *wait* seconds."""
        self._came_to_nothing(host, Event.DENY, wait, now)

    def failed(self, host: str, now: float) -> None:
        """The store does not answer."""
        self._came_to_nothing(host, Event.FAIL, STORE_RETRY, now)

    def stored(self, host: str, now: float) -> None:
        """The store was told of the end of a host's turn, or would not hear of it."""
        turn = self._of(host)
        turn.on(Event.STORE)
        self._rest(turn, now)

    def _came_to_nothing(self, host: str, event: Event, wait: float, now: float) -> None:
        turn, _ = self._holders.answer(host, event)
        turn.rest = wait
        self._permit.end(host, Change.RETURN)
        self._rest(turn, now)

    def _rest(self, turn: Turn, now: float) -> None:
        self._holders.forget(turn.host)
        self.frontier.put_back(turn.host, now + turn.rest, now)

    def _of(self, host: str) -> Turn:
        turn = self._holders.of_host(host)
        if turn is None:
            raise UnexpectedEvent(f"{host} has no turn")
        return turn

    # who uses a turn

    def _use(self, turn: Turn, now: float) -> None:
        """Use a granted turn for what its host wants now."""
        host = turn.host
        want, origin = self.frontier.want(host, now)
        if want is None:
            self._permit.end(host, Change.RETURN)
            self._end(turn, Event.GIVE_BACK)
        elif want is Want.PAGE:
            self._holders.for_pages[host] = None
            self.todo.append(OfferPages())
        elif want is Want.ROBOTS:
            ticket = FetchRobots(origin, host)
            self._holders.lend(turn, ticket, now)
            self.todo.append(ticket)
        else:
            waiter = self.waiting.next(host, hop=want is Want.HOP)
            self.frontier.waited(host, now, hop=waiter.hop)
            self._holders.lend(turn, waiter.ticket, waiter.asked_at)
            self.todo.append(Admit(waiter.ticket))

    def next_page(self, now: float) -> str | None:
        """Return the host whose turn is to be lent to a page next, None when there is none."""
        while self._holders.for_pages:
            host = next(iter(self._holders.for_pages))
            if self.frontier.want(host, now)[0] is Want.PAGE:
                return host
            del self._holders.for_pages[host]
            self._use(self._of(host), now)
        return None

    def lend(self, host: str, ticket: Ticket, now: float) -> None:
        """A page was found for the turn of a host."""
        self._holders.lend(self._of(host), ticket, now)

    def pass_on(self, ticket: Ticket, other: Ticket) -> None:
        """One that has a turn leaves it to another of the same host."""
        self._holders.pass_on(ticket, other)

    # requests at the gate

    def enter(self, ticket: Ticket, host: str, now: float, *, hop: bool = False) -> None:
        """A ticket wants its host's turn, and waits for it.

        One that was lent to another request of the host, and is not on the wire, is passed on:
        that request may wait for this one.
        """
        turn = self._holders.of_host(host)
        if self._permit.phase is Phase.STOPPING or host in self.parked:
            self.todo.append(SendAway(ticket, host if host in self.parked else None))
        elif turn is not None and turn.state is State.LENT and not _is_robots(turn.ticket):
            self.pass_on(turn.ticket, ticket)
            self.todo.append(Admit(ticket))
        else:
            self.waiting.enter(Waiter(ticket, host, hop, now))
            self.frontier.wait(host, now, hop=hop)

    def begin(self, ticket: Ticket, now: float) -> bool:
        """A ticket goes to the network; False when it has no turn and must not."""
        turn = self._holders.of_ticket(ticket)
        if turn is None or turn.state is not State.LENT:
            return False
        turn.on(Event.BEGIN)
        turn.began_at = now
        return True

    # the end of a turn

    def leave(self, ticket: Ticket, rest: float, state: HostState) -> None:
        """A ticket left the network; its host is due *rest* seconds from now."""
        turn = self._holders.of_ticket(ticket)
        if turn is None or turn.lease is None:
            raise UnexpectedEvent("a ticket left that has no turn")
        self._permit.end(turn.host, Change.FAIL)
        turn.rest = rest
        turn.lease = Lease(turn.host, turn.lease.token, turn.lease.granted_at, state)
        self._end(turn, Event.LEAVE)

    def give_back(self, ticket: Ticket, now: float) -> None:
        """A ticket has no use for a turn any more: it has one, waits for one, or neither."""
        if ticket in self.waiting:
            waiter = self.waiting.leave(ticket)
            self.frontier.waited(waiter.host, now, hop=waiter.hop)
        elif (turn := self._holders.of_ticket(ticket)) is not None:
            if turn.state is State.FLYING:
                turn.on(Event.GIVE_BACK)
                return
            self._permit.end(turn.host, Change.RETURN)
            self._end(turn, Event.GIVE_BACK)

    def spoil(self, host: str) -> None:
        """An error kept a host's turn from being used."""
        self._permit.end(host, Change.RETURN)
        self._end(self._of(host), Event.SPOIL)

    def _end(self, turn: Turn, event: Event) -> None:
        self._do(turn, self._holders.end(turn, event))

    def _do(self, turn: Turn, do: Do) -> None:
        """Put down what the table says is to be done with a lease."""
        lease = turn.lease
        assert lease is not None
        if do is Do.GIVE_BACK:
            self.todo.append(GiveBack(lease))
        elif do is Do.CHARGE:
            turn.rest = TROUBLE_RETRY
            self.todo.append(Release(lease, turn.rest, lease.state))
        elif do is Do.RELEASE:
            self.todo.append(Release(lease, turn.rest, lease.state))

    # the whole crawl

    def freeze(self) -> None:
        """Begin nothing new but what `probe` allows."""
        self._permit.change(Change.FREEZE)
        self._unwant()

    def probe(self) -> None:
        """While frozen: have one turn asked for, unless one is under way."""
        self._permit.change(Change.PROBE)

    def thaw(self) -> None:
        """Go on."""
        self._permit.change(Change.THAW)

    def park(self, host: str, until_at: float, now: float) -> None:
        """Ask a host no more in this run; its pages stay queued, who waits is sent away."""
        self.parked[host] = until_at
        self.frontier.postpone(host, NEVER, now)
        self._send_away(now, host)

    def stop(self, now: float) -> None:
        """Send away who waits, and begin nothing new."""
        self._permit.change(Change.STOP)
        self._send_away(now, None)
        self._unwant()

    def _unwant(self) -> None:
        for turn in self._holders:
            if turn.state is State.GRANTED:
                self._end(turn, Event.UNWANT)
            else:
                turn.on(Event.UNWANT)

    def _send_away(self, now: float, host: str | None) -> None:
        for waiter in list(self.waiting.clear(host)):
            self.frontier.waited(waiter.host, now, hop=waiter.hop)
            self.todo.append(SendAway(waiter.ticket, host))


def _is_robots(ticket: Ticket) -> bool:
    return isinstance(ticket, FetchRobots)
