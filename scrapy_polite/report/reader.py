"""Reading an event log: whatever can be read is, and what could not is told.

A log may be torn at its end (the process was killed), damaged in the middle, written by a later
version, or no event log at all.  It is read line by line, so its size costs no memory.

Instants of all runs in a file are on one line: seconds since its first run began.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import BinaryIO

from scrapy_polite.report.lines import from_line
from scrapy_polite.report.schema import FORMAT, Began, Event

_LINE_BYTES = 1 << 16  # no line of ours is longer
_PATIENCE = 1000  # lines without an event in them, after which a file is none of ours
_INSTANTS = ("until_at", "start_at", "answered_at")


class NotReadable(Exception):
    """The file is no event log and no report; the message is one sentence."""


@dataclass(slots=True)
class Reading:
    """How a log could be read.

    Args:
        name: of the file.
        lines: how many it has.
        unreadable: how many of them could not be read.
        first_unreadable: the number of the first of those; 0 for none.
        unknown: how many are of a kind that only later versions know.
        torn: whether it ends in the middle of a line.
        begins: whether it begins with the beginning of a run.
    """

    name: str
    lines: int = 0
    unreadable: int = 0
    first_unreadable: int = 0
    unknown: int = 0
    torn: bool = False
    begins: bool = False

    @property
    def read(self) -> int:
        """How many lines could be read."""
        return self.lines - self.unreadable - self.unknown


def read_log(path: Path, reading: Reading) -> Iterator[Event]:
    """Yield the events of a log, and note in *reading* how it could be read.

    Raises:
        NotReadable: there is no event in it.
    """
    try:
        with path.open("rb") as file:
            yield from _events(file, reading)
    except OSError as error:
        raise NotReadable(f"{path} cannot be read: {error.strerror}.") from None
    if not reading.lines:
        raise NotReadable(f"{path} is empty: there is nothing to report.")
    if not reading.read:
        raise NotReadable(_foreign(path))


def _events(file: BinaryIO, reading: Reading) -> Iterator[Event]:
    first_began_at: float | None = None
    shift = 0.0
    for line in iter(lambda: file.readline(_LINE_BYTES), b""):
        if not line.strip():
            continue
        event = _event(line, reading)
        if event is None:
            if reading.lines - reading.read >= _PATIENCE and not reading.read:
                return
            continue
        if isinstance(event, Began):
            reading.begins |= reading.read == 1 and event.format == FORMAT
            if first_began_at is None:
                first_began_at = event.began_at
            shift = event.began_at - first_began_at
        yield _shifted(event, shift) if shift else event


def _event(line: bytes, reading: Reading) -> Event | None:
    reading.lines += 1
    try:
        event = from_line(line)
    except ValueError:
        reading.unreadable += 1
        reading.first_unreadable = reading.first_unreadable or reading.lines
        reading.torn = not line.endswith(b"\n")
        return None
    reading.unknown += event is None
    return event


def _shifted(event: Event, seconds: float) -> Event:
    instants = {"at": event.at + seconds}
    for name in _INSTANTS:
        instant = getattr(event, name, None)
        if instant is not None:
            instants[name] = instant + seconds
    return replace(event, **instants)  # type: ignore[arg-type]


def _foreign(path: Path) -> str:
    with path.open("rb") as file:
        start = file.readline(60).decode("utf-8", "replace").strip()
    shown = "".join(char if char.isprintable() else "?" for char in start)
    return f"{path} is no event log or report of scrapy_polite: it begins with {shown!r}."
