"""Turns in random order: requests that come, give up and fly, a store that answers late or not.

The test is the driver: it keeps what it is asked to do in a heap of open questions and answers them
in any order.  A model server counts who is there.
"""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from scrapy_polite.core.actions import (
    Acquire,
    Action,
    Admit,
    FetchRobots,
    GiveBack,
    OfferPages,
    Release,
    SendAway,
)
from scrapy_polite.core.phase import Phase
from scrapy_polite.core.turn import State, UnexpectedEvent
from scrapy_polite.core.turns import Turns
from scrapy_polite.frontier.hosts import NEVER, Openness, Want
from scrapy_polite.policy.host import HostState
from scrapy_polite.state.protocol import Lease

HOSTS = ("a", "b", "c")
PLACES = 2
hosts = st.sampled_from(HOSTS)


class Driver(RuleBasedStateMachine):
    """Does what the turns ask for, some time; checks what a site owner would."""

    def __init__(self) -> None:
        super().__init__()
        self.now = 1000.0
        self.known: set[str] = set()  # origins whose robots.txt is known; an origin is its host
        self.fetching: set[str] = set()
        self.turns = Turns(self.judge)
        self.open: list[Action] = []  # questions to the store
        self.pages: Counter[str] = Counter()
        self.tickets = 0
        self.waiting: dict[str, str] = {}  # ticket -> host
        self.displaced: dict[str, str] = {}  # had a turn, and will come for another
        self.admitted: dict[str, str] = {}
        self.flying: dict[str, str] = {}
        self.leased: Counter[str] = Counter()  # by the store
        self.due_at = dict.fromkeys(HOSTS, 0.0)
        self.tokens = 0

    def judge(self, origin: str, now: float) -> tuple[Openness, float]:
        if origin in self.known:
            return Openness.OPEN, NEVER
        return (Openness.HELD if origin in self.fetching else Openness.NEEDS_ROBOTS), NEVER

    def ticket(self, kind: str) -> str:
        self.tickets += 1
        return f"{kind} {self.tickets}"

    def perform(self) -> None:
        while self.turns.todo:
            action = self.turns.todo.popleft()
            if isinstance(action, Acquire | Release | GiveBack):
                self.open.append(action)
            elif isinstance(action, FetchRobots):
                self.fetch_robots(action)
            elif isinstance(action, Admit):
                ticket = str(action.ticket)
                host = self.waiting.pop(ticket)
                taken = [t for t, h in self.admitted.items() if h == host]
                for other in taken:  # a turn that was passed on
                    self.displaced[other] = self.admitted.pop(other)
                self.admitted[ticket] = host
            elif isinstance(action, SendAway):
                del self.waiting[str(action.ticket)]
            else:
                assert isinstance(action, OfferPages)

    def fetch_robots(self, action: FetchRobots) -> None:
        ticket = self.ticket("robots")
        self.fetching.add(action.origin)
        self.turns.pass_on(action, ticket)
        self.admitted[ticket] = action.host
        self.turns.frontier.judged(action.host, action.origin, self.now)

    # what comes

    @initialize(known=st.sets(hosts))
    def begin_crawl(self, known: set[str]) -> None:
        """Some robots.txt are known from before."""
        self.known = known

    @rule(host=hosts, count=st.integers(1, 3))
    def find_pages(self, host: str, count: int) -> None:
        """Pages are queued."""
        self.pages[host] += count
        self.turns.frontier.push(host, host, self.now, count)

    @rule(host=hosts, hop=st.booleans())
    def come_to_the_gate(self, host: str, hop: bool) -> None:
        """A request wants its host's turn."""
        ticket = self.ticket("gate")
        self.waiting[ticket] = host
        self.turns.enter(ticket, host, self.now, hop=hop)
        self.perform()

    @precondition(lambda self: self.displaced)
    @rule(data=st.data())
    def come_again(self, data: st.DataObject) -> None:
        """A request whose turn another one took comes to the gate."""
        ticket = data.draw(st.sampled_from(sorted(self.displaced)))
        self.waiting[ticket] = host = self.displaced.pop(ticket)
        self.turns.enter(ticket, host, self.now, hop=ticket.startswith("robots"))
        self.perform()

    @rule()
    def tick(self) -> None:
        """The driver hands out what can be handed out."""
        self.turns.tick(self.now, PLACES - len(self.fetching))
        self.perform()

    @rule()
    def take_pages(self) -> None:
        """The engine asks for pages."""
        self.turns.ask_for_pages(self.now, PLACES)
        self.perform()
        while (host := self.turns.next_page(self.now)) is not None:
            self.perform()
            ticket = self.ticket("page")
            self.turns.lend(host, ticket, self.now)
            self.pages[host] -= 1
            self.turns.frontier.popped(host, host, self.now)
            self.admitted[ticket] = host
        self.perform()

    # the store

    @precondition(lambda self: self.open)
    @rule(data=st.data(), answers=st.sampled_from(["yes", "yes", "yes", "later", "not at all"]))
    def store(self, data: st.DataObject, answers: str) -> None:
        """The store answers one question, in any order."""
        action = self.open.pop(data.draw(st.integers(0, len(self.open) - 1)))
        if isinstance(action, Acquire):
            for host in action.hosts:
                self.answer(host, answers)
        else:
            assert isinstance(action, Release | GiveBack)
            host = action.lease.host
            delay = action.delay if isinstance(action, Release) else 0.0
            self.leased[host] -= 1
            self.due_at[host] = max(self.due_at[host], self.now + delay)
            self.turns.stored(host, self.now)
        self.perform()

    def answer(self, host: str, answers: str) -> None:
        assert not self.leased[host], "nobody asks for what is in hand"
        if answers == "not at all":
            self.turns.failed(host, self.now)
        elif answers == "later" or self.due_at[host] > self.now:
            self.turns.denied(host, max(self.due_at[host] - self.now, 1.0), self.now)
        else:
            self.leased[host] += 1
            self.tokens += 1
            self.turns.granted(Lease(host, self.tokens, self.now, HostState()), self.now)

    # what requests do

    @precondition(lambda self: self.admitted)
    @rule(data=st.data())
    def go(self, data: st.DataObject) -> None:
        """A request that was let through reaches the network."""
        ticket = data.draw(st.sampled_from(sorted(self.admitted)))
        host = self.admitted.pop(ticket)
        assert self.turns.begin(ticket, self.now), "who was admitted may go"
        self.flying[ticket] = host
        assert self.now >= self.due_at[host], "never early"

    @precondition(lambda self: self.flying)
    @rule(data=st.data(), rest=st.sampled_from((1.0, 7.0, 600.0)))
    def come_back(self, data: st.DataObject, rest: float) -> None:
        """A fetch ends."""
        ticket = data.draw(st.sampled_from(sorted(self.flying)))
        host = self.flying.pop(ticket)
        self.turns.leave(ticket, rest, HostState())
        if ticket.startswith("robots"):
            self.learn(host)
        self.perform()

    def learn(self, host: str) -> None:
        self.fetching.discard(host)
        self.known.add(host)
        self.turns.frontier.judged(host, host, self.now)

    @precondition(lambda self: self.waiting or self.admitted or self.flying)
    @rule(data=st.data())
    def give_up(self, data: st.DataObject) -> None:
        """A request is cancelled, wherever it is."""
        everyone = {**self.waiting, **self.admitted, **self.flying}
        ticket = data.draw(st.sampled_from(sorted(everyone)))
        self.turns.give_back(ticket, self.now)
        for place in (self.waiting, self.admitted):
            place.pop(ticket, None)
        if ticket.startswith("robots") and ticket not in self.flying:
            self.learn(everyone[ticket])
        self.perform()

    @rule(ticket=st.sampled_from(("page 1", "gate 1", "robots 1", "nobody")))
    def give_back_twice(self, ticket: str) -> None:
        """Who is done with may say so again: it has nothing, and changes nothing."""
        everyone = {**self.waiting, **self.displaced, **self.admitted, **self.flying}
        if ticket not in everyone:
            before = len(self.turns)
            self.turns.give_back(ticket, self.now)
            assert not self.turns.begin(ticket, self.now)
            assert (len(self.turns), len(self.turns.todo)) == (before, 0)

    # the crawl

    @rule(change=st.sampled_from(("freeze", "probe", "thaw")))
    def network(self, change: str) -> None:
        """The network is gone, is tried, is there again."""
        if change != "probe" or self.turns.phase is not Phase.RUNNING:
            getattr(self.turns, change)()
        self.perform()

    @rule(seconds=st.sampled_from((1.0, 7.0, 60.0, 600.0)))
    def pass_time(self, seconds: float) -> None:
        """Time goes by."""
        self.now += seconds

    # what must hold

    @invariant()
    def one_of_a_host_at_a_time(self) -> None:
        """A host has one lease, one request that may go, one on the wire; all of it together."""
        assert max(self.leased.values(), default=0) <= 1
        busy = Counter([*self.admitted.values(), *self.flying.values()])
        assert max(busy.values(), default=0) <= 1
        assert all(self.leased[host] for host in busy)

    @invariant()
    def everyone_is_somewhere(self) -> None:
        """Who waits is on the list, who was admitted has a turn that is lent, who flies one too."""
        assert len(self.turns.waiting) == len(self.waiting)
        for tickets, state in ((self.admitted, State.LENT), (self.flying, State.FLYING)):
            for ticket, host in tickets.items():
                turn = self.turns.turn_of(ticket)
                assert turn is not None and (turn.host, turn.state) == (host, state)

    @invariant()
    def a_frozen_crawl_asks_one_at_most(self) -> None:
        """While the network is gone no more than the probe is asked for."""
        if self.turns.phase in (Phase.FROZEN, Phase.PROBING):
            asked = [host for a in self.open if isinstance(a, Acquire) for host in a.hosts]
            unwanted = [t for t in HOSTS if self.state(t) is State.UNWANTED]
            assert set(asked) <= set(unwanted)

    def state(self, host: str) -> State:
        turn = self.turns.turn_of_host(host)
        return State.IDLE if turn is None else turn.state

    def teardown(self) -> None:
        """From wherever it is, a crawl that is left to itself comes to its end: nothing is lost."""
        self.turns.thaw()
        for _ in range(200 + 20 * self.tickets + 20 * sum(self.pages.values())):
            self.settle()
            people = len(self.waiting) + len(self.displaced) + self.pages.total()
            if not (people or self.open or len(self.turns)):
                break
        assert not self.waiting and not self.displaced, "nobody waits for ever"
        assert not sum(self.pages.values()), "no page is lost"
        assert not len(self.turns), "no turn is lost"

    def settle(self) -> None:
        for ticket in list(self.displaced):
            self.waiting[ticket] = host = self.displaced.pop(ticket)
            self.turns.enter(ticket, host, self.now, hop=ticket.startswith("robots"))
        self.tick()
        self.take_pages()
        while self.open:
            self.store_says_yes()
        for ticket in list(self.admitted):
            self.flying[ticket] = self.admitted.pop(ticket)
            assert self.turns.begin(ticket, self.now)
        for ticket, host in list(self.flying.items()):
            self.turns.leave(ticket, 1.0, HostState())
            del self.flying[ticket]
            if ticket.startswith("robots"):
                self.learn(host)
        self.perform()
        self.now += 601.0

    def store_says_yes(self) -> None:
        action = self.open.pop(0)
        if isinstance(action, Acquire):
            for host in action.hosts:
                self.answer(host, "yes")
        else:
            assert isinstance(action, Release | GiveBack)
            self.leased[action.lease.host] -= 1
            delay = action.delay if isinstance(action, Release) else 0.0
            self.due_at[action.lease.host] = self.now + delay
            self.turns.stored(action.lease.host, self.now)
        self.perform()


def test_whatever_the_order_a_host_has_one_at_a_time_and_nothing_is_lost() -> None:
    """In random orders no host is asked twice at once, and every crawl comes to its end."""
    run_state_machine_as_test(
        Driver, settings=settings(max_examples=150, stateful_step_count=40, deadline=None)
    )


def open_judge(origin: str, now: float) -> tuple[Openness, float]:
    return Openness.OPEN, NEVER


def test_a_stop_sends_who_waits_away_and_gives_back_what_comes() -> None:
    """After a stop a waiter is sent away, and a lease that is granted late goes back unused."""
    turns = Turns(open_judge)
    turns.enter("request", "a", 0.0)
    turns.tick(0.0, 1)
    assert turns.todo.popleft() == Acquire(Want.GATE, ("a",))
    turns.stop(0.0)
    assert turns.todo.popleft() == SendAway("request", None)
    lease = Lease("a", 1, 0.0, HostState())
    turns.granted(lease, 0.5)
    assert turns.todo.popleft() == GiveBack(lease)
    turns.stored("a", 0.5)
    assert not turns and not turns.todo


def granted(turns: Turns, host: str, want: Want, token: int = 1) -> Lease:
    """Have the host's turn asked for and granted."""
    acquire = turns.todo.popleft()
    assert acquire == Acquire(want, (host,))
    lease = Lease(host, token, 0.0, HostState())
    turns.granted(lease, 0.0)
    return lease


def test_an_outage_takes_back_what_no_page_took_yet() -> None:
    """A turn that was granted for a page and not lent goes back when the network is gone."""
    turns = Turns(open_judge)
    turns.frontier.push("a", "a", 0.0)
    turns.ask_for_pages(0.0, 4)
    lease = granted(turns, "a", Want.PAGE)
    assert turns.todo.popleft() == OfferPages()
    turns.freeze()
    assert list(turns.todo) == [GiveBack(lease)]
    assert turns.next_page(0.0) is None


@pytest.mark.parametrize("came_to", ["nothing", "a failure"])
def test_who_tries_is_followed_by_another_one_only_after_it_ended(came_to: str) -> None:
    """A probe that never left may be followed at once, one that failed only by a new probe."""
    turns = Turns(open_judge)
    for host in ("a", "b", "c"):
        turns.enter(host, host, 0.0)
    turns.freeze()
    turns.probe()
    turns.tick(0.0, 1)
    granted(turns, "a", Want.GATE)
    turns.todo.clear()
    turns.tick(0.0, 1)
    assert not turns.todo, "one is under way"
    if came_to == "nothing":
        turns.give_back("a", 0.0)
    else:
        turns.begin("a", 0.0)
        turns.leave("a", 1.0, HostState())
    turns.todo.clear()
    turns.tick(0.0, 1)
    assert [type(action) for action in turns.todo] == [Acquire] * (came_to == "nothing")


def test_who_is_denied_while_trying_leaves_it_to_the_next_host() -> None:
    """Another process has the host that was to try: the next one tries."""
    turns = Turns(open_judge)
    for host in ("a", "b"):
        turns.enter(host, host, 0.0)
    turns.freeze()
    turns.probe()
    turns.tick(0.0, 1)
    assert turns.todo.popleft() == Acquire(Want.GATE, ("a",))
    turns.denied("a", 5.0, 0.0)
    turns.tick(0.0, 1)
    assert turns.todo.popleft() == Acquire(Want.GATE, ("b",))


def test_a_request_goes_to_the_network_once() -> None:
    """A request with a turn may go; without one, or once more, it must not."""
    turns = Turns(open_judge)
    turns.enter("request", "a", 0.0)
    assert not turns.begin("request", 0.0)
    turns.tick(0.0, 1)
    granted(turns, "a", Want.GATE)
    assert [turns.begin("request", 0.0) for _ in range(2)] == [True, False]


def test_the_turn_of_a_page_goes_to_who_came_to_the_gate_meanwhile() -> None:
    """What waits at the gate goes before pages, with the turn that was asked for one of them."""
    turns = Turns(open_judge)
    turns.frontier.push("a", "a", 0.0)
    turns.ask_for_pages(0.0, 4)
    granted(turns, "a", Want.PAGE)
    turns.enter("request", "a", 0.0)
    turns.todo.clear()
    assert turns.next_page(0.0) is None
    assert turns.todo.popleft() == Admit("request")


def test_an_event_that_cannot_be_is_an_error() -> None:
    """A store that grants what nobody asked for, or a request that left twice, is told by name."""
    turns = Turns(open_judge)
    with pytest.raises(UnexpectedEvent):
        turns.granted(Lease("a", 1, 0.0, HostState()), 0.0)
    with pytest.raises(UnexpectedEvent):
        turns.leave("request", 1.0, HostState())


def test_a_request_that_is_given_up_on_the_wire_keeps_its_turn_until_it_left() -> None:
    """Whoever waited for it: the server has it in hand still."""
    turns = Turns(open_judge)
    turns.enter("request", "a", 0.0)
    turns.tick(0.0, 1)
    lease = granted(turns, "a", Want.GATE)
    assert turns.begin("request", 0.0)
    turns.todo.clear()
    turns.give_back("request", 2.0)
    assert not turns.todo
    turns.leave("request", 50.0, HostState())
    assert list(turns.todo) == [Release(lease, 50.0, HostState())]
