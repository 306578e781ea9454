"""How long a server asks to be left alone: the Retry-After header in every form met in the wild.

Rules:

- Usable: delay-seconds, with or without a fraction; an HTTP-date in any of its three forms; an
  absolute time in epoch seconds or milliseconds. Anything else, zero, a negative number, a time
  that is past, and whatever is more than a year from now mean that the header says nothing, and the
  back-off ladder applies: who takes the wrong unit must not be left alone for decades.
- An absolute time is measured against the response's own Date, so a wrong clock there does no harm;
  against our clock when Date is absent, unreadable or more than a day off.
- Of several values, in several headers or in one list, the largest usable one counts.
- Of hundreds of values, or of one as long as a page, the beginning is read.
- Digits are ASCII digits.

Source: RFC 9110 section 10.2.3 (Retry-After), section 5.6.7 (dates), section 5.3 (lists).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import datetime, timezone

RETRY_AFTER_CAP = 365.25 * 86_400.0
"""The longest wait that is ever returned: a year, in seconds."""

_DATE_TRUST = 86_400.0  # how far a Date may be from our clock, in seconds
_FIRST_EPOCH = 1e9  # smaller numbers are delays: as a delay this one would be 31 years
_EPOCH_PAST = 86_400.0  # seconds; an instant that is past for longer was none
_FIFTY_YEARS = 50 * 365.25 * 86_400.0
_BLANKS = " \t\r\n"
_READ = 20_000  # characters of a value
_VALUES_READ = 5

_NUMBER = re.compile(r"[0-9]+(?:\.[0-9]+)?")
# The weekday only repeats what the date says, and its comma is the one that separates no values.
_WEEKDAY = re.compile(
    r"\b(?:Mon|Tues?|Wed(?:nes)?|Thu(?:rs)?|Fri|Sat(?:ur)?|Sun)(?:day)?"
    r",?[ \t]+(?=[0-9]{2}[ -]|[A-Z])",
    re.IGNORECASE,
)
_MONTHS = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]
_MONTH = rf"(?P<month>{'|'.join(_MONTHS)})"
_CLOCK = r"(?P<hour>[0-9]{2}):(?P<minute>[0-9]{2}):(?P<second>[0-9]{2})"
_DATE_FORMS = tuple(
    re.compile(form, re.IGNORECASE)
    for form in (
        rf"(?P<day>[0-9]{{2}}) {_MONTH} (?P<year>[0-9]{{4}}) {_CLOCK} (?:GMT|UTC|[+-]0000)",
        rf"(?P<day>[0-9]{{2}})-{_MONTH}-(?P<year>[0-9]{{2}}) {_CLOCK} (?:GMT|UTC)",
        rf"{_MONTH} (?P<day>[0-9]{{2}}| [0-9]) {_CLOCK} (?P<year>[0-9]{{4}})",
    )
)


def retry_after(
    values: Sequence[str | bytes], *, date: str | bytes | None, now: float
) -> float | None:
    """Return how many seconds a response asks to wait.

    Args:
        values: the value of each Retry-After header of the response.
        date: the response's Date header, or None.
        now: our wall clock, in seconds since the epoch.

    Returns:
        Seconds, above 0 and at most `RETRY_AFTER_CAP`, or None: nothing usable, the ladder applies.

    >>> retry_after(["120"], date=None, now=0.0)
    120.0
    >>> retry_after(["Sun, 06 Nov 1994 08:50:07 GMT"], date="Sun, 06 Nov 1994 08:49:37 GMT",
    ...             now=784111800.0)
    30.0
    >>> retry_after(["soon", "-5"], date=None, now=0.0) is None
    True
    """
    reference = _server_clock(date, now)
    few = values[:_VALUES_READ]
    waits = (_seconds(item, reference) for value in few for item in _items(_text(value)))
    return max((wait for wait in waits if wait is not None and _is_usable(wait)), default=None)


def _is_usable(wait: float) -> bool:
    return 0 < wait <= RETRY_AFTER_CAP


def _text(value: str | bytes) -> str:
    # ISO-8859-1 never fails and no digit lies outside ASCII: junk stays junk.
    value = value[:_READ]
    text = value.decode("latin-1") if isinstance(value, bytes) else value
    return _WEEKDAY.sub("", text)


def _items(text: str) -> Iterator[str]:
    return (item.strip(_BLANKS) for item in text.split(","))


def _server_clock(date: str | bytes | None, now: float) -> float:
    """What the server holds for the present time, in epoch seconds."""
    told = None if date is None else _instant(_text(date).strip(_BLANKS), now)
    return now if told is None or abs(told - now) > _DATE_TRUST else told


def _seconds(item: str, reference: float) -> float | None:
    """The wait that one value asks for, perhaps negative; None when it is junk."""
    if not _NUMBER.fullmatch(item):
        instant = _instant(item, reference)
        return None if instant is None else instant - reference
    number = float(item)  # of 10,000 digits: infinite, and unusable
    if number >= _FIRST_EPOCH:
        for wait in (number - reference, number / 1000.0 - reference):
            if -_EPOCH_PAST <= wait <= RETRY_AFTER_CAP:
                return wait
    return number


def _instant(text: str, now: float) -> float | None:
    """The epoch time of an HTTP-date without its weekday, or None."""
    found = next(filter(None, (form.fullmatch(text) for form in _DATE_FORMS)), None)
    if found is None:
        return None
    if len(found["year"]) == 4:
        return _epoch(found, int(found["year"]))
    # RFC 9110 section 5.6.7: a two-digit year is never more than 50 years in the future.
    years = (century + int(found["year"]) for century in (2100, 2000, 1900))
    instants = (_epoch(found, year) for year in years)
    return next((at for at in instants if at is not None and at - now <= _FIFTY_YEARS), None)


def _epoch(found: re.Match[str], year: int) -> float | None:
    month = _MONTHS.index(found["month"].lower()) + 1
    second = 59 if found["second"] == "60" else int(found["second"])  # 60: a leap second
    try:
        at = datetime(
            year, month, int(found["day"]), int(found["hour"]), int(found["minute"]), second,
            tzinfo=timezone.utc,
        )  # fmt: skip
    except ValueError:
        return None
    return at.timestamp()
