"""Robots records of a state file.

Rules:

- Bodies are compressed.  Instants on disk are in file time, see `file_time`.
- Records that no crawl asked for in 60 days go; beyond the bounds the oldest answers go first.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from typing import Any

from scrapy_polite.policy.robots_cache import RobotsRecord
from scrapy_polite.state import packing
from scrapy_polite.state.memory import ROBOTS_BYTES, ROBOTS_KEPT
from scrapy_polite.state.sqlite.file import StateFile

TIDY_EVERY = 1024  # records written between looks for ones to drop
_DAY = 86400.0  # seconds

_FIELDS = tuple(field.name for field in fields(RobotsRecord))
COLUMNS = ", ".join(_FIELDS)
_GET = f"SELECT asked_at, {COLUMNS} FROM robots WHERE origin = ?"
_PUT = f"INSERT OR REPLACE INTO robots VALUES (:{', :'.join(_FIELDS)}, :asked_at)"
_SIZE = "SELECT count(*), coalesce(sum(length(body)), 0), coalesce(min(asked_at), 0) FROM robots"
_DROP = """
    DELETE FROM robots WHERE asked_at < :unasked_since OR rowid IN (
        SELECT rowid FROM (
            SELECT rowid, row_number() OVER newest AS rows, sum(length(body)) OVER newest AS size
            FROM robots WINDOW newest AS (
                ORDER BY coalesce(answered_at, unreachable_since_at) DESC, rowid DESC
                ROWS UNBOUNDED PRECEDING))
        WHERE rows > :rows OR size > :size)"""


@dataclass(frozen=True, slots=True)
class RobotsBounds:
    """How many robots records a file keeps.

    Args:
        records: at most so many.
        size_bytes: their compressed bodies together.
        unasked: seconds after which a record goes that no crawl asked for.
    """

    records: int = ROBOTS_KEPT
    size_bytes: int = ROBOTS_BYTES
    unasked: float = 60 * _DAY


class RobotsTable:
    """The records of an open file; instants that go in and out are in the holder's own clock."""

    def __init__(self, file: StateFile, bounds: RobotsBounds, clock: Callable[[], float]) -> None:
        self._file = file
        self._bounds = bounds
        self._clock = clock
        self._puts = 0

    def get(self, origin: str) -> RobotsRecord | None:
        """Return the origin's record, None without one."""
        row = self._file.db.execute(_GET, (origin,)).fetchone()
        if row is None:
            return None
        asked_at, *columns = row
        now = self._file.now()
        if now - asked_at > _DAY:
            self._file.db.execute("UPDATE robots SET asked_at = ? WHERE origin = ?", (now, origin))
        return record_of(columns, self._clock() - now)

    def put(self, record: RobotsRecord) -> None:
        """Keep an origin's record."""
        told = {name: getattr(record, name) for name in _FIELDS}
        told["access"] = record.access.value
        told["body"] = zlib.compress(record.body) if record.body else b""
        with self._file.write() as db:
            now = self._file.now()
            db.execute(_PUT, packing.moved(told, now - self._clock()) | {"asked_at": now})
        self._puts += 1
        if self._puts % TIDY_EVERY == 0:
            self.tidy()

    def tidy(self) -> None:
        """Drop what is beyond the bounds."""
        bounds, db, since = self._bounds, self._file.db, self._file.now() - self._bounds.unasked
        [[records, size, asked_at]] = db.execute(_SIZE)
        if records > bounds.records or size > bounds.size_bytes or (records and asked_at < since):
            limits = {"unasked_since": since, "rows": bounds.records, "size": bounds.size_bytes}
            db.execute(_DROP, limits)


def record_of(row: Sequence[Any], shift: float) -> RobotsRecord:
    """Return the record that COLUMNS hold, its instants moved by *shift* seconds.

    Raises:
        Unreadable: they hold none.
    """
    told = dict(zip(_FIELDS, row, strict=True))
    return packing.record_of(told, told.pop("body"), shift)
