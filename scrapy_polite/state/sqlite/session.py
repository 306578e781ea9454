"""A state file that opens itself: what a store does in its thread.

Rules:

- Each piece of work first makes sure that the file is open and stands at its path, and that the
  process shows itself alive.
- After an error the file is closed; the next piece of work opens it again.
- Ends of turns that could not be written are owed, and written before anything else.  So a wait
  outlives the time in which the file could not be used.
- An end that the file refuses for what it holds is owed no longer: its host is left alone as
  long as any fetch can cost, and the other ends are written.
- A file that was begun anew hears of the leases in hand, for their fetches may be on the wire.
"""

from __future__ import annotations

import logging
import secrets
import sqlite3
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from scrapy_polite.state.packing import Unreadable
from scrapy_polite.state.protocol import Lease, StoreUnavailable
from scrapy_polite.state.sound import set_aside as set_end_aside
from scrapy_polite.state.sqlite import alive
from scrapy_polite.state.sqlite.file import StateFile, is_damage, open_file, set_aside
from scrapy_polite.state.sqlite.file_time import Machine
from scrapy_polite.state.sqlite.hosts import Hosts
from scrapy_polite.state.sqlite.leases import End, Holder, LeaseRules
from scrapy_polite.state.sqlite.robots import RobotsBounds, RobotsTable

logger = logging.getLogger(__name__)
T = TypeVar("T")
_TROUBLE = (sqlite3.Error, OSError, Unreadable)
_REFUSED = (
    sqlite3.IntegrityError,
    sqlite3.InterfaceError,
    sqlite3.DataError,
    OverflowError,
    TypeError,
    ValueError,
)  # of one row, not of the file


@dataclass(frozen=True, slots=True)
class Tables:
    """What an open file offers."""

    file: StateFile
    hosts: Hosts
    robots: RobotsTable


class Session:
    """One holder's dealings with a state file; all but the making happens in one thread.

    Args:
        clock: the holder's own monotonic clock in seconds.
        timeout: seconds to wait for other processes.
    """

    def __init__(
        self,
        path: Path,
        *,
        clock: Callable[[], float],
        leases: LeaseRules,
        robots: RobotsBounds,
        timeout: float,
        machine: Machine,
    ) -> None:
        self.path = path
        self._clock = clock
        self._leases = leases
        self._robots = robots
        self._timeout = timeout
        self._machine = machine
        self._name = secrets.token_hex(4)
        self._sign: alive.Sign | None = None
        self._tables: Tables | None = None
        self._known_to = ""  # name of the file that knows our leases
        self._held: dict[tuple[str, int], Lease] = {}
        self._owed: list[End] = []

    def do(self, work: Callable[[Tables], T]) -> T:
        """Do some work on the file, after what is owed.

        Raises:
            StoreUnavailable: it did not go; nothing was changed.
        """

        def settle_and_work(tables: Tables) -> T:
            self._settle(tables)
            return work(tables)

        return self._try_twice(settle_and_work)

    def end(self, ends: list[End]) -> list[bool]:
        """End turns, now or as soon as the file can be written; False for each stale lease.

        Raises:
            StoreUnavailable: not now.
        """
        self._owed += ends
        return self._try_twice(self._settle)[-len(ends) :]

    def close(self) -> None:
        """End all turns and let go of the file.

        Raises:
            StoreUnavailable: the file does not know; our sign of life is gone all the same.
        """
        try:
            if self._tables is not None or self._held or self._owed:
                self.do(lambda tables: tables.hosts.leave())
        finally:
            self._drop()
            if self._sign is not None:
                alive.hide(self.path)
                self._sign = None

    def _settle(self, tables: Tables) -> list[bool]:
        if not self._owed:
            return []
        try:
            ended = tables.hosts.end(self._owed)
        except Unreadable:
            raise  # the file is, not an end
        except _REFUSED:
            ended = [self._settle_alone(tables, end) for end in self._owed]
        self._owed = []
        return ended

    def _settle_alone(self, tables: Tables, end: End) -> bool:
        try:
            return tables.hosts.end([end])[0]
        except Unreadable:
            raise
        except _REFUSED as error:
            charge, lease = self._leases.charge, end.lease
            set_end_aside(lease, error, charge)
            return tables.hosts.end([End(lease, self._clock() + charge.most, lease.state)])[0]

    def _try_twice(self, work: Callable[[Tables], T]) -> T:
        """Do some work; a file that turns out to be damaged is set aside for a new one."""
        try:
            try:
                return work(self._ready())
            except _TROUBLE as error:
                file = self._drop()
                if file is None or not is_damage(error):
                    raise
                set_aside(file, error, timeout=self._timeout)
                return work(self._ready())
        except _TROUBLE as error:
            self._drop()
            raise StoreUnavailable(f"{self.path}: {error}") from error

    def _ready(self) -> Tables:
        if self._tables is not None and not self._tables.file.is_current():
            logger.warning("The state file %s was deleted or replaced: begun anew", self.path)
            self._drop()
        if self._tables is None:
            self._tables = self._open()
        elif self._sign is not None:
            self._sign.keep()
        return self._tables

    def _open(self) -> Tables:
        closed_for = 0.0 if alive.is_alone(self.path) else self._leases.entering
        file = open_file(self.path, self._machine, timeout=self._timeout, closed_for=closed_for)
        try:
            if self._sign is None:
                self._sign = alive.show(self.path)
            self._sign.keep()
            holder = Holder(self._sign.name, self._name)
            hosts = Hosts(file, holder, self._leases, self._clock, self._held)
            robots = RobotsTable(file, self._robots, self._clock)
            if file.name != self._known_to:
                hosts.reclaim()
                hosts.sweep()
                robots.tidy()
                self._known_to = file.name
        except BaseException:
            file.close()
            raise
        return Tables(file, hosts, robots)

    def _drop(self) -> StateFile | None:
        if self._tables is None:
            return None
        file, self._tables = self._tables.file, None
        file.close()
        return file
