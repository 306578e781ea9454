"""The store of several runs and several processes of one machine: an SQLite file.

Rules:

- All file work is done by one thread of the store, one call after the other.
- A process shows itself alive by a locked file beside the state file, see `alive`; the turns
  of a dead one are freed at once and charged, see `hosts`.
- Instants on disk are in the time of the file, which no clock change and no reboot bends, see
  `file_time`; what the store takes and gives is in the caller's own monotonic clock.
- What goes wrong is `StoreUnavailable`, from each call that it touches: a locked, full, read-only
  or unreadable disk.  The next call opens the file again, so the store is back when the cause is
  gone.  A file that was deleted or replaced is begun anew, with the leases in hand; one that is
  damaged or foreign is set aside, see `file`.
- It needs `flock`, which every Unix has, and a file system of this machine.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

from twisted.internet.defer import Deferred

from scrapy_polite.policy.host import HostState
from scrapy_polite.policy.robots_cache import RobotsRecord
from scrapy_polite.state.clock import steady
from scrapy_polite.state.protocol import Acquired, Lease, StoreUnavailable
from scrapy_polite.state.sound import sound
from scrapy_polite.state.sqlite.file_time import Machine
from scrapy_polite.state.sqlite.leases import End, LeaseRules
from scrapy_polite.state.sqlite.robots import RobotsBounds
from scrapy_polite.state.sqlite.session import Session
from scrapy_polite.state.sqlite.worker import Worker

T = TypeVar("T")


class SqliteStore:
    """Clocks and records in a file; see `PolitenessStore`.

    Args:
        path: of the file; it and its folder are made when they are missing.
        clock: the caller's monotonic clock in seconds, which all instants are in.
        leases: what becomes of turns that nobody ends.
        robots: how many robots records are kept.
        busy_timeout: seconds to wait for other processes before the store is unavailable.
        machine: wall clock, time since boot and boot.
    """

    shared = True

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        clock: Callable[[], float] = steady,
        leases: LeaseRules | None = None,
        robots: RobotsBounds | None = None,
        busy_timeout: float = 5.0,
        machine: Machine | None = None,
    ) -> None:
        self.path = Path(path).resolve()  # signs of life stand beside the file, not beside a link
        self.clock = clock
        self._leases = leases or LeaseRules()
        self._session = Session(
            self.path,
            clock=clock,
            leases=self._leases,
            robots=robots or RobotsBounds(),
            timeout=busy_timeout,
            machine=machine or Machine(),
        )
        self._worker = Worker()
        self._closed = False

    async def open(self) -> None:
        """Open the file, or make it.

        Raises:
            NewerFile: a newer version wrote it (a ValueError, too).
        """
        await self._run(lambda: self._session.do(lambda tables: None))

    async def close(self) -> None:
        """Let go of the file; leases in hand end as if their fetches had lasted until now."""
        if self._closed:
            return
        closing = self._run(self._session.close)
        self._closed = True
        try:
            await closing
        finally:
            self._worker.stop()

    async def acquire(self, hosts: Sequence[str], *, limit: int) -> Acquired:
        """Lease at most *limit* of the hosts that are due."""
        asked = list(hosts)
        return await self._run(
            lambda: self._session.do(lambda tables: tables.hosts.acquire(asked, limit))
        )

    def holds(self, lease: Lease) -> bool:
        """Return whether a lease is young enough that no process frees its host."""
        return self.clock() - lease.granted_at < self._leases.max_age

    async def renew(self, leases: Sequence[Lease]) -> list[Lease | None]:
        """Count the age of leases from now on; None in place of one that is lost."""
        asked = list(leases)
        return await self._run(lambda: self._session.do(lambda tables: tables.hosts.renew(asked)))

    async def release(self, lease: Lease, *, delay: float, state: HostState) -> bool:
        """End a turn: the host is due *delay* seconds from now."""
        delay, state = sound(lease, delay, state, self._leases.charge)
        end = End(lease, self.clock() + delay, state)
        [ended] = await self._run(lambda: self._session.end([end]))
        return ended

    async def give_back(self, leases: Sequence[Lease]) -> None:
        """End turns that were not used; the hosts stay due as they were."""
        ends = [End(lease) for lease in leases]
        await self._run(lambda: self._session.end(ends))

    async def get_robots(self, origin: str) -> RobotsRecord | None:
        """Return the origin's record, None without one."""
        return await self._run(lambda: self._session.do(lambda tables: tables.robots.get(origin)))

    async def put_robots(self, record: RobotsRecord) -> None:
        """Keep an origin's record."""
        await self._run(lambda: self._session.do(lambda tables: tables.robots.put(record)))

    def _run(self, work: Callable[[], T]) -> Deferred[T]:
        if self._closed:
            raise StoreUnavailable(f"{self.path}: the store is closed")
        return self._worker.run(work)
