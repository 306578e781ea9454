"""Robots records as octets for a server, and back: a line of JSON, then the compressed body."""

from __future__ import annotations

import json
import zlib
from dataclasses import fields

from scrapy_polite.policy.robots_access import Access
from scrapy_polite.policy.robots_cache import RobotsRecord
from scrapy_polite.state.packing import Unreadable, moved

KEPT = 5184000  # seconds for which a record is kept that nobody asks for
_FIELDS = tuple(field.name for field in fields(RobotsRecord) if field.name != "body")


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
        told = json.loads(line)
        told["access"] = Access(told["access"])
        plain = zlib.decompress(body) if body else b""
        return RobotsRecord(**moved(told, shift), body=plain)
    except (AttributeError, KeyError, TypeError, ValueError, zlib.error) as error:
        raise Unreadable(f"{line[:80]!r} begins no robots record: {error}") from None
