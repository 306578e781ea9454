"""Requests that left their queue and are not done with, so that a killed process loses none.

One file each, written before the request leaves the queue, removed when the engine has scraped what
came of it.  What a run finds there is queued again.  What cannot be read (the spider lost its
callback) stays there, named in the log, for a later run that can.
"""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from scrapy_polite import stats
from scrapy_polite.spool.octets import load

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.crawler import Crawler

logger = logging.getLogger(__name__)
JOURNAL = "in-progress"  # folder of the journal, beside those of the lanes
_ATTRIBUTE = "scrapy_polite_journal"  # of a crawler, so that both are forgotten together


class Journal:
    """Requests that left their queue and are not done with: one file each.

    Args:
        folder: where the files are.
    """

    def __init__(self, crawler: Crawler, folder: Path) -> None:
        self._crawler = crawler
        self._folder = folder
        self._entries: dict[Request, Path] = {}
        self._count = 0

    @classmethod
    def of(cls, crawler: Crawler, root: Path) -> Journal:
        """Return the journal of a crawler, whose queues are in *root*."""
        journal: Journal | None = getattr(crawler, _ATTRIBUTE, None)
        if journal is None:
            journal = cls(crawler, root / JOURNAL)
            setattr(crawler, _ATTRIBUTE, journal)
        return journal

    def recover(self, push: Callable[[Request], None]) -> int:
        """Queue again what an earlier run left behind; return how many that were."""
        count = 0
        for path in sorted(self._folder.glob("*")):
            request = self.read(path, path.read_bytes())
            if request is not None:
                push(request)
                path.unlink()
                count += 1
        return count

    def read(self, entry: Path, octets: bytes) -> Request | None:
        """Return the request of an entry; None when it cannot be read, which is logged."""
        try:
            return load(octets, self._crawler)
        except ValueError as error:
            self._crawler.stats.inc_value(stats.QUEUE_UNREADABLE)
            logger.error("A request cannot be read and stays in %s: %s", entry, error)
            return None

    def write(self, octets: bytes) -> Path:
        """Make an entry; a half-written one never has the name of one."""
        self._folder.mkdir(parents=True, exist_ok=True)
        self._count += 1
        draft = self._folder.with_name(f"{JOURNAL}.draft")
        draft.write_bytes(octets)
        return draft.rename(self._folder / f"{os.getpid()}-{self._count}-{time.time_ns()}")

    def opened(self, request: Request, entry: Path) -> None:
        """An entry is of this request."""
        self._entries[request] = entry

    def done(self, request: Request) -> None:
        """A request is done with."""
        entry = self._entries.pop(request, None)
        if entry is not None:
            entry.unlink(missing_ok=True)

    def has(self, request: Request) -> bool:
        """Return whether a request is in progress, and has an entry."""
        return request in self._entries

    def keep(self, request: Request) -> None:
        """A request is not done with, and nothing more comes of it in this run."""
        self._entries.pop(request, None)

    def __iter__(self) -> Iterator[Request]:
        return iter(list(self._entries))

    def close(self) -> None:
        """All are done with."""
        for request in self:
            self.done(request)
        with suppress(OSError):
            self._folder.rmdir()
