"""Reading RateLimit headers, to slow down before the refusal comes (POLITE_RATELIMIT_HEADERS).

Three spellings are in use: ``RateLimit: "name";r=5;t=30`` (remaining, seconds to reset), the older
``RateLimit: limit=10, remaining=5, reset=30``, and one header each, ``RateLimit-Remaining`` and
``RateLimit-Reset``, with or without ``X-``.  What cannot be read says nothing.

Source: draft-ietf-httpapi-ratelimit-headers, sections 3 and 4, and its earlier versions.
"""

from __future__ import annotations

import re
from collections.abc import Callable

RESET_MAX = 3600.0  # seconds; a reset further away is no rate limit that a crawl can spread over
_PART = re.compile(
    r"(?:^|[;,\s])\s*(remaining|reset|r|t)\s*=\s*\"?(\d{1,9})(?![\d.])", re.IGNORECASE
)
_NUMBER = re.compile(r"\s*(\d{1,9})\s*(?:[,;].*)?$")
_NAMES = {"r": "remaining", "t": "reset"}


def spacing(header: Callable[[str], str | None]) -> float | None:
    """Return the wait in seconds that spreads what is left of a limit until it resets.

    Args:
        header: name -> value of a response's header, None without it.

    Returns:
        None when the headers say nothing usable.

    >>> spacing({"RateLimit": '"default";r=5;t=30'}.get)
    6.0
    >>> spacing({"RateLimit": "limit=10, remaining=0, reset=7"}.get)
    7.0
    >>> spacing({"X-RateLimit-Remaining": "10", "X-RateLimit-Reset": "5"}.get)
    0.5
    """
    waits = [wait for wait in map(_wait, _items(header)) if wait is not None]
    return max(waits, default=None)


def _items(header: Callable[[str], str | None]) -> list[dict[str, int]]:
    found = []
    for item in (header("RateLimit") or "").split('",') if header("RateLimit") else []:
        found.append({_NAMES.get(n.lower(), n.lower()): int(v) for n, v in _PART.findall(item)})
    for prefix in ("", "X-"):
        remaining = _NUMBER.match(header(f"{prefix}RateLimit-Remaining") or "")
        reset = _NUMBER.match(header(f"{prefix}RateLimit-Reset") or "")
        if remaining and reset:
            found.append({"remaining": int(remaining[1]), "reset": int(reset[1])})
    return found


def _wait(item: dict[str, int]) -> float | None:
    if "remaining" not in item or not 0 < item.get("reset", 0) <= RESET_MAX:
        return None
    return float(item["reset"]) / max(item["remaining"], 1)
