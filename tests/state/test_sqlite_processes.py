"""Several processes with one state file: killed, stopped, in each other's way, under any reactor.

Rules: the other processes run `crawl_apart.py`. Waits are measured on the machine's own clock, so
only lower bounds of them are asserted.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from scrapy.utils.defer import maybe_deferred_to_future
from twisted.internet.defer import Deferred

from scrapy_polite.state import inspect
from scrapy_polite.state.memory import LEASED, NOT_DUE
from scrapy_polite.state.sqlite import LeaseRules, SqliteStore, alive
from state.kit import PATIENCE, Driven

SCRIPT = Path(__file__).with_name("crawl_apart.py")
FACTOR = 10.0


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "polite.db"


class Apart:
    """A crawl in a process of its own."""

    def __init__(self, path: Path, *command: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, str(SCRIPT), str(path), *command],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def hear(self) -> dict[str, Any]:
        """Return the next line that it tells."""
        assert self.process.stdout is not None
        told: dict[str, Any] = json.loads(self.process.stdout.readline())
        return told

    def ask(self, line: object) -> dict[str, Any]:
        """Say something and return what it tells."""
        assert self.process.stdin is not None
        self.process.stdin.write(f"{line}\n")
        self.process.stdin.flush()
        return self.hear()

    def signal(self, number: signal.Signals) -> None:
        self.process.send_signal(number)
        if number == signal.SIGKILL:
            self.process.wait(PATIENCE)

    def rest(self) -> list[dict[str, Any]]:
        """Wait for its end and return all else that it told."""
        told, _ = self.process.communicate(timeout=PATIENCE)
        return [json.loads(line) for line in told.splitlines()]


@contextmanager
def apart(path: Path, *command: str) -> Iterator[Apart]:
    """Run a crawl in a process of its own, and end it."""
    crawl = Apart(path, *command)
    try:
        yield crawl
    finally:
        crawl.process.kill()
        crawl.process.communicate()


def test_another_process_has_the_turn(path: Path) -> None:
    """A host that another process leased is denied until that one releases it."""
    with apart(path, "hold", "a.test") as other, Driven(SqliteStore(path)) as store:
        assert other.hear() == {"host": "a.test"}
        assert store.wait("a.test")[1] == LEASED
        assert other.ask(20.0) == {"released": True}
        seconds, reason = store.wait("a.test")
        assert (10.0 < seconds <= 20.0, reason) == (True, NOT_DUE)


def test_link_to_the_file(path: Path) -> None:
    """Crawls that know the file by different paths know of each other."""
    link = path.with_name("link") / "to.db"
    link.parent.mkdir()
    link.symlink_to(path)
    with apart(path, "hold", "a.test") as other, Driven(SqliteStore(link)) as store:
        other.hear()
        assert store.wait("a.test")[1] == LEASED
        assert [known.reason for known in inspect.hosts(link)] == [inspect.LEASED]


@pytest.mark.parametrize("swept", [False, True])
def test_killed_process_frees_its_hosts_at_once(path: Path, swept: bool) -> None:
    """The first to ask after a kill -9 finds the turn free, the fetch charged until then."""
    with apart(path, "hold", "a.test") as other, Driven(SqliteStore(path)) as store:
        other.hear()
        held_at = time.monotonic()
        time.sleep(0.2)
        assert store.wait("a.test")[1] == LEASED
        other.signal(signal.SIGKILL)
        held_for = time.monotonic() - held_at
        [sign] = path.parent.glob(f"*.{other.process.pid}-*.alive")
        if swept:
            sign.unlink()
        seconds, reason = store.wait("a.test")
        assert reason == NOT_DUE
        assert seconds >= FACTOR * held_for


def test_signs_of_dead_processes_are_swept(path: Path) -> None:
    """A new crawl removes the signs of life that killed ones left behind."""
    with apart(path, "hold", "a.test") as other:
        other.hear()
    assert list(path.parent.glob("*.alive")) != []
    with Driven(SqliteStore(path)) as store:
        store.open()
    assert list(path.parent.glob("*.alive")) == []


def test_sign_is_swept_under_its_lock(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who is about to lock a sign that is swept away notices, for it is locked meanwhile."""
    was_locked, unlink = list[bool](), Path.unlink

    def seen(sign: Path, *, missing_ok: bool = False) -> None:
        was_locked.append(alive.is_alive(path, "1-dead"))
        unlink(sign, missing_ok=missing_ok)

    sign = alive.path_of(path, "1-dead")
    sign.touch()
    monkeypatch.setattr(Path, "unlink", seen)
    alive.sweep(path)
    assert was_locked == [True]
    assert not sign.exists()


def test_child_does_not_stand_in_for_a_killed_process(path: Path) -> None:
    """A forked child that outlives its parent holds nothing for it."""
    with apart(path, "fork", "a.test") as other, Driven(SqliteStore(path)) as store:
        child = other.hear()["child"]
        try:
            assert store.wait("a.test")[1] == LEASED
            other.signal(signal.SIGKILL)
            assert store.wait("a.test")[1] == NOT_DUE
        finally:
            os.kill(child, signal.SIGKILL)


def test_stopped_process_keeps_its_hosts(path: Path) -> None:
    """A process in SIGSTOP may have its fetch on the wire: the others wait."""
    with apart(path, "hold", "a.test") as other, Driven(SqliteStore(path)) as store:
        other.hear()
        other.signal(signal.SIGSTOP)
        time.sleep(0.2)
        assert store.wait("a.test")[1] == LEASED
        other.signal(signal.SIGCONT)
        assert other.ask(0.0) == {"released": True}


def test_process_stopped_for_too_long_loses_its_hosts(path: Path) -> None:
    """Beyond the greatest age of a lease its host is charged, and its late release is stale."""
    impatient = SqliteStore(path, leases=LeaseRules(max_age=0.2))
    with apart(path, "hold", "a.test") as other, Driven(impatient) as store:
        other.hear()
        other.signal(signal.SIGSTOP)
        time.sleep(0.3)
        seconds, reason = store.wait("a.test")
        assert (seconds >= FACTOR * 0.3, reason) == (True, NOT_DUE)
        other.signal(signal.SIGCONT)
        assert other.ask(60.0) == {"released": False}
        assert store.wait("a.test")[0] > 50.0


def test_contending_processes_never_overlap(path: Path) -> None:
    """Four processes, one of them killed, have each host one at a time and keep every wait."""
    hosts = [f"h{number}.test" for number in range(6)]
    command = ("fetch", ",".join(hosts), "1.5", "4")
    with (
        apart(path, *command) as one,
        apart(path, *command) as two,
        apart(path, *command) as three,
        apart(path, *command) as victim,
    ):
        told = [victim.hear() for _ in range(9)]
        victim.signal(signal.SIGKILL)
        for crawl in (one, two, three, victim):
            told += crawl.rest()
    turns = 0
    for began_at, free_at in gaps(told):
        assert began_at >= free_at
        turns += 1
    assert turns > 50


def gaps(told: list[dict[str, Any]]) -> Iterator[tuple[float, float]]:
    """Yield for each turn when it began, and when its host was free by the turn before.

    A turn without an end was killed: its host was busy for as long as it had been so far at least.
    """
    events = defaultdict(list)
    for event in told:
        events[event["host"]].append(event)
    for of_host in events.values():
        of_host.sort(key=lambda event: float(event.get("began_at") or event["ended_at"]))
        free_at = began_at = float("-inf")
        for event in of_host:
            if "began_at" in event:
                yield event["began_at"], free_at
                began_at, free_at = event["began_at"], event["began_at"] + 1.0  # least charge
            else:
                assert event["ended_at"] > began_at
                free_at = event["ended_at"] + event["delay"]


@pytest.mark.parametrize("reactor", ["asyncio", "select", "none"])
def test_answers_come_in_the_main_thread(path: Path, reactor: str) -> None:
    """Under each reactor, and without one, Deferreds fire where the crawl runs."""
    with apart(path, "reactor", reactor) as crawl:
        [told] = crawl.rest()
    without = {"reactor": False} if reactor == "none" else {}
    assert told == {"host": "a.test", "thread": "MainThread", **without}


async def test_answers_come_under_the_reactor_of_the_tests(path: Path) -> None:
    """A coroutine of a crawl can await the store as it awaits everything else."""
    store = SqliteStore(path)
    asked = Deferred.fromCoroutine(store.acquire(["a.test"], limit=1))
    acquired = await maybe_deferred_to_future(asked)
    assert [lease.host for lease in acquired.leases] == ["a.test"]
    await maybe_deferred_to_future(Deferred.fromCoroutine(store.close()))
