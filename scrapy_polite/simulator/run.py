"""The crawl itself: takes turns from the frontier, and lets the time of each fetch go by.

It does what the crawler's runtime does, in the same order, but knows how long each fetch will take:
ends of fetches stand in a heap, and the clock jumps to the next end or the next ready time.
"""

from __future__ import annotations

from array import array
from collections.abc import Coroutine
from heapq import heappop, heappush
from random import Random
from typing import Any, NamedTuple, TypeVar

from scrapy_polite.frontier.hosts import NEVER, Frontier, Openness, Want
from scrapy_polite.policy import robots_cache as cache
from scrapy_polite.policy.host import Fetch, Outcome, Turn, after_fetch
from scrapy_polite.policy.robots_cache import RobotsRecord
from scrapy_polite.simulator.plan import Plan
from scrapy_polite.simulator.result import PLACE, ROBOTS, Fetched, Simulation, Tally
from scrapy_polite.state.memory import MemoryStore
from scrapy_polite.state.protocol import Lease

T = TypeVar("T")
_BATCH = 64  # hosts leased at once, at most


class _Flight(NamedTuple):
    ends_at: float
    number: int  # sorts fetches that end at one instant
    want: Want
    lease: Lease
    outcome: Outcome


def simulate(plan: Plan) -> Simulation:
    """Crawl as the plan says, on a clock of its own.

    >>> from scrapy_polite.simulator.plan import HostPlan
    >>> simulate(Plan([HostPlan(pages=2, latency=1.0)])).seconds > 1.0 + 10.0 + 1.0
    True
    """
    return _Run(plan).crawl()


class _Run:
    """One simulated crawl; host keys are the hosts' numbers, a host has one origin of that name."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.now = 0.0
        self.random = Random(plan.seed)
        self.store = MemoryStore(lambda: self.now)
        self.frontier = Frontier(self.judge)
        self.free = {Want.ROBOTS: plan.robots_places, Want.PAGE: plan.places}
        self.flights: list[_Flight] = []
        self.started = 0
        self.tally = Tally(plan.keep)
        # By number of the host: until when its robots.txt is known, and when it is ready.
        needed = (NEVER if host.robots_latency is None else 0.0 for host in plan.hosts)
        self.known_until_at = array("d", needed)
        self.ready_at = array("d", bytes(8 * len(plan.hosts)))
        self.unreachable: dict[str, RobotsRecord] = {}

    def judge(self, origin: str, now: float) -> tuple[Openness, float]:
        """Tell the frontier whether robots.txt is known; NaN stands for being fetched."""
        known_until_at = self.known_until_at[int(origin)]
        if now < known_until_at:
            return Openness.OPEN, known_until_at
        if known_until_at != known_until_at:
            return Openness.HELD, NEVER
        record = self.unreachable.get(origin)
        if record is not None and not cache.is_due(record, now):
            return Openness.HELD, record.fresh_until_at
        return Openness.NEEDS_ROBOTS, NEVER

    def crawl(self) -> Simulation:
        """Run to the end, or to where the plan cuts it off."""
        for number, host in enumerate(self.plan.hosts):
            if host.pages:
                key = str(number)
                self.frontier.push(key, key, 0.0, host.pages)
        while (now := self.next_at()) <= self.plan.until and now < NEVER:
            self.now = now
            while self.flights and self.flights[0].ends_at <= now:
                self.land(heappop(self.flights))
            self.start(Want.ROBOTS)
            self.start(Want.PAGE)
        return self.end(cut_off_at=None if now == NEVER else self.plan.until)

    def next_at(self) -> float:
        """Return when something happens next; at the very start that is at once."""
        if not self.started and len(self.frontier):
            return 0.0
        ends_at = self.flights[0].ends_at if self.flights else NEVER
        return min(ends_at, self.frontier.next_at(self.now))

    def start(self, want: Want) -> None:
        """Use the free places of a kind."""
        while batch := min(self.free[want], _BATCH):
            taken = (self.frontier.take(want, self.now) for _ in range(batch))
            hosts = [host for host in taken if host is not None]
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
        host, random = self.plan.hosts[number], self.random.random
        self.tally.waits[PLACE] += self.now - self.ready_at[number]
        if want is Want.ROBOTS:
            self.known_until_at[number] = float("nan")
            latency = host.robots_latency or 0.0
        else:
            self.frontier.popped(lease.host, lease.host, self.now)
            latency = host.latency
        if host.spread:
            latency *= 1.0 + host.spread * (2.0 * random() - 1.0)
        self.free[want] -= 1
        self.started += 1
        ends_at = self.now + latency
        heappush(self.flights, _Flight(ends_at, self.started, want, lease, self.outcome()))

    def outcome(self) -> Outcome:
        """Draw how a fetch ends."""
        drawn = self.random.random()
        if drawn < self.plan.failures:
            return Outcome.TROUBLED
        if drawn < self.plan.failures + self.plan.refusals:
            return Outcome.REFUSED
        return Outcome.ANSWERED

    def land(self, flight: _Flight) -> None:
        """A fetch ends."""
        key, started_at, now = flight.lease.host, flight.lease.granted_at, self.now
        host, is_refused = self.plan.hosts[int(key)], flight.outcome is Outcome.REFUSED
        fetch = Fetch(
            started_at,
            now,
            flight.outcome,
            retry_after=self.plan.retry_after if is_refused else None,
            crawl_delay=host.crawl_delay,
        )
        turn = after_fetch(flight.lease.state, fetch, self.plan.rules, self.random.random())
        self.free[flight.want] += 1
        _done(self.store.release(flight.lease, delay=turn.wait, state=turn.state))
        self.tally.add(
            Fetched(
                int(key), flight.want, started_at, now, flight.outcome, turn.wait, turn.reason
            )
        )
        if is_refused and flight.want is Want.PAGE:
            self.frontier.push(key, key, now)
        self.frontier.put_back(key, now + turn.wait, now)
        self.settle(key, flight, turn)

    def settle(self, key: str, flight: _Flight, turn: Turn) -> None:
        """Take what a fetch told: a verdict on robots.txt, a wait, a refusal too many."""
        wait, reason = turn.wait, turn.reason
        if flight.want is Want.ROBOTS:
            held_for = self.learn(key, flight.outcome)
            wait, reason = max((wait, reason), (held_for, ROBOTS))
        self.ready_at[int(key)] = self.now + wait
        if turn.state.backoff.parked:
            self.frontier.postpone(key, NEVER, self.now)
            self.tally.parked += 1
        elif self.frontier.queued(key):
            self.tally.waits[reason] += wait

    def learn(self, key: str, outcome: Outcome) -> float:
        """Note what became of a robots.txt; return for how many seconds its pages are held."""
        held_for = 0.0
        if outcome is Outcome.ANSWERED:
            self.unreachable.pop(key, None)
            self.known_until_at[int(key)] = self.now + self.plan.ages.max_age
        else:
            self.known_until_at[int(key)] = 0.0
            asked = self.plan.retry_after if outcome is Outcome.REFUSED else None
            record = cache.unreachable(
                self.unreachable.get(key), key, now=self.now, status=None, retry_after=asked
            )
            self.unreachable[key] = record
            held_for = record.fresh_until_at - self.now
        self.frontier.judged(key, key, self.now)
        return held_for

    def end(self, cut_off_at: float | None) -> Simulation:
        """Add what was under way, or ready, when the crawl was cut off."""
        left = len(self.flights)
        if cut_off_at is not None:
            for flight in self.flights:
                self.tally.use(flight.want, cut_off_at - flight.lease.granted_at)
        for key, ready_at, taken, queued in self.frontier.overview():
            left += queued
            if cut_off_at is not None and queued and not taken and ready_at < cut_off_at:
                self.tally.waits[PLACE] += cut_off_at - self.ready_at[int(key)]
        return self.tally.total(self.plan.places, left, cut_off_at)


def _done(coroutine: Coroutine[Any, Any, T]) -> T:
    """Return the result of a coroutine of a store that never waits."""
    try:
        coroutine.send(None)
    except StopIteration as end:
        result: T = end.value
        return result
    raise RuntimeError("the store in memory never waits")
