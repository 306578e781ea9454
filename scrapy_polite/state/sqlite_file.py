"""The file of an SQLite store: opened, made, or set aside.

Rules:

- Write-ahead log, short IMMEDIATE transactions, a busy timeout.  A commit survives the death of the
  process; the last seconds before a power failure may be lost.
- A file that is not ours, or damaged, is moved to `PATH.corrupt-N` with one line in the log, and a
  new one is begun.  A file of a newer version is left alone and not used.
- Processes open, make and set aside one after the other: each holds an `flock` on the folder
  meanwhile.  Ours is the file that stands at the path, not one that was deleted or replaced since.

Source: "How To Corrupt An SQLite Database File" (sqlite.org), sections 1.2, 2.1, 2.2 and 4.3: a log
goes with its file, and nobody but SQLite opens the file.
"""

from __future__ import annotations

import contextlib
import fcntl
import logging
import os
import sqlite3
import time
from collections.abc import Iterator
from itertools import count
from pathlib import Path

from scrapy_polite.state.packing import Unreadable
from scrapy_polite.state.protocol import StoreUnavailable
from scrapy_polite.state.sqlite_time import Machine, Mark, ahead_of

logger = logging.getLogger(__name__)

APPLICATION_ID = 0x504F4C49  # "POLI"
VERSION = 1
SCHEMA = (
    """CREATE TABLE clock (           -- one row: the time of this file
        one INTEGER PRIMARY KEY CHECK (one = 1),
        boot_id TEXT NOT NULL,
        ahead REAL NOT NULL,         -- file time - time since boot, in that boot
        seen_at REAL NOT NULL,       -- last written to, in file time
        wall_at REAL NOT NULL,       -- the same instant in epoch seconds
        token INTEGER NOT NULL)      -- of the last lease""",
    """CREATE TABLE hosts (           -- hosts that have something left to tell
        host TEXT PRIMARY KEY,
        due_at REAL NOT NULL,
        forget_at REAL NOT NULL,     -- nothing is left to tell from then on
        state TEXT NOT NULL) WITHOUT ROWID""",
    """CREATE TABLE leases (          -- who has the turn of a host
        host TEXT PRIMARY KEY,
        token INTEGER NOT NULL,
        process TEXT NOT NULL,       -- name of its sign of life
        holder TEXT NOT NULL,        -- one crawl of that process
        granted_at REAL NOT NULL,
        renewed_at REAL NOT NULL) WITHOUT ROWID""",
    """CREATE TABLE robots (          -- the last word of an origin on its robots.txt
        origin TEXT PRIMARY KEY,
        access TEXT NOT NULL,
        status INTEGER,
        answered_at REAL,
        fresh_until_at REAL NOT NULL,
        unreachable_since_at REAL,
        failures INTEGER NOT NULL,
        etag TEXT,
        last_modified TEXT,
        asked_at REAL NOT NULL,      -- when a crawl last wanted it
        body BLOB NOT NULL)          -- zlib""",
    f"PRAGMA application_id = {APPLICATION_ID}",
    f"PRAGMA user_version = {VERSION}",
)
# In the messages of SQLITE_CORRUPT and SQLITE_NOTADB, and where a table of ours is missing.
_DAMAGED = ("malformed", "not a database", "no such table", "no such column")
_POLL = 0.01  # seconds between looks at the folder's lock


class NewerFile(StoreUnavailable, ValueError):
    """A newer version of this package wrote the file."""


class StateFile:
    """An open state file; it belongs to the thread that opened it.  Made by `open_file`.

    Args:
        identity: device and inode of the file.
        ahead: seconds from time since boot to file time.
    """

    def __init__(
        self, db: sqlite3.Connection, path: Path, machine: Machine, ahead: float
    ) -> None:
        self.db = db
        self.path = path
        self.identity = identity_of(path)
        self.ahead = ahead
        self._machine = machine

    def now(self) -> float:
        """Return the instant in file time."""
        return self._machine.uptime() + self.ahead

    def write(self) -> sqlite3.Connection:
        """Begin a transaction that writes; use it in a `with` statement, which ends it."""
        self.db.execute("BEGIN IMMEDIATE")
        return self.db

    def mark(self, now: float, token: int) -> None:
        """Note inside of a transaction that the file was written to, and the last token."""
        self.db.execute(
            "UPDATE clock SET seen_at = max(seen_at, ?), wall_at = ?, token = ?",
            (now, self._machine.wall(), token),
        )

    def is_current(self) -> bool:
        """Return whether the file still stands at its path."""
        return self.identity is not None and identity_of(self.path) == self.identity

    def close(self) -> None:
        """Let go of the file."""
        self.db.close()


def open_file(path: Path, machine: Machine, *, timeout: float) -> StateFile:
    """Open a state file for writing; make it, and its folder, where there is none.

    Args:
        timeout: seconds to wait for other processes.

    Raises:
        NewerFile: a newer version wrote it.
        OSError: the file or its folder cannot be used.
        sqlite3.Error: the same, or the file is locked.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with _folder_lock(path.parent, timeout):
        try:
            return _open(path, machine, timeout)
        except (Unreadable, sqlite3.DatabaseError) as error:
            if not is_damage(error):
                raise
            _move_away(path, error)
            return _open(path, machine, timeout)


def set_aside(file: StateFile, damage: Exception, *, timeout: float) -> None:
    """Move a closed file that turned out to be damaged out of the way, if nobody did before."""
    with _folder_lock(file.path.parent, timeout):
        if file.is_current():
            _move_away(file.path, damage)


def is_damage(error: Exception) -> bool:
    """Return whether an error means that a file is not ours, or not whole."""
    return isinstance(error, Unreadable) or (
        isinstance(error, sqlite3.DatabaseError) and any(sign in str(error) for sign in _DAMAGED)
    )


def identity_of(path: Path) -> tuple[int, int] | None:
    """Return device and inode of a file, None where there is none."""
    try:
        found = path.stat()
    except FileNotFoundError:
        return None
    return found.st_dev, found.st_ino


def is_ours(db: sqlite3.Connection) -> bool:
    """Return whether a file is ours, False where it is empty.

    Raises:
        NewerFile: a newer version wrote it.
        Unreadable: it is somebody else's.
    """
    [[owner]] = db.execute("PRAGMA application_id")
    [[version]] = db.execute("PRAGMA user_version")
    [[tables]] = db.execute("SELECT count(*) FROM sqlite_master")
    if owner == APPLICATION_ID and version > VERSION:
        raise NewerFile(
            f"The state file has version {version} and this scrapy_polite reads {VERSION}: "
            "upgrade scrapy_polite, or choose another path."
        )
    if owner == APPLICATION_ID and version == VERSION:
        return True
    if tables or owner or version:
        raise Unreadable("it is the database of another program")
    return False


def mark_of(db: sqlite3.Connection) -> Mark:
    """Return when a file of ours was last written to."""
    row = db.execute("SELECT boot_id, ahead, seen_at, wall_at FROM clock").fetchone()
    if row is None:
        raise Unreadable("its clock is missing")
    return Mark(*row)


def _open(path: Path, machine: Machine, timeout: float) -> StateFile:
    if identity_of(path) is None:
        _unlink_logs(path)  # of a file that was deleted: they would be taken for the new one's
    db = sqlite3.connect(path, timeout=timeout, isolation_level=None)
    try:
        ours = is_ours(db)  # before anything is changed
        db.execute("PRAGMA journal_mode = WAL")
        db.execute("PRAGMA synchronous = NORMAL")
        db.execute("BEGIN IMMEDIATE")
        with db:
            ahead = _begin_time(db, machine) if ours else _make(db, machine)
        return StateFile(db, path, machine, ahead)
    except BaseException:
        db.close()
        raise


def _make(db: sqlite3.Connection, machine: Machine) -> float:
    for statement in SCHEMA:
        db.execute(statement)
    ahead, wall = ahead_of(None, machine), machine.wall()
    now = machine.uptime() + ahead
    # Leases of a file that was lost must not be taken for leases of this one.
    token = int(wall * 1000)
    clock = (machine.boot_id(), ahead, now, wall, token)
    db.execute("INSERT INTO clock VALUES (1, ?, ?, ?, ?, ?)", clock)
    return ahead


def _begin_time(db: sqlite3.Connection, machine: Machine) -> float:
    ahead = ahead_of(mark_of(db), machine)
    now = machine.uptime() + ahead
    db.execute(
        "UPDATE clock SET boot_id = ?, ahead = ?, seen_at = max(seen_at, ?), wall_at = ?",
        (machine.boot_id(), ahead, now, machine.wall()),
    )
    return ahead


def _move_away(path: Path, damage: Exception) -> None:
    for number in count(1):
        aside = path.with_name(f"{path.name}.corrupt-{number}")
        if not aside.exists():
            break
    path.rename(aside)
    log = _beside(path, "-wal")
    if log.exists():  # what was committed last
        log.rename(_beside(aside, "-wal"))
    _unlink_logs(path)
    logger.error("The state file %s cannot be used (%s): set aside as %s", path, damage, aside)


def _unlink_logs(path: Path) -> None:
    for ending in ("-wal", "-shm"):
        _beside(path, ending).unlink(missing_ok=True)


def _beside(path: Path, ending: str) -> Path:
    return path.with_name(path.name + ending)


@contextlib.contextmanager
def _folder_lock(folder: Path, timeout: float) -> Iterator[None]:
    fd = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    give_up_at = time.monotonic() + timeout
    try:
        while True:
            try:
                fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() > give_up_at:
                    raise TimeoutError(f"{folder} is locked by another process") from None
                time.sleep(_POLL)
        yield
    finally:
        os.close(fd)
