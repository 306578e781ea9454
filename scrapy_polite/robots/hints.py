"""What robots.txt files say beside the RFC: how long to wait, and where sitemaps are.

Rules:

- Protego reads the values; this is the one module that knows it. It is given nothing but the
  records of the group that applies, because its own choice of a group is not the RFC's.
- `Crawl-delay: n` asks for n seconds between fetches, `Request-rate: n/s` for s / n seconds. Where
  several are given the longest wait of the first 100 counts. A time of day in a Request-rate is
  not heard: the rate holds all day.
- A value that is no number, negative or not finite asks for nothing.
- Sitemap and Host belong to the whole file, whatever group they stand in.

Source: https://www.sitemaps.org/protocol.html#submit_robots (Sitemap); the other records have no
standard.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from itertools import islice

from protego import Protego

from scrapy_polite.robots.lines import HOST, SITEMAP, Record

_HINTS_MAX = 100  # each costs a call of Protego, and a file may have 50,000


def delay(hints: Iterable[Record]) -> float | None:
    """Return the longest wait that *hints* ask for.

    Args:
        hints: the Crawl-delay and Request-rate records of the group that applies.

    Returns:
        Seconds, or None when nothing is asked for.

    >>> delay([Record(2, "crawl-delay", "2"), Record(3, "request-rate", "1/10s")])
    10.0
    """
    # One by one: of several Protego would tell the last only.
    values = dict.fromkeys((hint.key, hint.value) for hint in hints)
    waits = (seconds(key, value) for key, value in islice(values, _HINTS_MAX))
    return max((wait for wait in waits if wait is not None), default=None)


def seconds(key: str, value: str) -> float | None:
    """Return the seconds between fetches that one record asks for, None when it asks for none."""
    said = _read(("user-agent", "*"), (key, value))
    crawl_delay, rate = said.crawl_delay("*"), said.request_rate("*")
    try:
        wait = crawl_delay if rate is None else rate.seconds / rate.requests
    except OverflowError:
        return None
    return wait if wait is not None and math.isfinite(wait) else None


def sitemaps(records: Iterable[Record]) -> tuple[str, ...]:
    """Return the addresses of the sitemaps that the file names, in order."""
    return tuple(_read(*_of(SITEMAP, records)).sitemaps)


def preferred_host(records: Iterable[Record]) -> str | None:
    """Return the host that the file prefers, the last one named; None: no preference."""
    return _read(*_of(HOST, records)).preferred_host


def _of(key: str, records: Iterable[Record]) -> list[tuple[str, str]]:
    return [(record.key, record.value) for record in records if record.key == key]


def _read(*pairs: tuple[str, str]) -> Protego:
    # Protego takes more characters for line ends than the RFC: they must not start another record.
    lines = (f"{key}: {' '.join(value.splitlines())}" for key, value in pairs)
    return Protego.parse("\n".join(lines))
