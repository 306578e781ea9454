"""How the report says numbers, in plain ASCII."""

from __future__ import annotations

import time

_PLURALS = {"fetch": "fetches", "refusal": "refusals"}


def many(count: int, noun: str) -> str:
    """Return a count and its noun.

    >>> many(1, "host"), many(1200, "fetch")
    ('1 host', '1,200 fetches')
    """
    return f"{count:,} {noun if count == 1 else _PLURALS.get(noun, noun + 's')}"


def span(seconds: float) -> str:
    """Return a span of time as a person says it.

    >>> span(0.04), span(2.5), span(75), span(7260), span(90000)
    ('40 ms', '2.5 s', '1 min 15 s', '2 h 1 min', '1 d 1 h')
    """
    if seconds < 1:
        return f"{seconds * 1000:.3g} ms"
    if seconds < 60:
        return f"{seconds:.3g} s"
    whole = round(seconds)
    for size, unit, small, small_unit in _UNITS:
        if whole >= size:
            rest = whole % size // small
            return f"{whole // size:,} {unit}" + (f" {rest} {small_unit}" if rest else "")
    return f"{whole} s"


def instant(seconds: float) -> str:
    """Return an instant of a crawl.

    >>> instant(3725.25)
    '1:02:05.250'
    """
    minutes, rest = divmod(seconds, 60)
    hours, minutes = divmod(int(minutes), 60)
    return f"{hours}:{minutes:02}:{rest:06.3f}"


def share(part: float) -> str:
    """Return a share in percent.

    >>> share(0.0123), share(1 / 11)
    ('1.23%', '9.09%')
    """
    return f"{part:.2%}"


def date(epoch: float) -> str:
    """Return a date in UTC.

    >>> date(0)
    '1970-01-01 00:00:00 UTC'
    """
    return time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime(epoch))


def printable(text: str) -> str:
    r"""Return a text that does nothing to a terminal.

    >>> printable("a\x1b[31mb\n")
    'a?[31mb?'
    """
    return "".join(char if char.isprintable() else "?" for char in text)


_UNITS = (
    (86400, "d", 3600, "h"),
    (3600, "h", 60, "min"),
    (60, "min", 1, "s"),
)
