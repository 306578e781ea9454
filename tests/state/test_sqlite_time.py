"""The time of a state file: clocks that are set, reboots, suspended machines.

Rules: a first run leaves its host alone for 600 s, at wall time 1,000,000 and an uptime of 5,000 s;
a second run opens the file later. Each case tells how the clocks of the machine look by then, and
how long the host still has to wait.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pytest

from scrapy_polite.policy.backoff import Backoff
from scrapy_polite.policy.host import HostState
from scrapy_polite.policy.robots_access import Access
from scrapy_polite.policy.robots_cache import RobotsRecord
from scrapy_polite.state.clock import steady
from scrapy_polite.state.sqlite import SqliteStore
from scrapy_polite.state.sqlite.file_time import Machine, boot_id, uptime
from state.kit import Clock, Driven

WALL, UPTIME, WAIT, DAY = 1_000_000.0, 5_000.0, 600.0, 86_400.0


@dataclass(frozen=True, slots=True)
class Later:
    """The clocks at the second run; the wait that is left then."""

    wall: float
    uptime: float
    boot: str
    left: float


CASES = {
    "100 s later": Later(WALL + 100, UPTIME + 100, "first", 500),
    "clock set forward": Later(WALL + DAY, UPTIME + 100, "first", 500),
    "clock set back": Later(WALL - DAY, UPTIME + 100, "first", 500),
    "rebooted": Later(WALL + 100, 30, "second", 500),
    "rebooted, a day off": Later(WALL + DAY, 30, "second", 0),
    "rebooted, clock set back": Later(WALL - DAY, 30, "second", 600),
    "rebooted, clock of 1970": Later(0, 30, "second", 600),
    "moved to a machine that is up for long": Later(WALL + 20, 100 * DAY, "second", 580),
    "moved to a machine whose clock is behind": Later(WALL - 20, 100 * DAY, "second", 600),
    "no boot id": Later(WALL + 100, 30, "", 500),
    "no boot id, clock set back": Later(WALL - DAY, 30, "", 600),
}


def machine(wall: float, up: float, boot: str) -> Machine:
    return Machine(wall=lambda: wall, uptime=lambda: up, boot_id=lambda: boot)


def first_run(path: Path, clock: Clock, boot: str) -> None:
    """Leave a host alone for WAIT seconds, and a robots.txt unasked until then."""
    until_at = clock.now + WAIT
    with Driven(SqliteStore(path, clock=clock, machine=machine(WALL, UPTIME, boot))) as store:
        blocked = HostState(backoff=Backoff(refusals=1, began_at=clock.now, until_at=until_at))
        store.release(store.lease("a.test"), WAIT, blocked)
        store.put_robots(
            RobotsRecord(
                "http://a.test",
                Access.SUCCESSFUL,
                answered_at=clock.now,
                fresh_until_at=until_at,
                unreachable_since_at=clock.now,
            )
        )


@pytest.mark.parametrize("later", CASES.values(), ids=CASES)
def test_wait_over_runs(later: Later, tmp_path: Path) -> None:
    """A wait, and every instant with it, is as far off as the best witness says."""
    first, second = Clock(77.0), Clock(9_999.0)  # each run has a clock of its own
    path = tmp_path / "polite.db"
    first_run(path, first, later.boot and "first")
    later_machine = machine(later.wall, later.uptime, later.boot)
    with Driven(SqliteStore(path, clock=second, machine=later_machine)) as store:
        acquired = store.acquire("a.test")
        assert acquired.waits.get("a.test", (0.0, ""))[0] == pytest.approx(later.left)
        record = store.get_robots("http://a.test")
        assert record is not None
        fresh_for = record.fresh_until_at - second.now
        assert fresh_for == pytest.approx(later.left if later.left else WAIT - DAY)
        assert record.answered_at == record.unreachable_since_at
        assert record.answered_at == pytest.approx(record.fresh_until_at - WAIT)
        for lease in acquired.leases:
            assert lease.granted_at == pytest.approx(second.now)
            assert lease.state.backoff.until_at == pytest.approx(record.fresh_until_at)


def test_clock_set_while_running(tmp_path: Path) -> None:
    """Setting the wall clock in mid-run changes no wait, in this run and in the next."""
    clock, wall = Clock(), Clock(WALL)
    machine = Machine(wall=wall, uptime=clock, boot_id=lambda: "boot")
    path = tmp_path / "polite.db"
    with Driven(SqliteStore(path, clock=clock, machine=machine)) as store:
        store.release(store.lease("a.test"), 600.0)
        wall.now += DAY
        clock.now += 10.0
        assert store.wait("a.test")[0] == pytest.approx(590.0)
        store.lease("b.test")  # writes the new wall time down
    clock.now += 10.0
    with Driven(SqliteStore(path, clock=clock, machine=machine)) as store:
        assert store.wait("a.test")[0] == pytest.approx(580.0)


def test_time_goes_on_from_the_end_of_a_run(tmp_path: Path) -> None:
    """With a clock that was set back over a reboot, the time of the last run still counts."""
    path, clock, up = tmp_path / "polite.db", Clock(), Clock(UPTIME)
    running = Machine(wall=lambda: WALL, uptime=up, boot_id=lambda: "first")
    with Driven(SqliteStore(path, clock=clock, machine=running)) as store:
        store.release(store.lease("a.test"), WAIT)
        up.now += 200.0
    with Driven(SqliteStore(path, clock=clock, machine=machine(0.0, 30.0, "second"))) as store:
        assert store.wait("a.test")[0] == pytest.approx(WAIT - 200.0)


def test_time_of_a_file_never_goes_back(tmp_path: Path) -> None:
    """Reboots with ever earlier clocks do not begin waits anew: the time of each run counts."""
    path, clock = tmp_path / "polite.db", Clock()
    first_run(path, clock, "boot 0")
    left = WAIT
    for boot in range(1, 4):
        up, wall = Clock(100.0), Clock(WALL - boot * DAY)
        earlier = Machine(wall=wall, uptime=up, boot_id=partial(str, f"boot {boot}"))
        with Driven(SqliteStore(path, clock=clock, machine=earlier)) as store:
            assert store.wait("a.test")[0] == pytest.approx(left)
            up.now += 100.0
            left -= 100.0


def test_this_machine_has_the_clocks() -> None:
    """Time since boot grows, and the boot keeps its name."""
    assert 0.0 < uptime() <= uptime()
    assert boot_id() == boot_id()


def test_steady_clock_reads_like_wall_time() -> None:
    """Our clock is near the wall clock when nobody sets that."""
    assert steady() == pytest.approx(Machine().wall(), abs=60.0)
