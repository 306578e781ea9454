"""Host states as text for a disk or a server, and back.

Rules:

- Fields that equal their default are left out, so a fresh state is the empty text.
- Fields of earlier versions that are no longer kept are passed over.
- Fields whose name ends in `_at` are instants; they move from one clock into another by a shift.
- Text that does not make a state is `Unreadable`: nobody fetches on the word of a guess.  So are
  numbers that no crawl writes, and a body that would grow beyond what a robots.txt may have.
"""

from __future__ import annotations

import json
import sys
import zlib
from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from scrapy_polite.policy.backoff import Backoff
from scrapy_polite.policy.host import HostState
from scrapy_polite.policy.robots_access import Access
from scrapy_polite.policy.robots_cache import RobotsRecord

BODY_MAX_BYTES = 1_048_576  # of a robots.txt; what is kept of one is less
_LATEST = 1e12  # no instant of ours is greater
_TEXTS = ("origin", "etag", "last_modified")
_FRESH = HostState()
_GONE = {"floor_until_at"}  # fields of earlier versions


class Unreadable(ValueError):
    """What was kept is not what a store of this version writes."""


def pack(state: HostState, shift: float = 0.0) -> str:
    """Return a state as text.

    Args:
        shift: seconds from the clock of the state to the clock of the text.

    >>> pack(HostState(duration=0.5, backoff=Backoff(refusals=1, until_at=60.0)), 1000.0)
    '{"duration":0.5,"backoff":{"refusals":1,"until_at":1060.0}}'
    """
    if state == _FRESH:
        return ""
    return json.dumps(_told(state, _FRESH, shift), separators=(",", ":"))


def unpack(text: str, shift: float = 0.0) -> HostState:
    """Return the state that a text is of.

    Args:
        shift: seconds from the clock of the text to the clock of the state.

    Raises:
        Unreadable: the text is not one of ours.

    >>> unpack('{"backoff":{"refusals":1,"until_at":1060.0}}', -1000.0).backoff.until_at
    60.0
    """
    if not text:
        return _FRESH
    try:
        told = json.loads(text)
        backoff = Backoff(**_heard(told.pop("backoff", {}), shift))
        heard = _heard(told, shift)
        kept = {name: item for name, item in heard.items() if name not in _GONE}
        return HostState(**kept, backoff=backoff)
    except (AttributeError, RecursionError, TypeError, ValueError) as error:
        raise Unreadable(f"{text[:200]!r} is no state of a host: {error}") from None


def check(state: HostState) -> None:
    """Make sure that a state can be kept and read again.

    Raises:
        ValueError: a number is none of ours (NaN, infinite, out of bounds).
    """
    for value in (state, state.backoff):
        names = [field.name for field in fields(value) if field.name != "backoff"]
        _heard({name: getattr(value, name) for name in names}, 0.0)


def record_of(told: Mapping[str, Any], body: bytes, shift: float) -> RobotsRecord:
    """Return the robots record that named values and a compressed body are of.

    Args:
        shift: seconds from the clock of the values to the clock of the record.

    Raises:
        Unreadable: they are of none.
    """
    try:
        texts = {name: told[name] for name in _TEXTS}
        if not all(text is None or isinstance(text, str) for text in texts.values()):
            raise ValueError("a text is none")
        rest = {name: item for name, item in told.items() if name not in (*_TEXTS, "access")}
        access, plain = Access(told["access"]), unzipped(body)
        return RobotsRecord(**texts, access=access, body=plain, **_heard(rest, shift))
    except (KeyError, TypeError, ValueError) as error:
        name = str(told.get("origin"))[:200]
        raise Unreadable(f"the record of {name!r} is no robots record: {error}") from None


def unzipped(octets: bytes) -> bytes:
    """Return what was compressed.

    Raises:
        ValueError: it cannot be read, or has more than `BODY_MAX_BYTES`.
    """
    if not octets:
        return b""
    try:
        reader = zlib.decompressobj()
        plain = reader.decompress(octets, BODY_MAX_BYTES)
    except zlib.error as error:
        raise ValueError(str(error)) from None
    if not reader.eof:
        raise ValueError("a body is cut, or too long")
    return plain


def moved(told: dict[str, Any], shift: float) -> dict[str, Any]:
    """Return named values with their instants moved by *shift* seconds.

    >>> moved({"failures": 2, "fresh_until_at": 60.0, "answered_at": None}, 1000.0)
    {'failures': 2, 'fresh_until_at': 1060.0, 'answered_at': None}
    """
    return {
        name: item + shift if name.endswith("_at") and item is not None else item
        for name, item in told.items()
    }


def _told(value: HostState | Backoff, usual: HostState | Backoff, shift: float) -> dict[str, Any]:
    told = {}
    for field in fields(value):
        item, default = getattr(value, field.name), getattr(usual, field.name)
        if item != default:
            told[field.name] = _told(item, default, shift) if isinstance(item, Backoff) else item
    return moved(told, shift)


def _heard(told: dict[str, Any], shift: float) -> dict[str, Any]:
    for name, item in told.items():
        limit = _LATEST if name.endswith("_at") else sys.float_info.max
        if item is not None and not (isinstance(item, (int, float)) and abs(item) <= limit):
            raise ValueError(f"{name} is no number of ours")
    return moved(told, shift)
