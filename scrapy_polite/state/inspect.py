"""Looking at a state file, and forgetting a host: for commands, not for crawls.

Rules: nothing is made, set aside or waited for long.  Instants in what is returned are seconds from
now, negative ones ago.  A turn that somebody has is not taken away.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from scrapy_polite.policy.host import HostState
from scrapy_polite.policy.origin import host_of
from scrapy_polite.policy.robots_cache import RobotsRecord
from scrapy_polite.state.packing import Unreadable, unpack
from scrapy_polite.state.sqlite.alive import is_alive
from scrapy_polite.state.sqlite.file import is_damage
from scrapy_polite.state.sqlite.file_time import Machine, ahead_of
from scrapy_polite.state.sqlite.robots import COLUMNS, record_of
from scrapy_polite.state.sqlite.schema import is_ours, mark_of

LEASED = "leased"  # a fetch is on the wire, or about to be
LOST = "holder is dead"  # the next crawl that asks is told to wait
PARKED = "parked"
BACKOFF = "backoff"
DELAY = "delay"
READY = "ready"
_TIMEOUT = 5.0  # seconds


@dataclass(frozen=True, slots=True)
class KnownHost:
    """What a state file says about a host.

    Args:
        due_in: seconds until the host may be asked again; 0 or less when it may.
        reason: why it waits, one of the names above.
        holder: process id of the holder of its turn, None when nobody has it.
        held_for: seconds since the grant, None when nobody has it.
    """

    host: str
    due_in: float
    reason: str
    state: HostState
    holder: int | None = None
    held_for: float | None = None


def hosts(path: str | os.PathLike[str], host: str | None = None) -> list[KnownHost]:
    """Return the known hosts, those that wait longest last; only one when *host* names it.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: it is no state file of this version, or cannot be read.
    """
    with _opened(path) as (db, now):
        rows = db.execute(
            "SELECT host, coalesce(due_at, granted_at), coalesce(state, ''), process, granted_at "
            "FROM (SELECT host FROM hosts UNION SELECT host FROM leases) "
            "LEFT JOIN hosts USING (host) LEFT JOIN leases USING (host) "
            "WHERE ?1 IS NULL OR host = ?1 ORDER BY 2, 1",
            (host,),
        )
        return [_known_host(Path(path).resolve(), row, now) for row in rows]


def robots(path: str | os.PathLike[str], origin: str | None = None) -> Iterator[RobotsRecord]:
    """Yield the robots records in order of origin; only one when *origin* names it.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: it is no state file of this version, or cannot be read.
    """
    with _opened(path) as (db, now):
        for row in db.execute(
            f"SELECT {COLUMNS} FROM robots WHERE ?1 IS NULL OR origin = ?1 ORDER BY origin",
            (origin,),
        ):
            yield record_of(row, -now)


def forget(
    path: str | os.PathLike[str], host: str, *, group: Callable[[str], str | None] = host_of
) -> bool:
    """Forget what is known of a host: its clock, its state and the robots records of its origins.

    Args:
        group: URL -> host key, as the crawls group hosts.

    Returns:
        False when nothing was known.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: it is no state file of this version, or cannot be written.
    """
    with _opened(path) as (db, _):
        db.execute("BEGIN IMMEDIATE")
        with db:
            rows = db.execute("SELECT origin FROM robots").fetchall()
            origins = [(origin,) for (origin,) in rows if group(origin + "/") == host]
            forgotten = db.execute("DELETE FROM hosts WHERE host = ?", (host,)).rowcount
            db.executemany("DELETE FROM robots WHERE origin = ?", origins)
        return bool(forgotten or origins)


def _known_host(
    path: Path, row: tuple[str, float, str, str | None, float | None], now: float
) -> KnownHost:
    host, due_at, packed, process, granted_at = row
    state = unpack(packed, -now)
    if process is None or granted_at is None:
        return KnownHost(host, due_at - now, _reason(state, due_at - now), state)
    reason = LEASED if is_alive(path, process) else LOST
    holder = int(process.partition("-")[0])
    return KnownHost(host, due_at - now, reason, state, holder, now - granted_at)


def _reason(state: HostState, due_in: float) -> str:
    if state.backoff.parked:
        return PARKED
    if due_in <= 0.0:
        return READY
    return BACKOFF if state.backoff.until_at > 0.0 else DELAY


@contextlib.contextmanager
def _opened(path: str | os.PathLike[str]) -> Iterator[tuple[sqlite3.Connection, float]]:
    """Open a state file that is there; yield it and the instant in its time."""
    path = Path(path).resolve()
    if not path.is_file():
        raise FileNotFoundError(f"There is no state file {path}")
    machine, db = Machine(), sqlite3.connect(path, timeout=_TIMEOUT, isolation_level=None)
    try:
        if not is_ours(db, path):
            raise Unreadable("it is empty")
        yield db, ahead_of(mark_of(db), machine) + machine.uptime()
    except (sqlite3.Error, Unreadable) as error:
        what = "is no state file" if is_damage(error) else "cannot be used now"
        raise ValueError(f"{path} {what}: {error}") from error
    finally:
        db.close()
