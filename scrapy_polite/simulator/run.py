"""The crawl itself: takes turns from the frontier, and lets the time of each fetch go by.

It does what the crawler's runtime does, in the same order, but knows how long each fetch will take:
ends of fetches stand in a heap, and the clock jumps to the next end or the next ready time.
"""

from __future__ import annotations

from collections.abc import Coroutine
from heapq import heappop, heappush
from itertools import islice
from random import Random
from typing import Any, NamedTuple, TypeVar

from scrapy_polite.frontier.hosts import NEVER, Frontier, Want
from scrapy_polite.policy.host import Fetch, Outcome, Turn, after_fetch
from scrapy_polite.simulator.plan import Plan
from scrapy_polite.simulator.result import PLACE, PLACE_OF, ROBOTS, Fetched, Simulation, Tally
from scrapy_polite.simulator.verdicts import Verdicts
from scrapy_polite.state.memory import MemoryStore
from scrapy_polite.state.protocol import Lease

T = TypeVar("T")
_BATCH = 64  # hosts leased at once, at most


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
        self.frontier = Frontier(self.verdicts.judge)
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
            self.start(Want.ROBOTS)
            self.start(Want.PAGE)
            ends_at = self.flights[0].ends_at if self.flights else NEVER
            next_at = min(ends_at, self.frontier.next_at(self.now))
        return self.end(None if next_at == NEVER else self.plan.until)

    def start(self, want: Want) -> None:
        """Use the free places of a kind."""
        while batch := min(self.free[want], _BATCH):
            taken = iter(lambda: self.frontier.take(want, self.now), None)
            hosts = list(islice(taken, batch))
            if not hosts:
                return
            acquired = _done(self.store.acquire(hosts, limit=batch))
            for lease in acquired.leases:
                self.take_off(want, lease)
            for host, (wait, _) in acquired.waits.items():
                self.frontier.put_back(host, self.now + wait, self.now)

    def take_off(self, want: Want, lease: Lease) -> None:
        """A fetch begins."""
        number = int(lease.host)
        host, rest = self.plan.hosts[number], self.rests[number]
        self.tally.wait(rest.reason, rest.until_at - rest.since_at)
        self.tally.wait(PLACE_OF[want], self.now - rest.until_at)
        latency = host.latency
        if want is Want.ROBOTS:
            self.verdicts.begin(number)
            latency = host.robots_latency or 0.0
        else:
            self.frontier.popped(lease.host, lease.host, self.now)
        if host.spread:
            latency *= 1.0 + host.spread * (2.0 * self.random.random() - 1.0)
        self.free[want] -= 1
        self.started += 1
        ends_at = self.now + latency
        heappush(self.flights, _Flight(ends_at, self.started, want, lease, self.draw()))

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
        _done(self.store.release(lease, delay=turn.wait, state=turn.state))
        if is_refused and want is Want.PAGE:
            self.frontier.push(key, key, now)
        self.frontier.put_back(key, now + turn.wait, now)
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
            self.frontier.postpone(flight.lease.host, NEVER, now)
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
