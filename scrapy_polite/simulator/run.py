"""The crawl itself: drives the turns of `core`, and lets the time of each fetch go by.

It knows how long each fetch will take: ends of fetches stand in a heap, and the clock jumps to the
next end or the next ready time.
"""

from __future__ import annotations

from collections.abc import Coroutine
from heapq import heappop, heappush
from random import Random
from typing import Any, NamedTuple, TypeVar

from scrapy_polite.core.actions import Acquire, Action, FetchRobots, GiveBack, Release
from scrapy_polite.core.turns import Turns
from scrapy_polite.frontier.hosts import NEVER, Want
from scrapy_polite.policy.host import Fetch, Outcome, Turn, after_fetch
from scrapy_polite.simulator.plan import Plan
from scrapy_polite.simulator.result import PLACE, PLACE_OF, ROBOTS, Fetched, Simulation, Tally
from scrapy_polite.simulator.verdicts import Verdicts
from scrapy_polite.state.memory import MemoryStore
from scrapy_polite.state.protocol import Lease

T = TypeVar("T")


class _Flight(NamedTuple):
    """A fetch under way."""

    ends_at: float
    number: int  # sorts fetches that end at one instant
    want: Want
    lease: Lease
    outcome: Outcome


class _Rest(NamedTuple):
    """Why a host is left alone, since and until when."""

    since_at: float
    until_at: float
    reason: str


_UNTOUCHED = _Rest(0.0, 0.0, PLACE)


def simulate(plan: Plan) -> Simulation:
    """Crawl as the plan says, on a clock of its own.

    >>> from scrapy_polite.simulator.plan import HostPlan
    >>> simulate(Plan([HostPlan(pages=2, latency=1.0)])).seconds > 1.0 + 10.0 + 1.0
    True
    """
    return _Run(plan).crawl()


class _Run:
    """One simulated crawl; host keys are the hosts' numbers."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.now = 0.0
        self.random = Random(plan.seed)
        self.store = MemoryStore(lambda: self.now)
        self.verdicts = Verdicts(plan)
        self.turns = Turns(self.verdicts.judge)
        self.frontier = self.turns.frontier
        self.free = {Want.ROBOTS: plan.robots_places, Want.PAGE: plan.places}
        self.flights: list[_Flight] = []
        self.started = 0
        self.rests = [_UNTOUCHED] * len(plan.hosts)
        self.tally = Tally(plan.keep)

    def crawl(self) -> Simulation:
        """Run to the end, or to where the plan cuts it off."""
        for number, host in enumerate(self.plan.hosts):
            if host.pages:
                key = str(number)
                self.frontier.push(key, key, 0.0, host.pages)
        next_at = 0.0
        while next_at < NEVER and next_at <= self.plan.until:
            self.now = next_at
            while self.flights and self.flights[0].ends_at <= self.now:
                self.land(heappop(self.flights))
            self.start()
            ends_at = self.flights[0].ends_at if self.flights else NEVER
            next_at = min(ends_at, self.frontier.next_at(self.now))
        return self.end(None if next_at == NEVER else self.plan.until)

    def start(self) -> None:
        """Use the free places."""
        began = -1
        while began < self.started:
            began = self.started
            self.turns.tick(self.now, self.free[Want.ROBOTS])
            self.perform()
            self.turns.ask_for_pages(self.now, self.free[Want.PAGE])
            self.perform()

    def perform(self) -> None:
        """Do what is to be done, until there is no more of it."""
        while self.turns.todo:
            self.do(self.turns.todo.popleft())
        while (host := self.turns.next_page(self.now)) is not None:
            self.turns.lend(host, host, self.now)
            self.frontier.popped(host, host, self.now)
            self.take_off(Want.PAGE, host)

    def do(self, action: Action) -> None:
        """Do one thing; the store in memory answers at once."""
        if isinstance(action, Acquire):
            acquired = _done(self.store.acquire(action.hosts, limit=len(action.hosts)))
            for lease in acquired.leases:
                self.turns.granted(lease, self.now)
            for host, (wait, _) in acquired.waits.items():
                self.turns.denied(host, wait, self.now)
        elif isinstance(action, FetchRobots):
            self.turns.pass_on(action, action.host)
            self.take_off(Want.ROBOTS, action.host)
        elif isinstance(action, Release):
            lease = action.lease
            _done(self.store.release(lease, delay=action.delay, state=action.state))
            self.turns.stored(lease.host, self.now)
        elif isinstance(action, GiveBack):
            _done(self.store.give_back([action.lease]))
            self.turns.stored(action.lease.host, self.now)

    def take_off(self, want: Want, key: str) -> None:
        """A fetch begins."""
        turn = self.turns.turn_of(key)
        assert turn is not None and turn.lease is not None
        self.turns.begin(key, self.now)
        number = int(key)
        host, rest = self.plan.hosts[number], self.rests[number]
        self.tally.wait(rest.reason, rest.until_at - rest.since_at)
        self.tally.wait(PLACE_OF[want], self.now - rest.until_at)
        latency = host.latency
        if want is Want.ROBOTS:
            self.verdicts.begin(number)
            latency = host.robots_latency or 0.0
        if host.spread:
            latency *= 1.0 + host.spread * (2.0 * self.random.random() - 1.0)
        self.free[want] -= 1
        self.started += 1
        ends_at = self.now + latency
        heappush(self.flights, _Flight(ends_at, self.started, want, turn.lease, self.draw()))

    def draw(self) -> Outcome:
        """Draw how a fetch will end."""
        drawn = self.random.random()
        if drawn < self.plan.failures:
            return Outcome.TROUBLED
        if drawn < self.plan.failures + self.plan.refusals:
            return Outcome.REFUSED
        return Outcome.ANSWERED

    def land(self, flight: _Flight) -> None:
        """A fetch ends."""
        lease, now, want = flight.lease, self.now, flight.want
        key, number = lease.host, int(lease.host)
        is_refused = flight.outcome is Outcome.REFUSED
        retry_after = self.plan.retry_after if is_refused else None
        crawl_delay = self.plan.hosts[number].crawl_delay
        fetch = Fetch(lease.granted_at, now, flight.outcome, retry_after, crawl_delay=crawl_delay)
        turn = after_fetch(lease.state, fetch, self.plan.rules, self.random.random())
        self.free[want] += 1
        self.turns.leave(key, turn.wait, turn.state)
        if is_refused and want is Want.PAGE:
            self.frontier.push(key, key, now)
        self.perform()
        held_for = 0.0
        if want is Want.ROBOTS:
            held_for = self.verdicts.learn(number, flight.outcome, now, retry_after)
            self.frontier.judged(key, key, now)
        self.note(number, flight, turn, held_for)

    def note(self, number: int, flight: _Flight, turn: Turn, held_for: float) -> None:
        """Keep what there is to say of a fetch that ended."""
        wait, reason, now = turn.wait, turn.reason, self.now
        started_at = flight.lease.granted_at
        self.tally.add(Fetched(number, flight.want, started_at, now, flight.outcome, wait, reason))
        if held_for > wait:
            wait, reason = held_for, ROBOTS
        self.rests[number] = _Rest(now, now + wait, reason)
        if turn.state.backoff.parked:
            self.turns.park(flight.lease.host, NEVER, now)
            self.tally.parked += 1

    def end(self, cut_off_at: float | None) -> Simulation:
        """Add what was under way when the crawl was cut off; None when it came to its end."""
        left = sum(flight.want is Want.PAGE for flight in self.flights)
        for flight in self.flights:
            self.tally.use(flight.want, (cut_off_at or 0.0) - flight.lease.granted_at)
        for key, ready_at, taken, queued in self.frontier.overview():
            left += queued
            if cut_off_at is not None and queued and not taken and ready_at < NEVER:
                self.end_rest(key, cut_off_at)
        return self.tally.total(self.plan.places, left, cut_off_at)

    def end_rest(self, key: str, at: float) -> None:
        """Add for what, and for how long, a host had waited when the crawl was cut off."""
        rest = self.rests[int(key)]
        self.tally.wait(rest.reason, min(at, rest.until_at) - rest.since_at)
        needs_robots = self.frontier.want(key, at)[0] is Want.ROBOTS
        place = PLACE_OF[Want.ROBOTS if needs_robots else Want.PAGE]
        self.tally.wait(place, max(at - rest.until_at, 0.0))


def _done(coroutine: Coroutine[Any, Any, T]) -> T:
    """Return the result of a coroutine of a store that never waits."""
    try:
        coroutine.send(None)
    except StopIteration as end:
        result: T = end.value
        return result
    raise RuntimeError("the store in memory never waits")
