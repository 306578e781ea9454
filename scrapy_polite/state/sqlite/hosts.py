"""Hosts and leases of a state file, as one holder sees them.

Rules:

- A lease does not run out while its process lives: a stopped process may have its fetch on the wire
  still.  Only its age is bounded, counted from the grant or the last renewal.
- A lease whose process is dead, whose crawl left it behind, or which is too old is freed, and its
  host charged as if the fetch had lasted until then.
- A turn is never moved forward: what others asked for during a lease stands when it ends.
- A file that was begun anew while crawls are under way grants nothing until they had time to enter
  the turns that they have.
- What a host was due, it stays due, unless that is later than any wait of ours ends.
- A row goes when it has nothing left to tell.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence
from functools import cache
from typing import NamedTuple

from scrapy_polite.policy.backoff import MEMORY, Backoff
from scrapy_polite.state.memory import LEASED, NOT_DUE
from scrapy_polite.state.packing import pack, unpack
from scrapy_polite.state.protocol import Acquired, Lease
from scrapy_polite.state.sound import due
from scrapy_polite.state.sqlite.alive import is_alive
from scrapy_polite.state.sqlite.file import StateFile
from scrapy_polite.state.sqlite.leases import End, Holder, LeaseRules

LEASED_WAIT = 1.0  # seconds until a host that somebody else has is asked for again
SWEEP_EVERY = 1024  # releases between looks for rows to drop
_CALM = Backoff()

_LOOK = """
    SELECT coalesce(due_at, 0.0), coalesce(state, ''), process, granted_at, renewed_at
    FROM (SELECT ? AS host) LEFT JOIN hosts USING (host) LEFT JOIN leases USING (host)"""
_GRANT = "INSERT INTO leases VALUES (?, ?, ?, ?, ?, ?)"
_RECLAIM = "INSERT OR IGNORE INTO leases VALUES (?, ?, ?, ?, ?, ?)"
_RENEW = "UPDATE leases SET renewed_at = ? WHERE host = ? AND token = ?"
_DROP = "DELETE FROM leases WHERE host = ? AND token = ?"
_DONE = """
    INSERT INTO hosts VALUES (?, ?, ?, ?) ON CONFLICT (host) DO UPDATE SET
        due_at = max(due_at, excluded.due_at),
        forget_at = max(due_at, excluded.forget_at),
        state = excluded.state"""
_PUSH = """
    INSERT INTO hosts VALUES (?, ?, ?, '') ON CONFLICT (host) DO UPDATE SET
        due_at = max(due_at, excluded.due_at),
        forget_at = max(forget_at, excluded.forget_at)"""

_PULL = "UPDATE hosts SET due_at = ?, forget_at = ? WHERE host = ?"


class _Moment(NamedTuple):
    now: float  # in file time
    shift: float  # from the holder's clock to file time


class _Row(NamedTuple):
    due_at: float
    state: str
    process: str | None  # None when nobody has the turn
    granted_at: float
    renewed_at: float


class Hosts:
    """The hosts of an open file; instants that go in and out are in the holder's own clock.

    Args:
        held: the leases of the holder by host and token, kept up to date here.
    """

    def __init__(
        self,
        file: StateFile,
        holder: Holder,
        rules: LeaseRules,
        clock: Callable[[], float],
        held: dict[tuple[str, int], Lease],
    ) -> None:
        self._file = file
        self._holder = holder
        self._rules = rules
        self._clock = clock
        self._held = held
        self._ends = 0

    def acquire(self, hosts: Sequence[str], limit: int) -> Acquired:
        """Lease at most *limit* of the hosts that are due."""
        acquired = Acquired()
        with self._file.write() as db:
            moment = self._moment()
            [[token, closed_until_at]] = db.execute("SELECT token, closed_until_at FROM clock")
            if closed_until_at > moment.now:
                wait = (closed_until_at - moment.now, LEASED)
                return Acquired(waits=dict.fromkeys(hosts, wait))
            is_gone = cache(lambda process: not is_alive(self._file.path, process))
            for host in hosts:
                row = self._look(db, host, moment.now, is_gone)
                if row.process is not None:
                    acquired.waits[host] = (LEASED_WAIT, LEASED)
                elif row.due_at > moment.now:
                    acquired.waits[host] = (row.due_at - moment.now, NOT_DUE)
                elif len(acquired.leases) < limit:
                    token += 1
                    acquired.leases.append(self._grant(db, host, token, row.state, moment))
                else:
                    acquired.waits[host] = (0.0, NOT_DUE)
            if acquired.leases:
                self._file.mark(moment.now, token)
        self._held.update(((lease.host, lease.token), lease) for lease in acquired.leases)
        return acquired

    def renew(self, leases: Sequence[Lease]) -> list[Lease | None]:
        """Count the age of leases from now on; None in place of one that is lost."""
        with self._file.write() as db:
            now = self._file.now()
            return [
                lease if db.execute(_RENEW, (now, lease.host, lease.token)).rowcount else None
                for lease in leases
            ]

    def end(self, ends: Sequence[End]) -> list[bool]:
        """End turns; False for each stale lease, which only pushes the next turn back."""
        with self._file.write() as db:
            moment = self._moment()
            ended = [self._end(db, end, moment.shift) for end in ends]
            self._ends += len(ends)
            if self._ends >= SWEEP_EVERY:
                self._ends = 0
                _sweep(db, moment.now)
        for end in ends:
            self._held.pop((end.lease.host, end.lease.token), None)
        return ended

    def reclaim(self) -> None:
        """Enter the leases in hand into a file that was begun anew; others may have been faster."""
        if not self._held:
            return
        with self._file.write() as db:
            moment = self._moment()
            for (host, token), lease in self._held.items():
                granted_at = lease.granted_at + moment.shift
                db.execute(_RECLAIM, (host, token, *self._holder, granted_at, moment.now))

    def leave(self) -> None:
        """End all turns of this holder as if their fetches had lasted until now."""
        with self._file.write() as db:
            now = self._file.now()
            held = db.execute(
                "SELECT host, granted_at FROM leases WHERE process = ? AND holder = ?", self._holder
            )
            for host, granted_at in held.fetchall():
                self._free(db, host, granted_at, now)
            self._file.mark(now)
        self._held.clear()

    def sweep(self) -> None:
        """Drop the hosts that have nothing left to tell."""
        with self._file.write() as db:
            _sweep(db, self._file.now())

    def _moment(self) -> _Moment:
        now = self._file.now()
        return _Moment(now, now - self._clock())

    def _look(
        self, db: sqlite3.Connection, host: str, now: float, is_gone: Callable[[str], bool]
    ) -> _Row:
        row = _Row(*db.execute(_LOOK, (host,)).fetchone())
        due_at = due(row.due_at, now, self._rules.charge)
        if due_at != row.due_at:
            db.execute(_PULL, (due_at, due_at + MEMORY, host))
            row = row._replace(due_at=due_at)
        if row.process is None:
            return row
        if now - row.renewed_at <= self._rules.max_age and not is_gone(row.process):
            return row
        self._free(db, host, row.granted_at, now)
        return _Row(*db.execute(_LOOK, (host,)).fetchone())

    def _grant(
        self, db: sqlite3.Connection, host: str, token: int, state: str, moment: _Moment
    ) -> Lease:
        db.execute(_GRANT, (host, token, *self._holder, moment.now, moment.now))
        return Lease(host, token, moment.now - moment.shift, unpack(state, -moment.shift))

    def _end(self, db: sqlite3.Connection, end: End, shift: float) -> bool:
        lease, state = end.lease, end.state
        ours = db.execute(_DROP, (lease.host, lease.token)).rowcount > 0
        if end.due_at is not None:
            due_at = end.due_at + shift
            forget_at = due_at if state.backoff == _CALM else due_at + MEMORY
            told = (due_at, forget_at, pack(state, shift)) if ours else (due_at, due_at)
            db.execute(_DONE if ours else _PUSH, (lease.host, *told))
        return ours

    def _free(self, db: sqlite3.Connection, host: str, granted_at: float, now: float) -> None:
        due_at = now + self._rules.charge.after(max(now - granted_at, 0.0))
        db.execute("DELETE FROM leases WHERE host = ?", (host,))
        db.execute(_PUSH, (host, due_at, due_at))


def _sweep(db: sqlite3.Connection, now: float) -> None:
    db.execute("DELETE FROM hosts WHERE forget_at < ?", (now,))
