"""Looking at a state file from outside, and forgetting a host."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from scrapy_polite.policy.backoff import Backoff
from scrapy_polite.policy.host import HostState
from scrapy_polite.policy.robots_access import Access
from scrapy_polite.policy.robots_cache import RobotsRecord
from scrapy_polite.state import inspect
from scrapy_polite.state.clock import steady
from scrapy_polite.state.memory import LEASED
from scrapy_polite.state.sqlite import SqliteStore
from state.kit import Driven
from state.test_sqlite_processes import apart

SLACK = 30.0  # seconds that a slow machine may take for a test


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "polite.db"


@pytest.fixture
def store(path: Path) -> Iterator[Driven]:
    with Driven(SqliteStore(path)) as store:
        store.open()
        yield store


def blocked(seconds: float, *, parked: bool = False) -> HostState:
    backoff = Backoff(refusals=1, until_at=steady() + seconds, asked=seconds, parked=parked)
    return HostState(backoff=backoff)


Wait = tuple[float, Callable[[], HostState]]
WAITS: dict[str, Wait] = {
    inspect.DELAY: (50.0, lambda: HostState(duration=5.0, delay=50.0)),
    inspect.BACKOFF: (500.0, lambda: blocked(500.0)),
    inspect.PARKED: (90_000.0, lambda: blocked(90_000.0, parked=True)),
    inspect.READY: (0.0, HostState),
}


@pytest.mark.parametrize(("reason", "wait"), WAITS.items(), ids=WAITS)
def test_why_a_host_waits(path: Path, store: Driven, reason: str, wait: Wait) -> None:
    """Each host is told with the seconds that are left, and the reason."""
    seconds, state = wait
    store.release(store.lease("a.test"), seconds, state())
    [known] = inspect.hosts(path)
    assert (known.host, known.reason, known.holder, known.held_for) == (
        "a.test",
        reason,
        None,
        None,
    )
    assert seconds - SLACK < known.due_in <= seconds
    if reason == inspect.BACKOFF:
        assert seconds - SLACK < known.state.backoff.until_at <= seconds


def test_hosts_in_order_of_their_turns(path: Path, store: Driven) -> None:
    """All hosts are told, those that wait longest last; or the one that is asked for."""
    for host, delay in (("c.test", 90.0), ("a.test", 30.0), ("b.test", 60.0)):
        store.push_back(host, delay)
    assert [known.host for known in inspect.hosts(path)] == ["a.test", "b.test", "c.test"]
    assert [known.host for known in inspect.hosts(path, "b.test")] == ["b.test"]
    assert inspect.hosts(path, "d.test") == []


def test_who_has_the_turn(path: Path, store: Driven) -> None:
    """A host in use is told with the process that uses it."""
    store.lease("a.test")
    [known] = inspect.hosts(path)
    assert (known.reason, known.holder) == (inspect.LEASED, os.getpid())
    assert known.held_for is not None
    assert 0.0 <= known.held_for < SLACK


def test_dead_holder(path: Path, store: Driven) -> None:
    """A turn of a process that was killed is told as such."""
    with apart(path, "hold", "a.test") as other:
        other.hear()
    [known] = inspect.hosts(path)
    assert (known.reason, known.holder) == (inspect.LOST, other.process.pid)


def test_robots_records(path: Path, store: Driven) -> None:
    """Records are told in order of origin, their instants as seconds from now."""
    for origin in ("http://b.test", "http://a.test"):
        now = steady()
        store.put_robots(
            RobotsRecord(origin, Access.SUCCESSFUL, b"#", now - 100.0, now + 500.0, status=200)
        )
    first, second = inspect.robots(path)
    assert (first.origin, second.origin) == ("http://a.test", "http://b.test")
    assert (first.access, first.body, first.status) == (Access.SUCCESSFUL, b"#", 200)
    assert first.answered_at is not None
    assert -100.0 - SLACK < first.answered_at <= -100.0
    assert 500.0 - SLACK < first.fresh_until_at <= 500.0
    assert [record.origin for record in inspect.robots(path, "http://b.test")] == ["http://b.test"]


def test_forget_a_host(path: Path, store: Driven) -> None:
    """A forgotten host is due at once, its robots.txt unknown; other hosts are not touched."""
    store.push_back("a.test", 900.0)
    store.push_back("b.test", 900.0)
    for origin in ("http://a.test", "https://a.test:8443", "http://b.test"):
        store.put_robots(RobotsRecord(origin, Access.SUCCESSFUL))
    assert inspect.forget(path, "a.test")
    assert not inspect.forget(path, "a.test")
    assert store.lease("a.test")
    assert [record.origin for record in inspect.robots(path)] == ["http://b.test"]
    assert store.wait("b.test")[0] > 800.0


def test_forgetting_takes_no_turn_away(path: Path, store: Driven) -> None:
    """A host that is being fetched stays leased until its fetch ends."""
    lease = store.lease("a.test")
    inspect.forget(path, "a.test")
    assert store.wait("a.test")[1] == LEASED
    assert store.release(lease, 60.0)


def test_no_file(path: Path) -> None:
    """Looking makes no file."""
    with pytest.raises(FileNotFoundError, match="There is no state file"):
        inspect.hosts(path)
    assert not path.exists()


@pytest.mark.parametrize("content", [b"", b"a page of my diary\n" * 100], ids=["empty", "foreign"])
def test_no_state_file(path: Path, content: bytes) -> None:
    """What is no state file is told in one sentence, and left where it is."""
    path.write_bytes(content)
    with pytest.raises(ValueError, match="is no state file"):
        inspect.forget(path, "a.test")
    assert path.read_bytes() == content
