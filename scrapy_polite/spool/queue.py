"""Disk queues that lose nothing when the process is killed.

One file a queue, no handle kept open, so that 100,000 hosts need no 100,000 handles.  A record is
written in one call and taken out in one call: what a killed process leaves behind is whole, but for
a last record cut short, which is cut off.  Before a record is taken out it is in the journal of
requests in progress, which a later run queues again.  (A power cut is another matter: nothing here
calls fsync.)

File: 8 octets with the place of the first live record, then records: length, octets, length again,
so that they can be read from both ends.  Lengths are 4 octets, big-endian.
"""

from __future__ import annotations

import errno
import os
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from scrapy_polite.spool.journal import Journal
from scrapy_polite.spool.octets import dump, load

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.crawler import Crawler
    from typing_extensions import Self

_HEAD = struct.Struct(">Q")
_LENGTH = struct.Struct(">I")
_FRAME_BYTES = 2 * _LENGTH.size


class SpoolQueue:
    """A queue of requests in a file; the base of the two below.

    Args:
        key: path of the file.
    """

    lifo = True

    def __init__(self, crawler: Crawler, key: str) -> None:
        self._crawler = crawler
        self._path = Path(key)
        self._journal = Journal.of(crawler, self._path.parent.parent)
        self._path.parent.mkdir(parents=True, exist_ok=True)
        self._first = _HEAD.size  # place of the first live record
        self._length = self._recover()

    @classmethod
    def from_crawler(cls, crawler: Crawler, key: str) -> Self:
        """Make one as the scheduler does."""
        return cls(crawler, key)

    def push(self, request: Request) -> None:
        """Add a request.

        Raises:
            ValueError: it cannot be serialised.
            OSError: it cannot be written; the queue is as it was.
        """
        octets = dump(request, self._crawler)
        length = _LENGTH.pack(len(octets))
        record = length + octets + length
        with _opened(self._path, os.O_RDWR | os.O_CREAT | os.O_APPEND) as file:
            size = os.fstat(file.fd).st_size
            record = record if size else _HEAD.pack(self._first) + record
            if os.write(file.fd, record) < len(record):
                os.ftruncate(file.fd, size)
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(self._path))
        self._length += 1

    def pop(self) -> Request | None:
        """Take the next request out; None when there is none, or it cannot be read."""
        return self._next(take=True)

    def peek(self) -> Request | None:
        """Return the next request and leave it there; None when there is none."""
        return self._next(take=False)

    def close(self) -> None:
        """Nothing is open; an empty file goes."""
        if not self._length:
            self._path.unlink(missing_ok=True)

    def __len__(self) -> int:
        return self._length

    def _next(self, *, take: bool) -> Request | None:
        if not self._length:
            return None
        with _opened(self._path, os.O_RDWR) as file:
            octets, place = self._last(file.fd) if self.lifo else self._oldest(file.fd)
            entry = self._journal.write(octets) if take else None
            if take and self.lifo:
                os.ftruncate(file.fd, place)
            elif take:
                self._first = place
                os.pwrite(file.fd, _HEAD.pack(place), 0)
        if entry is None:
            return load(octets, self._crawler)
        self._length -= 1
        request = self._journal.read(entry, octets)
        if request is not None:
            self._journal.opened(request, entry)
        return request

    def _last(self, fd: int) -> tuple[bytes, int]:
        """Return the newest record, and where the file ends without it."""
        end = os.fstat(fd).st_size
        (length,) = _LENGTH.unpack(os.pread(fd, _LENGTH.size, end - _LENGTH.size))
        return os.pread(fd, length, end - _LENGTH.size - length), end - length - _FRAME_BYTES

    def _oldest(self, fd: int) -> tuple[bytes, int]:
        """Return the oldest record, and where the next one begins."""
        (length,) = _LENGTH.unpack(os.pread(fd, _LENGTH.size, self._first))
        octets = os.pread(fd, length, self._first + _LENGTH.size)
        return octets, self._first + length + _FRAME_BYTES

    def _recover(self) -> int:
        """Count the records of a file that is there; cut a last one off that is not whole."""
        if not self._path.exists():
            return 0
        with _opened(self._path, os.O_RDWR) as file:
            size = os.fstat(file.fd).st_size
            if size < _HEAD.size:
                os.ftruncate(file.fd, 0)
                return 0
            (first,) = _HEAD.unpack(os.pread(file.fd, _HEAD.size, 0))
            if not _HEAD.size <= first <= size:  # no place in the file
                os.ftruncate(file.fd, 0)
                return 0
            self._first = first
            ends = [first, *_ends(file.fd, first, size)]
            if ends[-1] < size:
                os.ftruncate(file.fd, ends[-1])
            return len(ends) - 1


class SpoolLifoQueue(SpoolQueue):
    """Last in, first out, for SCHEDULER_DISK_QUEUE."""


class SpoolFifoQueue(SpoolQueue):
    """First in, first out, for SCHEDULER_START_DISK_QUEUE."""

    lifo = False


def _ends(fd: int, start: int, size: int) -> Iterator[int]:
    """Yield the end of each whole record; none is empty."""
    at = start
    while at + _FRAME_BYTES <= size:
        (length,) = _LENGTH.unpack(os.pread(fd, _LENGTH.size, at))
        at += length + _FRAME_BYTES
        if (
            not length
            or at > size
            or os.pread(fd, _LENGTH.size, at - _LENGTH.size) != _LENGTH.pack(length)
        ):
            return
        yield at


class _opened:
    """A file descriptor for the length of a with block."""

    def __init__(self, path: Path, flags: int) -> None:
        self.fd = os.open(path, flags, 0o644)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self.fd)
