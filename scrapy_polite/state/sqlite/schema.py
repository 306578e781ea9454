"""What is in a state file: its tables, its owner and version, its time.

Rules: a change of the tables is a new VERSION.  Files of other programs and of other versions are
told apart by SQLite's application id and user version.
"""

from __future__ import annotations

import secrets
import sqlite3
from pathlib import Path

from scrapy_polite.state.packing import Unreadable
from scrapy_polite.state.protocol import StoreUnavailable
from scrapy_polite.state.sqlite.file_time import Machine, Mark, ahead_of

APPLICATION_ID = 0x504F4C49  # "POLI"
VERSION = 1
SCHEMA = (
    """CREATE TABLE clock (           -- one row: the time of this file
        file TEXT PRIMARY KEY,       -- tells this file from others at its path
        boot_id TEXT NOT NULL,
        ahead REAL NOT NULL,         -- file time - time since boot, in that boot
        seen_at REAL NOT NULL,       -- last written to, in file time
        wall_at REAL NOT NULL,       -- the same instant in epoch seconds
        token INTEGER NOT NULL,      -- of the last lease
        closed_until_at REAL NOT NULL)  -- no lease before""",
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
        body BLOB NOT NULL,          -- zlib
        answered_at REAL,
        fresh_until_at REAL NOT NULL,
        etag TEXT,
        last_modified TEXT,
        unreachable_since_at REAL,
        failures INTEGER NOT NULL,
        status INTEGER,
        asked_at REAL NOT NULL)      -- when a crawl last wanted it""",
    f"PRAGMA application_id = {APPLICATION_ID}",
    f"PRAGMA user_version = {VERSION}",
)


class NewerFile(StoreUnavailable, ValueError):
    """A newer version of this package wrote the file."""


def is_ours(db: sqlite3.Connection, path: Path) -> bool:
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
            f"The state file {path} has version {version} and this scrapy_polite reads {VERSION}: "
            "upgrade scrapy_polite, or choose another path."
        )
    if owner == APPLICATION_ID and version == VERSION:
        return True
    if tables or owner or version:
        raise Unreadable("it is the database of another program")
    return False


def mark_of(db: sqlite3.Connection) -> Mark:
    """Return when a file of ours was last written to.

    Raises:
        Unreadable: its clock is missing.
    """
    row = db.execute("SELECT boot_id, ahead, seen_at, wall_at FROM clock").fetchone()
    if row is None:
        raise Unreadable("its clock is missing")
    return Mark(*row)


def make(db: sqlite3.Connection, machine: Machine, closed_for: float) -> None:
    """Make the tables of an empty file inside of a transaction.

    Args:
        closed_for: seconds in which no lease is granted.
    """
    for statement in SCHEMA:
        db.execute(statement)
    wall, ahead = machine.wall(), ahead_of(None, machine)
    now = machine.uptime() + ahead
    # Leases of a file that was lost must not be taken for leases of this one.
    token = int(wall * 1000)
    clock = (secrets.token_hex(8), machine.boot_id(), ahead, now, wall, token, now + closed_for)
    db.execute("INSERT INTO clock VALUES (?, ?, ?, ?, ?, ?, ?)", clock)


def go_on(db: sqlite3.Connection, machine: Machine) -> tuple[str, float]:
    """Go on with the time of a file of ours inside of a transaction.

    Returns:
        What tells the file from others, and seconds from time since boot to its time.
    """
    ahead = ahead_of(mark_of(db), machine)
    now, wall = machine.uptime() + ahead, machine.wall()
    db.execute(
        "UPDATE clock SET boot_id = ?, ahead = ?, seen_at = max(seen_at, ?), wall_at = ?",
        (machine.boot_id(), ahead, now, wall),
    )
    [[file]] = db.execute("SELECT file FROM clock")
    return file, ahead
