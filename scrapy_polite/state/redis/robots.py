"""Robots records as octets for a server: JSON, a line end, the compressed body; and remembered."""

from __future__ import annotations

import json
import zlib
from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import fields

from scrapy_polite.policy.robots_cache import RobotsRecord
from scrapy_polite.state.packing import Unreadable, moved, record_of

KEPT = 5184000  # seconds for which a record is kept that nobody asks for
REMEMBERED_BYTES = 16_777_216  # of bodies that a holder remembers
_FIELDS = tuple(field.name for field in fields(RobotsRecord) if field.name != "body")


class Records:
    """The records that a holder put, for a server that loses them; the oldest go first."""

    def __init__(self, bound_bytes: int = REMEMBERED_BYTES) -> None:
        self._bound_bytes = bound_bytes
        self._size_bytes = 0
        self._records: OrderedDict[str, RobotsRecord] = OrderedDict()

    def __iter__(self) -> Iterator[RobotsRecord]:
        return iter(list(self._records.values()))

    def remember(self, record: RobotsRecord) -> None:
        """Keep a record in place of an older one of its origin.

        >>> records = Records(bound_bytes=2000)
        >>> for name in "abca": records.remember(RobotsRecord(name))
        >>> [record.origin for record in records]
        ['c', 'a']
        """
        self._forget(record.origin)
        self._records[record.origin] = record
        self._size_bytes += _size_bytes(record)
        while self._size_bytes > self._bound_bytes:
            self._forget(next(iter(self._records)))

    def _forget(self, origin: str) -> None:
        record = self._records.pop(origin, None)
        if record is not None:
            self._size_bytes -= _size_bytes(record)


def _size_bytes(record: RobotsRecord) -> int:
    return len(record.body) + 1000


def pack(record: RobotsRecord, shift: float = 0.0) -> bytes:
    """Return a record as octets.

    Args:
        shift: seconds from the clock of the record to the clock of the octets.
    """
    told = {name: getattr(record, name) for name in _FIELDS}
    told["access"] = record.access.value
    line = json.dumps(moved(told, shift), separators=(",", ":")).encode()
    return line + b"\n" + (zlib.compress(record.body) if record.body else b"")


def unpack(octets: bytes, shift: float = 0.0) -> RobotsRecord:
    """Return the record that octets are of.

    Args:
        shift: seconds from the clock of the octets to the clock of the record.

    Raises:
        Unreadable: the octets are not ours.

    >>> record = RobotsRecord("https://a.test", body=b"User-agent: *", fresh_until_at=60.0)
    >>> unpack(pack(record, 1000.0), -1000.0) == record
    True
    """
    line, _, body = octets.partition(b"\n")
    try:
        return record_of(json.loads(line), body, shift)
    except (AttributeError, RecursionError, TypeError, ValueError) as error:
        raise Unreadable(f"{line[:80]!r} begins no robots record: {error}") from None
