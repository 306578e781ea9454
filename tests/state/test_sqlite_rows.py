"""What an SQLite store keeps, charges and drops; the clock is moved by hand."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import fields
from pathlib import Path
from random import Random

import pytest

from scrapy_polite.policy.backoff import MEMORY, Backoff
from scrapy_polite.policy.host import HostState
from scrapy_polite.policy.robots_access import Access
from scrapy_polite.policy.robots_cache import RobotsRecord
from scrapy_polite.state.memory import LEASED, NOT_DUE
from scrapy_polite.state.sqlite import LeaseRules, RobotsBounds, SqliteStore
from scrapy_polite.state.sqlite import hosts as hosts_module
from scrapy_polite.state.sqlite import robots as robots_module
from state.kit import Clock, Driven

DAY = 86_400.0
SMALL = RobotsBounds(records=4, size_bytes=4_000, unasked=60 * DAY)


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "polite.db"


@pytest.fixture
def store(clock: Clock, path: Path) -> Iterator[Driven]:
    with Driven(crawl(clock, path)) as store:
        yield store


def crawl(clock: Clock, path: Path) -> SqliteStore:
    return SqliteStore(
        path, clock=clock, machine=clock.machine(), leases=LeaseRules(max_age=600.0), robots=SMALL
    )


def rows(path: Path, query: str) -> list[tuple[object, ...]]:
    with closing(sqlite3.connect(path)) as db:
        return db.execute(query).fetchall()


def test_state_of_an_earlier_version_is_read(store: Driven, path: Path) -> None:
    """A file with what is no longer kept of a host is gone on with."""
    store.release(store.lease("a.test"), 0.0, HostState(duration=0.5))
    with closing(sqlite3.connect(path)) as db, db:
        db.execute('UPDATE hosts SET state = \'{"duration":0.25,"floor_until_at":1300.0}\'')
    assert store.lease("a.test").state == HostState(duration=0.25)


# turns that nobody ends


def test_old_lease_is_freed_and_charged(store: Driven, clock: Clock) -> None:
    """A turn is over 600 s after its grant; the host is charged for it, its holder is stale."""
    lease = store.lease("a.test")
    clock.now += 600.0
    assert store.wait("a.test")[1] == LEASED
    clock.now += 1.0
    assert store.wait("a.test") == (600.0, NOT_DUE)
    assert store.renew(lease) == [None]
    assert not store.release(lease, 0.0)


def test_renewed_lease_stays(store: Driven, clock: Clock) -> None:
    """A fetch that takes longer than the greatest age keeps its turn as long as it is renewed."""
    lease = store.lease("a.test")
    for _ in range(3):
        clock.now += 500.0
        assert store.renew(lease) == [lease]
    assert store.wait("a.test")[1] == LEASED


@pytest.mark.parametrize(("age", "charge"), [(0.0, 1.0), (5.0, 50.0), (599.0, 600.0)])
def test_closed_store_is_charged(clock: Clock, path: Path, age: float, charge: float) -> None:
    """A turn in hand at the close ends as if its fetch had lasted until then, within bounds."""
    with Driven(crawl(clock, path)) as store:
        store.lease("a.test")
        clock.now += age
    with Driven(crawl(clock, path)) as store:
        assert store.wait("a.test") == (charge, NOT_DUE)


def test_charge_keeps_what_the_host_was_due(store: Driven, clock: Clock) -> None:
    """A longer wait that was asked for meanwhile is not shortened by the charge."""
    store.lease("a.test")
    store.push_back("a.test", 5000.0)
    clock.now += 601.0
    assert store.wait("a.test") == (4399.0, NOT_DUE)


def test_crawls_of_one_process_are_different_holders(
    store: Driven, clock: Clock, path: Path
) -> None:
    """One crawl's end leaves the turns of another one in the same process alone."""
    store.lease("a.test")
    with Driven(crawl(clock, path)) as other:
        assert other.wait("a.test")[1] == LEASED
        other.lease("b.test")
    clock.now += 1.0
    assert store.wait("a.test")[1] == LEASED
    assert store.lease("b.test")


def test_nothing_is_left_beside_the_file(clock: Clock, path: Path) -> None:
    """After the last crawl there is one file: no log, no sign of life."""
    with Driven(crawl(clock, path)) as one, Driven(crawl(clock, path)) as other:
        one.lease("a.test")
        other.lease("b.test")
        assert len(list(path.parent.glob("*.alive"))) == 1
    assert list(path.parent.iterdir()) == [path]


# bounds


def test_hosts_are_dropped_in_passing(
    store: Driven, clock: Clock, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A host goes when its wait is over and its state calm; a refused one is kept for a day."""
    monkeypatch.setattr(hosts_module, "SWEEP_EVERY", 4)
    refused = HostState(backoff=Backoff(episodes=1, until_at=clock.now))
    store.release(store.lease("calm.test"), 10.0, HostState(duration=1.0))
    store.release(store.lease("refused.test"), 10.0, refused)
    store.release(store.lease("waits.test"), 50.0)
    clock.now += 11.0
    store.release(store.lease("last.test"), 1.0)
    kept = [("last.test",), ("refused.test",), ("waits.test",)]
    assert rows(path, "SELECT host FROM hosts ORDER BY host") == kept
    clock.now += MEMORY
    with Driven(crawl(clock, path)) as other:
        other.open()
    assert rows(path, "SELECT host FROM hosts") == []


def put(store: Driven, number: int, size: int = 10) -> None:
    """Put a record, answered at its number, of *size* octets that do not compress."""
    body = Random(number).randbytes(size)
    origin = f"https://h{number}.test"
    store.put_robots(RobotsRecord(origin, Access.SUCCESSFUL, body, answered_at=float(number)))


@pytest.mark.parametrize(
    ("sizes", "kept"),
    [
        ([10, 10, 10, 10], [0, 1, 2, 3]),
        ([10, 10, 10, 10, 10, 10], [2, 3, 4, 5]),
        ([10, 3000, 2000], [2]),
    ],
    ids=["within bounds", "too many", "too large together"],
)
def test_oldest_answers_go_first(
    clock: Clock, path: Path, sizes: list[int], kept: list[int]
) -> None:
    """Beyond the bounds of records and octets, those with the oldest answers are dropped."""
    with Driven(crawl(clock, path)) as store:
        for number, size in enumerate(sizes):
            put(store, number, size)
    with Driven(crawl(clock, path)) as store:
        store.open()
        origins = [f"https://h{number}.test" for number in range(len(sizes))]
        found = [number for number, origin in enumerate(origins) if store.get_robots(origin)]
    assert found == kept


def test_bounds_hold_during_a_run(
    store: Driven, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A run that writes many records drops the oldest on its way."""
    monkeypatch.setattr(robots_module, "TIDY_EVERY", 8)
    for number in range(16):
        put(store, number)
    assert rows(path, "SELECT count(*) FROM robots") == [(4,)]


def test_records_nobody_wants_go(clock: Clock, path: Path) -> None:
    """A record that no crawl asked for in 60 days is dropped; one that was asked for stays."""
    with Driven(crawl(clock, path)) as store:
        put(store, 1)
        put(store, 2)
        clock.now += 59 * DAY
        assert store.get_robots("https://h1.test")
        clock.now += 2 * DAY
    with Driven(crawl(clock, path)) as store:
        assert store.get_robots("https://h1.test")
        assert store.get_robots("https://h2.test") is None


def test_bodies_are_compressed(store: Driven, path: Path) -> None:
    """A long file of much the same lines takes a fraction of its size."""
    body = b"Disallow: /private/\n" * 10_000
    store.put_robots(RobotsRecord("https://a.test", Access.SUCCESSFUL, body))
    [[size]] = rows(path, "SELECT length(body) FROM robots")
    assert isinstance(size, int)
    assert size < len(body) / 100


def test_robots_table_has_every_field(store: Driven, path: Path) -> None:
    """A field that is added to the record needs a column, and a new version of the file."""
    store.open()
    columns = [row[1] for row in rows(path, "PRAGMA table_info(robots)")]
    assert columns == [*(field.name for field in fields(RobotsRecord)), "asked_at"]


def test_a_host_that_was_kept_for_decades_comes_back(
    store: Driven, clock: Clock, path: Path
) -> None:
    """An instant that no wait of ours ends at, left by an earlier version, is no reason to leave
    a host alone: it is due after the longest charge, in the file too."""
    store.release(store.lease("a.test"), 0.0, HostState())
    with closing(sqlite3.connect(path)) as db, db:
        db.execute("UPDATE hosts SET due_at = due_at + ?", (10 * 365.25 * DAY,))
    [wait] = [store.wait("a.test")[0] for _ in range(3)][2:]
    assert wait == 600.0
    clock.now += 600.0
    store.release(store.lease("a.test"), 5.0, HostState())
    assert store.wait("a.test")[0] == 5.0


def test_a_year_is_kept(store: Driven) -> None:
    """The longest wait that a host can ask for stands."""
    store.release(store.lease("a.test"), 365.25 * DAY, HostState())
    assert store.wait("a.test")[0] == 365.25 * DAY
