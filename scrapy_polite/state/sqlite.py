"""The store of several runs and several processes of one machine: an SQLite file.

Rules:

- All file work is done by one thread of the store, one call after the other.
- A process shows itself alive by a locked file beside the state file, see `sqlite_alive`; the turns
  of a dead one are freed at once and charged, see `sqlite_hosts`.
- Instants on disk are in the time of the file, which no clock change and no reboot bends, see
  `sqlite_time`; what the store takes and gives is in the caller's own monotonic clock.
- What goes wrong is `StoreUnavailable`, from each call that it touches: a locked, full, read-only
  or unreadable disk.  The next call opens the file again, so the store is back when the cause is
  gone.  A file that was deleted or replaced is begun anew, with the leases in hand; one that is
  damaged or foreign is set aside, see `sqlite_file`.
- It needs `flock`, which every Unix has, and a file system of this machine.
"""

from __future__ import annotations

import logging
import os
import secrets
import sqlite3
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

from scrapy_polite.policy.host import HostState
from scrapy_polite.policy.robots_cache import RobotsRecord
from scrapy_polite.state import sqlite_alive
from scrapy_polite.state.packing import Unreadable
from scrapy_polite.state.protocol import Acquired, Lease, StoreUnavailable
from scrapy_polite.state.sqlite_file import StateFile, is_damage, open_file, set_aside
from scrapy_polite.state.sqlite_hosts import Holder, Hosts, LeaseRules
from scrapy_polite.state.sqlite_robots import RobotsBounds, RobotsTable
from scrapy_polite.state.sqlite_time import Machine
from scrapy_polite.state.sqlite_worker import Worker

logger = logging.getLogger(__name__)
T = TypeVar("T")


class _Session:
    """The file while it is open."""

    def __init__(self, file: StateFile, hosts: Hosts, robots: RobotsTable) -> None:
        self.file = file
        self.hosts = hosts
        self.robots = robots


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
        clock: Callable[[], float] = time.monotonic,
        leases: LeaseRules | None = None,
        robots: RobotsBounds | None = None,
        busy_timeout: float = 5.0,
        machine: Machine | None = None,
    ) -> None:
        self.path = Path(path).absolute()
        self.clock = clock
        self._lease_rules = leases or LeaseRules()
        self._robots_bounds = robots or RobotsBounds()
        self._busy_timeout = busy_timeout
        self._machine = machine or Machine()
        self._worker = Worker()
        self._name = secrets.token_hex(4)
        self._sign: sqlite_alive.Sign | None = None
        self._session: _Session | None = None
        self._identity: tuple[int, int] | None = None  # of the file that knows our leases
        self._held: dict[tuple[str, int], Lease] = {}
        self._closed = False

    async def open(self) -> None:
        """Open the file, or make it.

        Raises:
            NewerFile: a newer version wrote it (a ValueError, too).
        """
        await self._worker.run(lambda: self._do(lambda session: None))

    async def close(self) -> None:
        """Let go of the file; leases in hand end as if their fetches had lasted until now."""
        if not self._closed:
            self._closed = True
            await self._worker.run(self._close)
            self._worker.stop()

    async def acquire(self, hosts: Sequence[str], *, limit: int) -> Acquired:
        """Lease at most *limit* of the hosts that are due."""
        acquired = await self._call(lambda session: session.hosts.acquire(hosts, limit))
        self._held.update(((lease.host, lease.token), lease) for lease in acquired.leases)
        return acquired

    async def renew(self, leases: Sequence[Lease]) -> list[Lease | None]:
        """Count the age of leases from now on; None in place of one that is lost."""
        return await self._call(lambda session: session.hosts.renew(leases))
