"""Writing the event log.

- Each call is one write to the file, unbuffered: whatever kills the process, what it had written by
  then can be read, and at most one line is torn.
- The log is bounded by count and octets.  At the bound one line ``full`` is written, and after it
  only the end of the run; the crawl goes on, and its report says from when on it knows nothing.
- A log that cannot be written (a full disk) is given up with one line in the crawl's log.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable
from pathlib import Path

from scrapy_polite.report.schema import Ended, Event, Full, to_line

logger = logging.getLogger(__name__)
MAX_EVENTS = 5_000_000
MAX_BYTES = 1 << 30


class LogWriter:
    """Writes events to a file; see above.

    Args:
        path: of the file; folders are made.
        append: whether to go on after what is there, as a resumed crawl does.
        max_events: how many events are written at most.
        max_bytes: how large the file gets at most, but for its last two lines.

    Raises:
        OSError: the file cannot be opened.
    """

    def __init__(
        self,
        path: Path,
        *,
        append: bool = False,
        max_events: int = MAX_EVENTS,
        max_bytes: int = MAX_BYTES,
    ) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self._path = path
        self._file = path.open("a+b" if append else "wb", buffering=0)
        self._events, self._max_events = 0, max_events
        self._bytes, self._max_bytes = self._file.tell(), max_bytes
        self._closed = self._full = False
        if append:
            self._mend()

    @property
    def resumes(self) -> bool:
        """Whether nothing was written yet to a file that has something in it."""
        return self._bytes > 0 and not self._events

    def write(self, *events: Event) -> None:
        """Append events, in one write."""
        if self._closed:
            return
        octets = _lines(events)
        if not self._full and self._is_too_much(len(events), len(octets)):
            self._full = True
            self._put(_lines([Full(events[0].at)]))
        if self._full:
            octets = _lines(event for event in events if isinstance(event, Ended))
        self._events += len(events)
        self._bytes += len(octets)
        self._put(octets)

    def close(self) -> None:
        """Close the file; nothing is written any more."""
        self._closed = True
        self._file.close()

    def _is_too_much(self, events: int, octets: int) -> bool:
        return self._events + events > self._max_events or self._bytes + octets > self._max_bytes

    def _mend(self) -> None:
        """End a line that a killed run left torn."""
        if self._bytes:
            self._file.seek(-1, 2)
            if self._file.read(1) != b"\n":
                self._put(b"\n")

    def _put(self, octets: bytes) -> None:
        try:
            self._file.write(octets)
        except OSError as error:
            logger.error("The event log %s ends here: %s", self._path, error.strerror)
            self.close()


def _lines(events: Iterable[Event]) -> bytes:
    return "".join(map(to_line, events)).encode()
