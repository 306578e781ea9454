"""What every store must do, by the same histories in each; the clock is moved by hand."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    MultipleResults,
    RuleBasedStateMachine,
    multiple,
    rule,
    run_state_machine_as_test,
)

from distributed.servers import is_missing, store_on_redis
from scrapy_polite.policy.backoff import Backoff
from scrapy_polite.policy.host import HostState
from scrapy_polite.policy.robots_access import Access
from scrapy_polite.policy.robots_cache import RobotsRecord
from scrapy_polite.state.memory import LEASED, NOT_DUE, MemoryStore
from scrapy_polite.state.protocol import Lease, PolitenessStore
from scrapy_polite.state.sqlite import SqliteStore
from state.kit import Clock, Driven

Factory = Callable[[Clock, Path], PolitenessStore]
FACTORIES: dict[str, Factory] = {
    "memory": lambda clock, folder: MemoryStore(clock),
    "sqlite": lambda clock, folder: SqliteStore(
        folder / "polite.db", clock=clock, machine=clock.machine()
    ),
    "redis": lambda clock, folder: store_on_redis(clock),
}

REFUSED = HostState(
    duration=0.25,
    delay=2.5,
    backoff=Backoff(
        episodes=2,
        refusals=1,
        began_at=1000.0,
        until_at=1120.0,
        rung=120.0,
        asked=60.0,
        parked=True,
        trouble=5.0,
        failed_delay=2.5,
        calm=3,
        trouble_at=1000.0,
    ),
)
RECORDS = {
    "good copy": RobotsRecord(
        "https://a.test",
        Access.SUCCESSFUL,
        b"User-agent: *\nDisallow: /\xff\x00\n" * 1000,
        answered_at=900.0,
        fresh_until_at=87_300.0,
        etag='W/"\xe9"',
        last_modified="Mon, 05 Oct 2026 12:00:00 GMT",
        status=200,
    ),
    "good copy, now unreachable": RobotsRecord(
        "https://a.test",
        Access.SUCCESSFUL,
        b"#",
        answered_at=100.0,
        fresh_until_at=1060.0,
        unreachable_since_at=500.0,
        failures=4,
        status=503,
    ),
    "never reached": RobotsRecord("https://a.test", unreachable_since_at=500.0, failures=1),
    "unavailable": RobotsRecord("https://a.test", Access.UNAVAILABLE, status=404),
    "forbidden": RobotsRecord("https://a.test", Access.FORBIDDEN, status=403),
}


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture(params=FACTORIES)
def store(request: pytest.FixtureRequest, clock: Clock, tmp_path: Path) -> Iterator[Driven]:
    with Driven(FACTORIES[request.param](clock, tmp_path)) as store:
        store.open()
        yield store


def test_unknown_host_is_leased_at_once(store: Driven) -> None:
    """A host that nobody asked for before is due, and nothing is remembered of it."""
    lease = store.lease("a.test")
    assert (lease.host, lease.granted_at, lease.state) == ("a.test", 1000.0, HostState())


def test_one_lease_of_a_host_at_a_time(store: Driven, clock: Clock) -> None:
    """A leased host is denied for as long as its turn lasts."""
    lease = store.lease("a.test")
    clock.now += 59.0
    seconds, reason = store.wait("a.test")
    assert (seconds > 0.0, reason) == (True, LEASED)
    assert store.release(lease, 0.0)
    assert store.lease("a.test").token > lease.token


def test_host_named_twice_gets_one_lease(store: Driven) -> None:
    """A batch that names a host twice leases it once."""
    acquired = store.acquire("a.test", "a.test")
    assert (len(acquired.leases), list(acquired.waits)) == (1, ["a.test"])


def test_released_host_waits_for_its_delay(store: Driven, clock: Clock) -> None:
    """A host is due when the delay is over, counted from the release."""
    store.release(store.lease("a.test"), 10.0)
    clock.now += 4.0
    assert store.wait("a.test") == (6.0, NOT_DUE)
    clock.now += 6.0
    assert store.lease("a.test")


def test_at_most_limit_hosts_are_leased(store: Driven) -> None:
    """Hosts beyond the limit have nothing to wait for but the next time they are asked for."""
    acquired = store.acquire("a.test", "b.test", "c.test", limit=2)
    assert [lease.host for lease in acquired.leases] == ["a.test", "b.test"]
    assert acquired.waits == {"c.test": (0.0, NOT_DUE)}


def test_tokens_grow(store: Driven) -> None:
    """A later lease has a greater token than any before it."""
    tokens = []
    for host in ("a.test", "b.test", "a.test"):
        lease = store.lease(host)
        tokens.append(lease.token)
        store.give_back([lease])
    assert tokens == sorted(set(tokens))
    assert tokens[0] > 0


def test_state_comes_back_with_the_next_lease(store: Driven) -> None:
    """Whatever is remembered of a host is handed on, its instants unchanged."""
    store.release(store.lease("a.test"), 0.0, REFUSED)
    assert store.lease("a.test").state == REFUSED


def test_unused_turn_leaves_the_host_as_it_was(store: Driven) -> None:
    """A turn that is given back changes neither when the host is due nor its state."""
    store.release(store.lease("a.test"), 0.0, REFUSED)
    store.give_back([store.lease("a.test")])
    assert store.lease("a.test").state == REFUSED


def test_stale_lease_only_pushes_back(store: Driven, clock: Clock) -> None:
    """A lease that is over releases nothing (False), and can only lengthen a wait."""
    stale = store.lease("a.test")
    store.release(stale, 10.0, REFUSED)
    assert not store.release(stale, 30.0, HostState(duration=9.0))
    assert not store.release(stale, 5.0)
    assert store.wait("a.test") == (30.0, NOT_DUE)
    clock.now += 30.0
    assert store.lease("a.test").state == REFUSED


def test_stale_lease_does_not_end_the_turn_of_another(store: Driven) -> None:
    """A lease that is over neither releases nor gives back the one that followed it."""
    stale = store.lease("a.test")
    store.release(stale, 0.0)
    store.lease("a.test")
    store.release(stale, 0.0)
    store.give_back([stale])
    assert store.wait("a.test")[1] == LEASED


def test_nobody_can_push_a_host_back(store: Driven) -> None:
    """Token 0 is nobody's: it pushes the turn of a host back, also of one that is not known."""
    assert not store.push_back("a.test", 7.0)
    assert store.wait("a.test") == (7.0, NOT_DUE)


def test_push_back_during_a_lease_stands(store: Driven) -> None:
    """What was asked for while the turn lasted is kept when it ends with a shorter delay."""
    lease = store.lease("a.test")
    store.push_back("a.test", 30.0)
    assert store.wait("a.test")[1] == LEASED
    assert store.release(lease, 1.0)
    assert store.wait("a.test") == (30.0, NOT_DUE)


def test_renew_tells_lost_leases(store: Driven) -> None:
    """A lease in hand is prolonged; in place of one that is over there is None."""
    over, held = store.lease("a.test"), store.lease("b.test")
    store.give_back([over])
    assert store.renew(held, over) == [held, None]


def test_empty_batches_change_nothing(store: Driven) -> None:
    """Nothing asked is nothing answered."""
    assert store.acquire() == type(store.acquire())()
    assert store.renew() == []
    store.give_back([])


def test_unknown_origin_has_no_record(store: Driven) -> None:
    """None stands for an origin that was never asked."""
    assert store.get_robots("https://a.test") is None


@pytest.mark.parametrize("record", RECORDS.values(), ids=RECORDS)
def test_robots_record_comes_back_whole(store: Driven, record: RobotsRecord) -> None:
    """A record is returned as it was put, over one put before."""
    store.put_robots(RobotsRecord("https://a.test", Access.SUCCESSFUL, b"old", status=200))
    store.put_robots(record)
    assert store.get_robots("https://a.test") == record
    assert store.get_robots("https://b.test") is None


SECONDS = st.integers(0, 40).map(lambda halves: halves / 2)
HOSTS = st.sampled_from(["a.test", "b.test", "c.test"])
STATES = st.sampled_from([HostState(), HostState(duration=0.5, delay=5.0), REFUSED])


class EqualHistories(RuleBasedStateMachine):
    """All stores, each with the same history; a turn is a tuple of each store's lease."""

    turns = Bundle("turns")

    def __init__(self) -> None:
        super().__init__()
        self.clock, self.end = Clock(), ExitStack()
        folder = Path(self.end.enter_context(tempfile.TemporaryDirectory()))
        here = [name for name in FACTORIES if name != "redis" or not is_missing()]
        stores = [FACTORIES[name](self.clock, folder) for name in here]
        self.stores = [self.end.enter_context(Driven(store)) for store in stores]

    def teardown(self) -> None:
        self.end.close()

    def agreed(self, answers: Iterable[object]) -> None:
        one, *others = answers
        assert all(other == one for other in others)

    @rule(seconds=SECONDS)
    def time_passes(self, seconds: float) -> None:
        self.clock.now += seconds

    @rule(target=turns, hosts=st.lists(HOSTS, max_size=4), limit=st.integers(0, 3))
    def acquire(self, hosts: list[str], limit: int) -> MultipleResults[tuple[Lease, ...]]:
        acquired = [store.acquire(*hosts, limit=limit) for store in self.stores]
        granted = [[replace(lease, token=0) for lease in one.leases] for one in acquired]
        self.agreed(granted)
        self.agreed(one.waits for one in acquired)
        return multiple(*zip(*(one.leases for one in acquired), strict=True))

    @rule(turn=turns, delay=SECONDS, state=STATES)
    def release(self, turn: tuple[Lease, ...], delay: float, state: HostState) -> None:
        pairs = zip(self.stores, turn, strict=True)
        self.agreed(store.release(lease, delay, state) for store, lease in pairs)

    @rule(turn=turns)
    def give_back(self, turn: tuple[Lease, ...]) -> None:
        for store, lease in zip(self.stores, turn, strict=True):
            store.give_back([lease])

    @rule(turn=turns)
    def renew(self, turn: tuple[Lease, ...]) -> None:
        pairs = zip(self.stores, turn, strict=True)
        self.agreed(store.renew(lease) == [lease] for store, lease in pairs)

    @rule(host=HOSTS, delay=SECONDS)
    def push_back(self, host: str, delay: float) -> None:
        self.agreed(store.push_back(host, delay) for store in self.stores)

    @rule(record=st.sampled_from(list(RECORDS.values())))
    def put_robots(self, record: RobotsRecord) -> None:
        for store in self.stores:
            store.put_robots(record)

    @rule()
    def get_robots(self) -> None:
        self.agreed(store.get_robots("https://a.test") for store in self.stores)


def test_equal_answers_for_equal_histories() -> None:
    """Whatever happens, all stores answer alike."""
    few = settings(max_examples=30, stateful_step_count=25, deadline=None)
    run_state_machine_as_test(EqualHistories, settings=few)
