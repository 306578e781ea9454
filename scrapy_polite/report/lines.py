"""Lines of the event log: from events and back."""

from __future__ import annotations

import json
from typing import Any

from scrapy_polite.report.plain import from_plain, to_plain
from scrapy_polite.report.schema import (
    Began,
    Blocked,
    Dropped,
    Ended,
    Event,
    Fetched,
    Full,
    Parked,
    Released,
    Remains,
    RobotsRead,
)

KINDS: dict[str, type[Event]] = {
    "began": Began,
    "fetch": Fetched,
    "blocked": Blocked,
    "released": Released,
    "parked": Parked,
    "robots": RobotsRead,
    "dropped": Dropped,
    "remains": Remains,
    "full": Full,
    "ended": Ended,
}
_NAMES = {cls: name for name, cls in KINDS.items()}
_encode = json.JSONEncoder().encode


def to_line(event: Event) -> str:
    r"""Return an event as a line of the log.

    >>> to_line(Released(2.5, "site.example"))
    '{"event": "released", "at": 2.5, "host": "site.example"}\n'
    """
    return _encode({"event": _NAMES[type(event)], **to_plain(event)}) + "\n"


def from_line(line: str | bytes) -> Event | None:
    """Return the event of a line, None when its kind is not known.

    Raises:
        ValueError: the line is no event.

    >>> from_line('{"event": "released", "at": 2, "host": "site.example", "later": "addition"}')
    Released(at=2.0, host='site.example')
    """
    try:
        # Of octets json would have to guess the encoding first.
        data: Any = json.loads(line if isinstance(line, str) else line.decode())
    except RecursionError:
        raise ValueError("nested too deeply") from None
    if not isinstance(data, dict) or not isinstance(data.get("event"), str):
        raise ValueError("no event")
    cls = KINDS.get(data["event"])
    return None if cls is None else from_plain(cls, data)
