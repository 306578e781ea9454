"""Reading RateLimit headers, to slow down before the refusal comes (POLITE_RATELIMIT_HEADERS).

Three spellings are in use: ``RateLimit: "name";r=5;t=30`` (remaining, seconds to reset), the older
``RateLimit: limit=10, remaining=5, reset=30``, and one header each, ``RateLimit-Remaining`` and
``RateLimit-Reset``, with or without ``X-``, where the reset may be an instant in epoch seconds.

- What is left is spread over the time until the reset; of several limits the tightest counts.
- When no more is said than the limit itself, ``RateLimit-Policy: "name";q=10;w=60`` (quota, seconds
  of the window), it is spread over its window.
- What cannot be read, or is too long, says nothing, and neither does a reset or window of more than
  an hour: a crawl is not spread over a day.

Source: draft-ietf-httpapi-ratelimit-headers, sections 3 and 4, and its earlier versions.
"""

from __future__ import annotations

import re
from collections.abc import Callable

LONGEST = 3600.0  # seconds; of a reset or window that is heeded
_READ = 1000  # characters of a header; who has more to say says nothing
_FIRST_EPOCH = 1e9  # greater numbers are instants
_ITEM = re.compile(r',(?=\s*")')  # a limit's name is quoted; the older spelling is one item
_PART = re.compile(
    r"(?:^|[;,\s])\s*(remaining|reset|r|t|q|w)\s*=\s*(\d{1,12})(?![\d.])", re.IGNORECASE | re.ASCII
)
_NUMBER = re.compile(r"\s*(\d{1,12})(?:\.\d+)?\s*(?:[,;].*)?", re.ASCII | re.DOTALL)


def spacing(header: Callable[[str], str | None], now: float) -> float | None:
    """Return the wait in seconds that spreads what is left of a limit until it resets.

    Args:
        header: name -> value of a response's header, None without it.
        now: our wall clock, in seconds since the epoch.

    Returns:
        Seconds, above 0 and at most an hour; None when the headers say nothing usable.

    >>> spacing({"RateLimit": '"default";r=5;t=30'}.get, 0.0)
    6.0
    >>> spacing({"RateLimit": "limit=10, remaining=0, reset=7"}.get, 0.0)
    7.0
    >>> spacing({"X-RateLimit-Remaining": "10", "X-RateLimit-Reset": "1700000005"}.get, 1.7e9)
    0.5
    >>> spacing({"RateLimit-Policy": '"burst";q=5;w=10, "day";q=1000;w=86400'}.get, 0.0)
    2.0
    """
    header = _short(header)
    left = [_spread(*limit, now) for limit in (*_limits(header), *_single(header))]
    said = [wait for wait in left if wait is not None]
    if not said:
        policies = (_spread(*policy, now) for policy in _policies(header))
        said = [wait for wait in policies if wait is not None]
    return max(said, default=None)


def _short(header: Callable[[str], str | None]) -> Callable[[str], str | None]:
    def short(name: str) -> str | None:
        value = header(name)
        return value if value is None or len(value) <= _READ else None

    return short


def _limits(header: Callable[[str], str | None]) -> list[tuple[str, str]]:
    items = map(_parts, _ITEM.split(header("RateLimit") or ""))
    return [
        (item.get("r") or item.get("remaining", ""), item.get("t") or item.get("reset", ""))
        for item in items
    ]


def _single(header: Callable[[str], str | None]) -> list[tuple[str, str]]:
    found = []
    for prefix in ("", "X-"):
        left = _NUMBER.fullmatch(header(f"{prefix}RateLimit-Remaining") or "")
        reset = _NUMBER.fullmatch(header(f"{prefix}RateLimit-Reset") or "")
        found.append((left[1] if left else "", reset[1] if reset else ""))
    return found


def _policies(header: Callable[[str], str | None]) -> list[tuple[str, str]]:
    items = map(_parts, _ITEM.split(header("RateLimit-Policy") or ""))
    return [(item.get("q", ""), item.get("w", "")) for item in items]


def _parts(item: str) -> dict[str, str]:
    return {name.lower(): number for name, number in _PART.findall(item)}


def _spread(count: str, reset: str, now: float) -> float | None:
    """Spread a count over seconds, or until an instant; "" stands for what was not said."""
    if not count or not reset:
        return None
    seconds = float(reset)
    if seconds >= _FIRST_EPOCH:
        seconds -= now
    return seconds / max(int(count), 1) if 0 < seconds <= LONGEST else None
