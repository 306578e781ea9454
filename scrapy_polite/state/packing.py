"""Host states as text for a disk or a server, and back.

Rules:

- Fields that equal their default are left out, so a fresh state is the empty text.
- Fields whose name ends in `_at` are instants; they move from one clock into another by a shift.
- Text that does not make a state is `Unreadable`: nobody fetches on the word of a guess.
"""

from __future__ import annotations

import json
from dataclasses import fields
from typing import Any

from scrapy_polite.policy.backoff import Backoff
from scrapy_polite.policy.host import HostState

_FRESH = HostState()


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
        return HostState(**_heard(told, shift), backoff=backoff)
    except (AttributeError, TypeError, ValueError) as error:
        raise Unreadable(f"{text!r} is no state of a host: {error}") from None


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
        if item is not None and not isinstance(item, (int, float)):
            raise ValueError(f"{name} is no number")
    return moved(told, shift)
