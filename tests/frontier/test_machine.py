"""A crawl in random steps: the real frontier, verdicts, store and policies against a simple model.

The machine does what a crawler does, on a clock of its own, and keeps books: which page is where,
when each host may be asked again at the earliest, who was ready and for how long.  The promises:
what goes in comes out exactly once, never two of a host at once, never early, longest overdue
first, nothing ready is refused, no wake-up is missed, and nothing is kept that nobody wants.

All steps of the clock are multiples of 1/8 s, so that sums are exact.
"""

from __future__ import annotations

from collections import Counter, deque
from dataclasses import dataclass

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

from scrapy_polite.frontier.hosts import NEVER, Frontier, Openness, Want
from scrapy_polite.policy import robots_cache as cache
from scrapy_polite.policy.delay import DelayRules
from scrapy_polite.policy.host import Fetch, HostRules, HostState, Outcome, after_fetch
from scrapy_polite.policy.robots_access import Access
from scrapy_polite.policy.robots_cache import Ages, RobotsRecord
from scrapy_polite.runtime.lanes import Lanes
from scrapy_polite.runtime.verdicts import Verdicts
from scrapy_polite.state.memory import MemoryStore
from scrapy_polite.state.protocol import Lease
from state.kit import done

HOSTS = ("a", "b", "c")
ORIGINS = {f"{scheme}://{host}": host for host in HOSTS for scheme in ("http", "https")}
RULES = HostRules(delay=DelayRules(jitter=0.0))
CRAWL_DELAY = {"c": 4.0}
AGES = Ages(max_age=40.0, min_age=20.0)
HOLD = 90.0  # seconds
STEPS = (0.125, 1.0, 7.5, 61.0, 600.0)  # seconds

OTHERS = (Want.HOP, Want.ROBOTS)

hosts, origins = st.sampled_from(HOSTS), st.sampled_from(sorted(ORIGINS))
wants, steps = st.sampled_from(Want), st.sampled_from(STEPS)
# Most of what happens is good, else a crawl gets nowhere.
outcomes = st.sampled_from([Outcome.ANSWERED] * 3 + list(Outcome))
accesses = st.sampled_from([Access.SUCCESSFUL] * 5 + list(Access))


@dataclass
class Flight:
    """A turn that is being used for a page, a robots.txt or a request from the gate."""

    lease: Lease
    origin: str = ""
    page: int | None = None
    is_robots: bool = False


class Crawl(RuleBasedStateMachine):
    """The rules are what happens in a crawl; the invariants are what must hold at any instant."""

    def __init__(self) -> None:
        super().__init__()
        self.now = 1000.0
        self.store = MemoryStore(lambda: self.now)
        self.pages = 0  # pages queued ever; each is a number
        self.came_out: list[int] = []
        self.queues: dict[str, deque[int]] = {}
        self.flights: dict[str, Flight] = {}
        self.gate: Counter[tuple[str, bool]] = Counter()
        self.fetching: set[str] = set()  # origins whose robots.txt is under way
        self.not_before: dict[str, float] = {}  # what the rule alone demands
        self.due_at: dict[str, float] = {}  # what the store was told
        self.verdicts = Verdicts(Lanes(obey=True), AGES, HOLD)
        self.start()

    def start(self) -> None:
        """Begin a run: what it knows is in the store and in the queues."""
        self.frontier = Frontier(self.verdicts.judge)
        self.ready_at: dict[str, float] = {}  # hosts the run knows; the frontier's must be the same
        self.for_others: set[str] = set()  # those whose last turn was for a hop or a robots.txt
        for origin, queue in self.queues.items():
            self.know(ORIGINS[origin])
            self.frontier.push(ORIGINS[origin], origin, self.now, len(queue))

    # the model

    def know(self, host: str) -> None:
        self.ready_at.setdefault(host, self.now)

    def leave_alone(self, host: str, until_at: float) -> None:
        self.ready_at[host] = max(self.ready_at[host], until_at)

    def openness(self, host: str) -> list[Openness]:
        return [self.verdicts.judge(o, self.now)[0] for o in self.queues if ORIGINS[o] == host]

    def want(self, host: str) -> Want | None:
        pages = self.openness(host)
        own = Want.PAGE if Openness.OPEN in pages else None
        own = Want.GATE if self.gate[host, False] else own
        if own and host in self.for_others:
            return own
        if self.gate[host, True]:
            return Want.HOP
        return Want.ROBOTS if Openness.NEEDS_ROBOTS in pages else own

    def ready(self, want: Want) -> list[str]:
        return [
            host
            for host, ready_at in self.ready_at.items()
            if host not in self.flights and ready_at <= self.now and self.want(host) is want
        ]

    def is_in_another_line(self, host: str) -> bool:
        """Say whether a ready host may have lined up for something else before time changed that.

        It is judged again when its turn for that comes.
        """
        entries = [self.verdicts.entry(o, host, self.now) for o in ORIGINS if ORIGINS[o] == host]
        return any(
            min(entry.record.fresh_until_at, entry.held_until_at) <= self.now
            for entry in entries
            if entry.record is not None
        )

    # demand

    @initialize(
        found=st.dictionaries(origins, st.integers(1, 4), min_size=2), known=st.sets(origins)
    )
    def first_pages(self, found: dict[str, int], known: set[str]) -> None:
        """A crawl begins with some pages, and some of its robots.txt are known."""
        for origin in known:
            self.learn(origin, Access.SUCCESSFUL)
        for origin, count in found.items():
            self.push(origin, count)

    @rule(origin=origins, count=st.integers(1, 3))
    def push(self, origin: str, count: int) -> None:
        """The spider finds pages."""
        for _ in range(count):
            self.queues.setdefault(origin, deque()).append(self.pages)
            self.pages += 1
            self.know(ORIGINS[origin])
            self.frontier.push(ORIGINS[origin], origin, self.now)

    @rule(host=hosts, hop=st.booleans())
    def come_to_the_gate(self, host: str, hop: bool) -> None:
        """A request that is no page of the queues wants its host's turn."""
        self.know(host)
        self.gate[host, hop] += 1
        self.frontier.wait(host, self.now, hop=hop)

    @precondition(lambda self: self.gate.total())
    @rule(data=st.data())
    def leave_the_gate(self, data: st.DataObject) -> None:
        """It gives up."""
        host, hop = data.draw(st.sampled_from(sorted(key for key, n in self.gate.items() if n)))
        self.gate[host, hop] -= 1
        self.frontier.waited(host, self.now, hop=hop)

    # turns

    @precondition(lambda self: any(map(self.ready, Want)))
    @rule(data=st.data())
    def go_on(self, data: st.DataObject) -> None:
        """There is a place of a kind that some host is ready for."""
        self.go(data.draw(st.sampled_from([want for want in Want if self.ready(want)])))

    @rule(data=st.data(), turns=st.integers(1, 5))
    def go_for_a_while(self, data: st.DataObject, turns: int) -> None:
        """Turns come, are used and end, and what they were for is known."""
        for _ in range(turns):
            if not any(map(self.ready, Want)):
                self.now = min(self.frontier.next_at(self.now), self.now + 600.0)
            if any(map(self.ready, Want)):
                self.whole_turn(data)

    def whole_turn(self, data: st.DataObject) -> None:
        flying = set(self.flights)
        self.go_on(data)
        for host in set(self.flights) - flying:
            self.now += data.draw(st.sampled_from(STEPS[:3]))
            flight = self.flights[host]
            self.land(host, data.draw(outcomes), None)
            if flight.is_robots:
                self.now += data.draw(st.sampled_from((0.0, 7.5, 61.0)))  # parsing takes a while
                self.learn(flight.origin, data.draw(accesses))

    @rule(want=wants)
    def go(self, want: Want) -> None:
        """There is a place: who has been ready longest goes."""
        ready = {host: self.ready_at[host] for host in self.ready(want)}
        seen = self.frontier.peek(want, self.now)
        host = self.frontier.take(want, self.now)
        assert seen == host, "peek tells what take takes"
        sure = {host: at for host, at in ready.items() if not self.is_in_another_line(host)}
        if host is None:
            assert not sure, "a host that is ready is not refused"
            return
        assert host in ready
        (self.for_others.add if want in OTHERS else self.for_others.discard)(host)
        assert all(ready[host] <= ready_at for ready_at in sure.values()), "longest overdue first"
        acquired = done(self.store.acquire([host], limit=1))
        if not acquired.leases:
            self.denied(host, *acquired.waits[host])
            return
        assert self.now >= self.due_at.get(host, 0.0), "the store knows the clock too"
        assert self.now >= self.not_before.get(host, 0.0), "never early"
        assert host not in self.flights, "never two of a host at once"
        self.flights[host] = self.use(want, host, acquired.leases[0])

    def denied(self, host: str, wait: float, reason: str) -> None:
        assert self.now + wait == self.due_at[host], f"denied for nothing: {reason}"
        self.leave_alone(host, self.now + wait)
        self.frontier.put_back(host, self.now + wait, self.now)

    def use(self, want: Want, host: str, lease: Lease) -> Flight:
        chosen, origin = self.frontier.want(host, self.now)
        assert chosen is want
        if want is Want.ROBOTS:
            self.fetching.add(origin)
            self.verdicts.entry(origin, host, self.now).fetching = True
            return Flight(lease, origin, is_robots=True)
        if want is Want.PAGE:
            origin = self.frontier.open_origins(host)[0]
            assert self.verdicts.judge(origin, self.now)[0] is Openness.OPEN
            self.verdicts.used(origin)
            return Flight(lease, origin, self.pop(origin))
        self.gate[host, want is Want.HOP] -= 1
        self.frontier.waited(host, self.now, hop=want is Want.HOP)
        return Flight(lease)

    def pop(self, origin: str) -> int:
        page = self.queues[origin].popleft()
        if not self.queues[origin]:
            del self.queues[origin]
        self.frontier.popped(ORIGINS[origin], origin, self.now)
        return page

    @precondition(lambda self: self.frontier.free_origins())
    @rule()
    def drop_free(self) -> None:
        """A page that needs no turn goes at once."""
        origin, host = next(iter(self.frontier.free_origins().items()))
        assert ORIGINS[origin] == host
        self.came_out.append(self.pop(origin))

    # the end of turns

    @precondition(lambda self: self.flights)
    @rule(data=st.data(), outcome=outcomes, asked=st.sampled_from((None, 5.0, 99.0)))
    def finish(self, data: st.DataObject, outcome: Outcome, asked: float | None) -> None:
        """A fetch ends, well or not."""
        self.land(data.draw(st.sampled_from(sorted(self.flights))), outcome, asked)

    def land(self, host: str, outcome: Outcome, asked: float | None) -> None:
        """End a fetch as the runtime does; a refused page goes back to its queue."""
        flight = self.flights.pop(host)
        started_at, asked = flight.lease.granted_at, asked if outcome is Outcome.REFUSED else None
        crawl_delay = CRAWL_DELAY.get(host, 0.0)
        fetch = Fetch(started_at, self.now, outcome, asked, crawl_delay=crawl_delay)
        turn = after_fetch(flight.lease.state, fetch, RULES, 0.0)
        least = max(1.0, crawl_delay, min(10.0 * (self.now - started_at), 600.0))
        if outcome is Outcome.REFUSED:
            least = max(least, 60.0 if asked is None else asked)
        self.not_before[host] = self.now + least
        self.end(host, flight, turn.wait, turn.state)
        if flight.page is not None and outcome is Outcome.REFUSED:
            self.queues.setdefault(flight.origin, deque()).append(flight.page)
            self.frontier.push(host, flight.origin, self.now)
        elif flight.page is not None:
            self.came_out.append(flight.page)

    def end(self, host: str, flight: Flight, wait: float, state: HostState) -> None:
        assert done(self.store.release(flight.lease, delay=wait, state=state))
        self.due_at[host] = max(self.due_at.get(host, 0.0), self.now + wait)
        self.leave_alone(host, self.now + wait)
        self.frontier.put_back(host, self.now + wait, self.now)

    @precondition(lambda self: any(not f.is_robots for f in self.flights.values()))
    @rule(data=st.data())
    def give_back(self, data: st.DataObject) -> None:
        """A middleware answers in the network's place: the turn was not used."""
        used = [host for host, flight in self.flights.items() if not flight.is_robots]
        host = data.draw(st.sampled_from(sorted(used)))
        flight = self.flights.pop(host)
        done(self.store.give_back([flight.lease]))
        self.leave_alone(host, self.now)
        self.frontier.put_back(host, self.now, self.now)
        if flight.page is not None:
            self.came_out.append(flight.page)

    @precondition(lambda self: self.fetching)
    @rule(data=st.data(), access=accesses)
    def verdict(self, data: st.DataObject, access: Access) -> None:
        """A robots.txt is known, or not; its turn may be over already, or not yet."""
        self.learn(data.draw(st.sampled_from(sorted(self.fetching))), access)

    def learn(self, origin: str, access: Access) -> None:
        self.fetching.discard(origin)
        entry = self.verdicts.entry(origin, ORIGINS[origin], self.now)
        entry.fetching = False
        self.verdicts.adopt(origin, entry, self.record(origin, access, entry.record), self.now)
        self.frontier.judged(ORIGINS[origin], origin, self.now)

    def record(self, origin: str, access: Access, known: RobotsRecord | None) -> RobotsRecord:
        if access in (Access.SUCCESSFUL, Access.UNAVAILABLE, Access.FORBIDDEN):
            age = AGES.max_age
            return cache.answered(origin, access, now=self.now, fresh_for=age, status=200)
        return cache.unreachable(known, origin, now=self.now, status=None)

    @rule(host=hosts, seconds=steps)
    def block(self, host: str, seconds: float) -> None:
        """Somebody asks to leave a host alone for a while, whoever has its turn."""
        until_at = self.now + seconds
        self.know(host)
        self.leave_alone(host, until_at)
        self.due_at[host] = max(self.due_at.get(host, 0.0), until_at)
        self.not_before[host] = max(self.not_before.get(host, 0.0), until_at)
        self.frontier.postpone(host, until_at, self.now)
        nobody = Lease(host, 0, 0.0, HostState())
        assert not done(self.store.release(nobody, delay=seconds, state=nobody.state))

    # time and runs

    @rule(seconds=steps)
    def pass_time(self, seconds: float) -> None:
        """Time goes by."""
        self.now += seconds

    @precondition(lambda self: self.frontier.next_at(self.now) < NEVER)
    @rule()
    def sleep(self) -> None:
        """Nothing happens until the timer fires."""
        self.now = self.frontier.next_at(self.now)

    @precondition(lambda self: not self.flights and not self.fetching and not self.gate.total())
    @rule()
    def close_and_resume(self) -> None:
        """The crawl ends and begins again; queues, clocks and verdicts are all that is kept."""
        self.start()

    # what must hold

    @invariant()
    def nothing_is_lost_or_made_up(self) -> None:
        """Each page is in one place: queued, in flight, or out."""
        queued = [page for queue in self.queues.values() for page in queue]
        flying = [flight.page for flight in self.flights.values() if flight.page is not None]
        assert sorted([*queued, *flying, *self.came_out]) == list(range(self.pages))

    @invariant()
    def the_timer_is_right(self) -> None:
        """The timer is set for the first host that waits, and for the end of its verdicts."""
        next_at = self.frontier.next_at(self.now)
        assert next_at > self.now
        for host in self.ready_at.keys() - self.flights.keys():
            if self.ready_at[host] > self.now:
                assert next_at <= self.ready_at[host]
            for origin in (o for o in self.queues if ORIGINS[o] == host):
                openness, until_at = self.verdicts.judge(origin, self.now)
                if openness is Openness.HELD and self.want(host) is None:
                    assert next_at <= until_at or self.is_in_another_line(host)

    @invariant()
    def only_what_counts_is_kept(self) -> None:
        """Hosts without demand are known until their time is past; counts are right."""
        self.frontier.next_at(self.now)
        for host in list(self.ready_at):
            idle = not self.openness(host) and not self.gate[host, True] + self.gate[host, False]
            if idle and host not in self.flights and self.ready_at[host] <= self.now:
                del self.ready_at[host]
                self.for_others.discard(host)
        known = {host: (at, taken, n) for host, at, taken, n in self.frontier.overview()}
        assert len(self.frontier) == len(known)
        assert known == {
            host: (ready_at, host in self.flights, self.queued(host))
            for host, ready_at in self.ready_at.items()
        }

    def queued(self, host: str) -> int:
        count = sum(len(queue) for origin, queue in self.queues.items() if ORIGINS[origin] == host)
        assert self.frontier.queued(host) == count
        return count

    def teardown(self) -> None:
        """From wherever the steps led, a crawl that is left to itself comes to its end."""
        for _ in range(20 * self.pages + 200):
            self.end_everything()
            for want in (*Want, *Want):  # twice, for who turns out to be in the wrong line
                for _ in HOSTS:
                    self.go(want)
            if self.flights:
                continue
            next_at = self.frontier.next_at(self.now)
            if next_at == NEVER:
                break
            self.now = next_at
        self.nothing_is_lost_or_made_up()
        assert not self.queues, "no host starves"
        assert not len(self.frontier), "nothing is left behind"

    def end_everything(self) -> None:
        for host, flight in list(self.flights.items()):
            del self.flights[host]
            self.end(host, flight, 1.0, flight.lease.state)
            self.came_out += [] if flight.page is None else [flight.page]
        for origin in list(self.fetching):
            self.learn(origin, Access.SUCCESSFUL)
        while self.frontier.free_origins():
            self.drop_free()


def test_a_crawl_in_random_steps_keeps_every_promise() -> None:
    """Exactly once, never two at once, never early, longest overdue first, nothing left behind."""
    run_state_machine_as_test(
        Crawl, settings=settings(max_examples=250, stateful_step_count=80, deadline=None)
    )
