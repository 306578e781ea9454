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
from scrapy_polite.state.sqlite import schema
from scrapy_polite.state.sqlite.file_time import Machine

logger = logging.getLogger(__name__)

# In the messages of SQLITE_CORRUPT and SQLITE_NOTADB, and where a table of ours is missing.
_DAMAGED = ("malformed", "not a database", "no such table")
_POLL = 0.01  # seconds between looks at the folder's lock


class StateFile:
    """An open state file; it belongs to the thread that opened it.  Made by `open_file`.

    Args:
        name: tells it from other files at its path.
        ahead: seconds from time since boot to file time.
    """

    def __init__(
        self, db: sqlite3.Connection, path: Path, machine: Machine, name: str, ahead: float
    ) -> None:
        self.db = db
        self.path = path
        self.name = name
        self._machine = machine
        self._ahead = ahead
        self._inode = _inode_of(path)

    def now(self) -> float:
        """Return the instant in file time."""
        return self._machine.uptime() + self._ahead

    def write(self) -> sqlite3.Connection:
        """Begin a transaction that writes; use it in a `with` statement, which ends it."""
        self.db.execute("BEGIN IMMEDIATE")
        return self.db

    def mark(self, now: float, token: int | None = None) -> None:
        """Note inside of a transaction that the file was written to, and the last token if new."""
        self.db.execute(
            "UPDATE clock SET seen_at = max(seen_at, ?), wall_at = ?, token = coalesce(?, token)",
            (now, self._machine.wall(), token),
        )

    def is_current(self) -> bool:
        """Return whether the file still stands at its path."""
        return self._inode is not None and _inode_of(self.path) == self._inode

    def close(self) -> None:
        """Let go of the file."""
        self.db.close()


def open_file(path: Path, machine: Machine, *, timeout: float, closed_for: float) -> StateFile:
    """Open a state file for writing; make it, and its folder, where there is none.

    Args:
        timeout: seconds to wait for other processes.
        closed_for: seconds in which a new file grants no lease.

    Raises:
        NewerFile: a newer version wrote it.
        OSError: the file or its folder cannot be used.
        sqlite3.Error: the same, or the file is locked.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with _folder_lock(path.parent, timeout):
        try:
            return _open(path, machine, timeout, closed_for)
        except (Unreadable, sqlite3.DatabaseError) as error:
            if not is_damage(error):
                raise
            _move_away(path, error)
            return _open(path, machine, timeout, closed_for)


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


def _open(path: Path, machine: Machine, timeout: float, closed_for: float) -> StateFile:
    if _inode_of(path) is None:
        _unlink_logs(path)  # of a file that was deleted: they would be taken for the new one's
    db = sqlite3.connect(path, timeout=timeout, isolation_level=None)
    try:
        is_ours = schema.is_ours(db, path)  # before anything is changed
        db.execute("PRAGMA journal_mode = WAL")
        db.execute("PRAGMA synchronous = NORMAL")
        db.execute("BEGIN IMMEDIATE")
        with db:
            if not is_ours:
                schema.make(db, machine, closed_for)
            name, ahead = schema.go_on(db, machine)
        return StateFile(db, path, machine, name, ahead)
    except BaseException:
        db.close()
        raise


def _inode_of(path: Path) -> tuple[int, int] | None:
    try:
        found = path.stat()
    except FileNotFoundError:
        return None
    return found.st_dev, found.st_ino


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
