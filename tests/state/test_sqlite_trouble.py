"""A state file in trouble: damaged, foreign, newer, locked, deleted, no room, read-only."""

from __future__ import annotations

import fcntl
import logging
import math
import os
import shutil
import sqlite3
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from scrapy_polite.policy.backoff import Backoff
from scrapy_polite.policy.host import HostState
from scrapy_polite.state import inspect
from scrapy_polite.state.memory import LEASED, NOT_DUE
from scrapy_polite.state.protocol import StoreUnavailable
from scrapy_polite.state.sqlite import LeaseRules, NewerFile, SqliteStore
from state.kit import PATIENCE, Clock, Driven
from state.test_sqlite_processes import apart


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "polite.db"


@pytest.fixture
def store(path: Path) -> Iterator[Driven]:
    with Driven(SqliteStore(path, busy_timeout=0.1)) as store:
        yield store


def change(path: Path, *statements: str) -> None:
    """Change a file behind the store's back."""
    with closing(sqlite3.connect(path)) as db, db:
        for statement in statements:
            db.execute(statement)


# foreign and damaged files


def words(path: Path) -> None:
    path.write_text("a page of my diary\n" * 100)


def other_database(path: Path) -> None:
    change(path, "CREATE TABLE diary (page)", "INSERT INTO diary VALUES ('1 May')")


def other_owner(path: Path) -> None:
    change(path, "PRAGMA application_id = 7")


def truncated(path: Path) -> None:
    with Driven(SqliteStore(path)) as store:
        store.release(store.lease("a.test"), 600.0)
    path.write_bytes(path.read_bytes()[:5000])


def clock_missing(path: Path) -> None:
    with Driven(SqliteStore(path)) as store:
        store.open()
    change(path, "DELETE FROM clock")


@pytest.mark.parametrize("make", [words, other_database, other_owner, truncated, clock_missing])
def test_unusable_file_is_set_aside(
    make: Callable[[Path], None], path: Path, store: Driven, caplog: pytest.LogCaptureFixture
) -> None:
    """What is not ours, or not whole, is moved away as it is, told in one line, and begun anew."""
    make(path)
    content = path.read_bytes()
    with caplog.at_level(logging.WARNING):
        assert store.lease("a.test")
    [line] = caplog.messages
    assert str(path) in line
    aside = path.with_name("polite.db.corrupt-1")
    assert str(aside) in line
    assert aside.read_bytes()[: len(content)] == content


def test_each_unusable_file_is_kept(path: Path) -> None:
    """A second file is set aside beside the first."""
    for number in (1, 2):
        path.write_text(f"diary {number}")
        with Driven(SqliteStore(path)) as store:
            store.open()
        assert path.with_name(f"polite.db.corrupt-{number}").read_text() == f"diary {number}"


DAMAGE = {
    "a state that is none": "UPDATE hosts SET state = '{'",
    "a table that is gone": "DROP TABLE hosts",
}


@pytest.mark.parametrize("statement", DAMAGE.values(), ids=DAMAGE)
def test_damage_during_a_run(statement: str, path: Path, store: Driven) -> None:
    """A file that turns out to be damaged is set aside; turns in hand are kept."""
    store.release(store.lease("a.test"), 0.0, HostState(duration=1.0))
    held = store.lease("b.test")
    change(path, statement)
    assert store.lease("a.test").state == HostState()
    assert path.with_name("polite.db.corrupt-1").exists()
    assert store.wait("b.test")[1] == LEASED
    assert store.release(held, 60.0)
    assert store.wait("b.test")[1] == NOT_DUE


def test_empty_file_is_ours(path: Path, store: Driven) -> None:
    """A file of no octets is made into a state file where it is."""
    path.touch()
    assert store.lease("a.test")
    assert not path.with_name("polite.db.corrupt-1").exists()


def test_newer_file_is_left_alone(path: Path, store: Driven) -> None:
    """A file of a newer version stops the crawl with one sentence, and is not touched."""
    with Driven(SqliteStore(path)) as first:
        first.open()
    change(path, "PRAGMA user_version = 99")
    content = path.read_bytes()
    with pytest.raises(NewerFile, match=r"version 99 .*: upgrade scrapy_polite, or choose") as info:
        store.open()
    assert isinstance(info.value, ValueError)
    with pytest.raises(StoreUnavailable):
        store.acquire("a.test")
    assert path.read_bytes() == content


# a file that cannot be written


def test_locked_file(path: Path, store: Driven) -> None:
    """While another program locks the file nothing is leased; afterwards the store is back."""
    store.lease("a.test")
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        for _ in range(2):
            with pytest.raises(StoreUnavailable, match="locked"):
                store.acquire("b.test")
        other.execute("ROLLBACK")
    assert store.lease("b.test")
    assert store.wait("a.test")[1] == LEASED


def test_what_could_not_be_written_is_owed(path: Path, store: Driven) -> None:
    """Ends of turns and pushes during a failure count as soon as the file can be written."""
    lease, unused = store.lease("a.test"), store.lease("b.test")
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreUnavailable):
            store.release(lease, 50.0, HostState(duration=5.0))
        with pytest.raises(StoreUnavailable):
            store.give_back([unused])
        with pytest.raises(StoreUnavailable):
            store.push_back("c.test", 40.0)
        other.execute("ROLLBACK")
    seconds, reason = store.wait("a.test")
    assert (40.0 < seconds <= 50.0, reason) == (True, NOT_DUE)
    assert store.lease("b.test")
    assert store.wait("c.test")[0] > 30.0


@pytest.mark.parametrize(
    "state",
    [HostState(duration=math.nan), HostState(backoff=Backoff(rung=math.inf))],
    ids=["nan", "infinite"],
)
def test_an_end_that_no_file_can_keep_holds_up_no_other(
    path: Path, store: Driven, state: HostState, caplog: pytest.LogCaptureFixture
) -> None:
    """It is set aside with an ERROR, its host left alone for long; other hosts go on."""
    bad, good = store.lease("bad.test"), store.lease("good.test")
    store.release(bad, 1.0, state)
    store.release(good, 50.0, HostState(duration=5.0))
    assert 500.0 < store.wait("bad.test")[0] <= 600.0
    assert 40.0 < store.wait("good.test")[0] <= 50.0
    assert store.lease("other.test")
    assert ["bad.test" in record.message for record in caplog.records] == [True]


def test_a_wait_that_is_no_number_is_set_aside(path: Path, store: Driven) -> None:
    """NaN is no instant: its host is left alone for long, and the file goes on."""
    store.release(store.lease("bad.test"), math.nan, HostState())
    assert 500.0 < store.wait("bad.test")[0] <= 600.0
    assert store.lease("other.test")


def test_impossible_folder(tmp_path: Path) -> None:
    """A path below a file is no place for a store, until it is one."""
    obstacle = tmp_path / "folder"
    obstacle.touch()
    with Driven(SqliteStore(obstacle / "polite.db")) as store:
        with pytest.raises(StoreUnavailable):
            store.open()
        obstacle.unlink()
        assert store.lease("a.test")


def test_folder_that_somebody_locks(path: Path, store: Driven) -> None:
    """A process that hangs while it opens the file makes the others give up, not hang."""
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        fcntl.flock(folder, fcntl.LOCK_EX)
        with pytest.raises(StoreUnavailable, match="locked by another process"):
            store.open()
    finally:
        os.close(folder)
    assert store.lease("a.test")


def test_full_disk(path: Path) -> None:
    """On a full disk nothing is leased and no lease is lost; with room again the store is back."""
    with apart(path, "full") as crawl:
        stopped, kept, last = crawl.rest()
    assert stopped["kept"] > 0
    assert str(path) in stopped["error"]
    assert kept == {"lost": 0}
    assert last == {"host": "last.test"}


@pytest.fixture
def readable() -> Iterator[Path]:
    """A folder that everybody may read."""
    folder = Path(tempfile.mkdtemp(prefix="state-"))
    folder.chmod(0o755)
    yield folder
    folder.chmod(0o755)
    shutil.rmtree(folder)


@pytest.mark.parametrize("exists", [False, True])
def test_read_only(readable: Path, exists: bool) -> None:
    """A file that may not be written, or not be made, gives no lease."""
    path = readable / "polite.db"
    if exists:
        with Driven(SqliteStore(path)) as store:
            store.open()
        path.chmod(0o444)
    readable.chmod(0o555)
    with apart(path, "unwritable") as crawl:
        [told] = crawl.rest()
    assert "readonly" in told["error"] or "unable to open" in told["error"]


# a file that is gone


def all_files(path: Path) -> None:
    for file in path.parent.iterdir():
        file.unlink()


def state_file(path: Path) -> None:
    path.unlink()


def whole_folder(path: Path) -> None:
    shutil.rmtree(path.parent)


@pytest.mark.parametrize("delete", [all_files, state_file, whole_folder])
def test_deleted_file(
    delete: Callable[[Path], None], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """A file that was deleted is begun anew by all crawls, with the turns that they have."""
    path = tmp_path / "folder" / "polite.db"
    clock, rules = Clock(), LeaseRules(entering=10.0)
    crawls = [
        SqliteStore(path, clock=clock, machine=clock.machine(), leases=rules) for _ in range(2)
    ]
    with Driven(crawls[0]) as one, Driven(crawls[1]) as other:
        held, others = one.lease("a.test"), other.lease("b.test")
        with caplog.at_level(logging.WARNING):
            delete(path)
            assert one.wait("c.test") == (10.0, LEASED)  # until the other has entered its turn
            assert other.renew(others) == [others]
        assert len(caplog.messages) == 2
        assert all("deleted or replaced" in line for line in caplog.messages)
        clock.now += 10.0
        assert one.wait("b.test")[1] == LEASED
        assert other.wait("a.test")[1] == LEASED
        assert other.lease("c.test")
        assert one.release(held, 60.0)
        assert other.wait("a.test")[1] == NOT_DUE


def test_crawl_in_another_process_enters_its_turns(path: Path) -> None:
    """A file that was deleted is closed until the other processes had time to enter their turns."""
    patient = SqliteStore(path, leases=LeaseRules(entering=600.0))
    with apart(path, "hold", "a.test") as other, Driven(patient) as store:
        other.hear()
        store.open()
        path.unlink()
        seconds, reason = store.wait("a.test")
        assert (seconds > 500.0, reason) == (True, LEASED)
        assert other.ask(60.0) == {"released": True}
        [known] = inspect.hosts(path)
        assert (known.host, known.reason) == ("a.test", inspect.DELAY)


def test_crawl_alone_goes_on_at_once(path: Path, store: Driven) -> None:
    """Without other crawls there is nobody to wait for in a file that was begun anew."""
    store.open()
    path.unlink()
    assert store.lease("a.test")


def test_others_may_be_faster(path: Path) -> None:
    """Of two turns of a host after a file was deleted, the later one to be entered is stale."""
    crawls = [SqliteStore(path, leases=LeaseRules(entering=0.0)) for _ in range(2)]
    with Driven(crawls[0]) as one, Driven(crawls[1]) as other:
        held = one.lease("a.test")
        other.open()
        path.unlink()
        taken = other.lease("a.test")
        assert one.renew(held) == [None]
        assert not one.release(held, 60.0)
        assert other.release(taken, 0.0)
        assert other.wait("a.test")[0] > 50.0


def test_lease_that_was_freed_does_not_come_back(path: Path, store: Driven) -> None:
    """Opening the same file again enters no turn that it took from us."""
    held = store.lease("a.test")
    change(path, "DELETE FROM leases")
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreUnavailable):
            store.acquire("b.test")
        other.execute("ROLLBACK")
    assert store.renew(held) == [None]


def test_sign_of_life_is_shown_again(path: Path) -> None:
    """A sign of life that somebody removed is back before anything else is done."""
    with Driven(SqliteStore(path)) as store, apart(path, "hold", "b.test") as other:
        other.hear()
        held = store.lease("a.test")
        for sign in path.parent.glob("*.alive"):
            sign.unlink()
        assert store.renew(held) == [held]
        [sign] = path.parent.glob("*.alive")
        assert sign.stat().st_size == 0


def test_closed_store_is_unavailable(path: Path, store: Driven) -> None:
    """After its end a store answers nothing, and can be closed again."""
    store.close()
    store.close()
    with pytest.raises(StoreUnavailable, match="closed"):
        store.acquire("a.test")


def test_store_that_was_never_used_leaves_nothing(path: Path) -> None:
    """Closing a store that was not opened makes no file and leaves no thread."""
    before = threading.active_count()
    with Driven(SqliteStore(path)):
        pass
    assert list(path.parent.iterdir()) == []
    for thread in threading.enumerate():
        if thread.name.startswith("polite-state"):
            thread.join(PATIENCE)
    assert threading.active_count() <= before
