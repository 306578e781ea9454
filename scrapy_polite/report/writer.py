"""Writing the event log.

- Events wait for `flush`, which is one write to the file; who owns the log flushes it each second.
  Whatever kills the process, what was written by then can be read, and at most one line is torn.
- What is costly to make is made at the flush too: many of a kind at once take half the time.
- The log is bounded by count and octets.  At the bound one line ``full`` is written, and after it
  only the end of the run; the crawl goes on, and its report says from when on it knows nothing.
- A log that cannot be written (a full disk) is given up with one line in the crawl's log.
- A log has one writer (see `locks`).
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from pathlib import Path

from scrapy_polite.locks import keep_others_out
from scrapy_polite.report.lines import to_line
from scrapy_polite.report.schema import Ended, Event, Full

Maker = Callable[[], Event]

logger = logging.getLogger(__name__)
MAX_EVENTS = 5_000_000
MAX_BYTES = 1 << 30
FLUSH_INTERVAL = 1.0  # seconds, at the most
_WAITING_MAX = 2000  # events; with more they are written at once


class LogWriter:
    """Writes events to a file; see above.

    `resumes` says whether there was something in the file before.

    Args:
        path: of the file; folders are made.
        append: whether to go on after what is there, as a resumed crawl does.
        max_events: how many events are written at most.
        max_bytes: how large the file gets at most, but for its last two lines.

    Raises:
        BlockingIOError: somebody writes to the file already.
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
        self._file = path.open("a+b", buffering=0)
        try:
            keep_others_out(self._file.fileno())
        except BlockingIOError:
            self._file.close()
            raise
        if not append and self._file.seek(0, 2):
            self._file.truncate(0)
        self._waiting: list[Event | Maker] = []
        self._events, self._max_events = 0, max_events
        self._bytes, self._max_bytes = self._file.seek(0, 2), max_bytes
        self._closed = self._full = False
        self.resumes = self._bytes > 0
        if self.resumes:
            self._mend()

    def write(self, *events: Event) -> None:
        """Take events; they are in the file after the next `flush`."""
        self._waiting += events
        if len(self._waiting) >= _WAITING_MAX:
            self.flush()

    def write_later(self, make: Maker) -> None:
        """Take an event that is made at the next `flush`; it keeps its place among the others."""
        self._waiting.append(make)
        if len(self._waiting) >= _WAITING_MAX:
            self.flush()

    def flush(self) -> None:
        """Write what waits to the file."""
        if self._waiting:
            waiting, self._waiting = self._waiting, []
            self._put(b"".join(self._lines(waiting)))

    def close(self) -> None:
        """Flush and close the file; nothing is written any more."""
        self.flush()
        self._closed = True
        self._file.close()

    def _lines(self, waiting: list[Event | Maker]) -> Iterator[bytes]:
        for item in waiting:
            event = item() if callable(item) else item
            if self._full and not isinstance(event, Ended):
                continue
            line = to_line(event).encode()
            if not self._full and self._is_too_much(line):
                self._full = True
                yield to_line(Full(event.at)).encode()
                if not isinstance(event, Ended):
                    continue
            self._events += 1
            self._bytes += len(line)
            yield line

    def _is_too_much(self, line: bytes) -> bool:
        return self._events >= self._max_events or self._bytes + len(line) > self._max_bytes

    def _mend(self) -> None:
        """End a line that a killed run left torn."""
        self._file.seek(-1, 2)
        if self._file.read(1) != b"\n":
            self._put(b"\n")

    def _put(self, octets: bytes) -> None:
        if self._closed:
            return
        try:
            self._file.write(octets)
        except OSError as error:
            logger.error("The event log %s ends here: %s", self._path, error.strerror)
            self._closed = True
            self._file.close()
