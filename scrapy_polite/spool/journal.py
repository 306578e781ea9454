"""Requests that left their queue and are not done with, so that a killed process loses none.

One file each, written before the request leaves the queue, removed when the engine has scraped what
came of it.  What a run finds there is queued again.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from scrapy_polite.spool.octets import load

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.crawler import Crawler

JOURNAL = "in-progress"  # folder of the journal, beside those of the lanes


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
        journal = _journals.get(crawler)
        if journal is None:
            journal = _journals[crawler] = cls(crawler, root / JOURNAL)
        return journal

    def recover(self, push: Callable[[Request], None]) -> int:
        """Queue again what an earlier run left behind; return how many that were."""
        found = sorted(self._folder.glob("*")) if self._folder.is_dir() else []
        for path in found:
            push(load(path.read_bytes(), self._crawler))
            path.unlink()
        return len(found)

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

    def __iter__(self) -> Iterator[Request]:
        return iter(list(self._entries))

    def close(self) -> None:
        """All are done with."""
        for request in self:
            self.done(request)
        with suppress(OSError):
            self._folder.rmdir()


_journals: WeakKeyDictionary[Crawler, Journal] = WeakKeyDictionary()
