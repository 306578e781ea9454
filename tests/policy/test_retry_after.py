"""Every form of Retry-After: a usable one is a number of seconds, all else is None.

Rules: NOW is one instant in the three forms of RFC 9110 section 5.6.7. The fuzz runs FUZZ_EXAMPLES
examples (300 unless told otherwise).
"""

from __future__ import annotations

import os
from datetime import datetime, timezone
from email.utils import formatdate

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from scrapy_polite.policy.retry_after import RETRY_AFTER_CAP, retry_after

FUZZ_EXAMPLES = int(os.environ.get("FUZZ_EXAMPLES", "300"))
NOW = 1_791_201_600.0
IMF_NOW = "Mon, 05 Oct 2026 12:00:00 GMT"

USABLE: dict[str, tuple[str | bytes, float]] = {
    "delay-seconds": ("120", 120.0),
    "one": ("1", 1.0),
    "leading zeros": ("0120", 120.0),
    "octets": (b"120", 120.0),
    "blanks around": (" \t2 \r\n", 2.0),
    "fraction": ("1.5", 1.5),
    "small fraction": ("0.25", 0.25),
    "IMF-fixdate": ("Mon, 05 Oct 2026 12:00:30 GMT", 30.0),
    "rfc850-date": ("Monday, 05-Oct-26 12:00:30 GMT", 30.0),
    "asctime-date": ("Mon Oct  5 12:00:30 2026", 30.0),
    "asctime-date, two digits": ("Thu Oct 15 12:00:00 2026", 864_000.0),
    "date of octets": (b"Mon, 05 Oct 2026 12:00:30 GMT", 30.0),
    "date, other case": ("mon, 05 oct 2026 12:00:30 gmt", 30.0),
    "date, UTC": ("Mon, 05 Oct 2026 12:00:30 UTC", 30.0),
    "date, +0000": ("Mon, 05 Oct 2026 12:00:30 +0000", 30.0),
    "date, wrong weekday": ("Fri, 05 Oct 2026 12:00:30 GMT", 30.0),
    "date, no weekday": ("05 Oct 2026 12:00:30 GMT", 30.0),
    "leap second": ("Mon, 05 Oct 2026 12:00:60 GMT", 59.0),
    "a year": ("31557600", RETRY_AFTER_CAP),
    "a date in a year": ("Tue, 05 Oct 2027 12:00:00 GMT", 31_536_000.0),
    "epoch": ("1791201630", 30.0),
    "epoch with a fraction": ("1791201600.5", 0.5),
    "no plausible epoch": ("1000000", 1_000_000.0),
    "list": ("60, 120, 90", 120.0),
    "list with empty elements": (",, 60 ,", 60.0),
    "list with junk": ("soon, 60, -5", 60.0),
    "date, then number": ("Mon, 05 Oct 2026 12:00:30 GMT, 10", 30.0),
    "number, then date": ("40, Monday, 05-Oct-26 12:00:30 GMT", 40.0),
    "two dates": ("Mon, 05 Oct 2026 12:00:30 GMT, Mon Oct  5 12:01:00 2026", 60.0),
    "past date and number": ("Mon, 05 Oct 2026 11:00:00 GMT, 7", 7.0),
    "epoch in milliseconds": ("1791201630000", 30.0),
    "epoch in milliseconds, a fraction": ("1791201630000.5", 30.000499963760376),
    "epoch in milliseconds, in a year": ("1822737600000", 31_536_000.0),
    "beyond a year, and another one": ("31557601, 60", 60.0),
    "10,000 zeros before": ("0" * 10_000 + "7", 7.0),
    "10,000 digits of fraction": ("1." + "0" * 10_000, 1.0),
}

UNUSABLE: dict[str, str | bytes] = {
    "zero": "0",
    "zero fraction": "0.000",
    "underflow": "0." + "0" * 400 + "1",
    "negative": "-5",
    "plus": "+5",
    "now": IMF_NOW,
    "past IMF-fixdate": "Sun, 06 Nov 1994 08:49:37 GMT",
    "past rfc850-date": "Sunday, 06-Nov-94 08:49:37 GMT",
    "past asctime-date": "Sun Nov  6 08:49:37 1994",
    "past epoch": "1791201599",
    "past epoch in milliseconds": "1791201599000",
    "epoch in milliseconds, past for long": "1700000000000",
    "epoch in milliseconds, in two years": "1854360000000",
    "epoch in microseconds": "1791201630000000",
    "epoch in two years": "1854360000",
    "more than a year": "31557601",
    "date in more than a year": "Tue, 29 Feb 2028 12:00:00 GMT",
    "10,000 digits": "9" * 10_000,
    "last date there is": "Fri, 31 Dec 9999 23:59:59 GMT",
    "nan": "nan",
    "infinite": "inf",
    "Infinity": "Infinity",
    "exponent": "1e3",
    "hex": "0x10",
    "underscore": "1_000",
    "two numbers": "1 2",
    "unit": "120s",
    "quotes": '"120"',
    "point only": ".",
    "no digit before the point": ".5",
    "no digit after the point": "5.",
    "words": "soon",
    "empty": "",
    "blank": " \t ",
    "comma": ",",
    "NUL": "12\x000",
    "Arabic digits": "\u0661\u0662",
    "fullwidth digits": "\uff11\uff12",
    "superscript octet": b"\xb2",
    "no-break space": b"\xa05",
    "utf-8 digits": "\u0661\u0662".encode(),
    "year 0": "Sat, 01 Jan 0000 00:00:00 GMT",
    "year 10000": "Sat, 01 Jan 10000 00:00:00 GMT",
    "month 13": "Mon, 05 Foo 2027 12:00:00 GMT",
    "day 0": "Mon, 00 Oct 2027 12:00:00 GMT",
    "day 32": "Mon, 32 Oct 2027 12:00:00 GMT",
    "no leap day": "Mon, 29 Feb 2027 12:00:00 GMT",
    "hour 24": "Mon, 05 Oct 2027 24:00:00 GMT",
    "second 61": "Mon, 05 Oct 2027 12:00:61 GMT",
    "local time": "Mon, 05 Oct 2027 12:00:00 PST",
    "offset": "Mon, 05 Oct 2027 12:00:00 +0200",
    "ISO 8601": "2027-10-05T12:00:00Z",
    "weekday": "Mon,",
}


def seconds(*values: str | bytes, date: str | bytes | None = None) -> float | None:
    return retry_after(values, date=date, now=NOW)


@pytest.mark.parametrize(("value", "expected"), USABLE.values(), ids=USABLE)
def test_rfc9110_10_2_3_usable(value: str | bytes, expected: float) -> None:
    """A usable value gives the seconds of the table."""
    assert seconds(value) == expected


@pytest.mark.parametrize("value", UNUSABLE.values(), ids=UNUSABLE)
def test_unusable(value: str | bytes) -> None:
    """Anything else leaves the wait to the ladder, and does not spoil a second header."""
    assert seconds(value) is None
    assert seconds(value, "3") == 3.0


def test_no_header() -> None:
    """Without a Retry-After there is nothing to wait for."""
    assert seconds() is None


@pytest.mark.parametrize(
    "values", [("60", "120"), ("120", "60"), ("120", b"Mon, 05 Oct 2026 12:01:00 GMT")]
)
def test_two_headers(values: tuple[str | bytes, ...]) -> None:
    """Of several headers the larger counts."""
    assert seconds(*values) == 120.0


CLOCKS: dict[str, tuple[str | bytes | None, float]] = {
    "no Date": (None, 30.0),
    "our clock": (IMF_NOW, 30.0),
    "ten seconds fast": ("Mon, 05 Oct 2026 12:00:10 GMT", 20.0),
    "an hour slow": (b"Mon, 05 Oct 2026 11:00:30 GMT", 3600.0),
    "rfc850-date": ("Monday, 05-Oct-26 12:00:20 GMT", 10.0),
    "asctime-date": (" Mon Oct  5 12:00:20 2026 ", 10.0),
    "a day slow": ("Sun, 04 Oct 2026 12:00:00 GMT", 86_430.0),
    "over a day slow": ("Sun, 04 Oct 2026 11:59:59 GMT", 30.0),
    "years slow": ("Thu, 01 Jan 1970 00:00:00 GMT", 30.0),
    "junk": ("yesterday", 30.0),
    "a number": ("1791201620", 30.0),
    "empty": ("", 30.0),
}


@pytest.mark.parametrize(("date", "expected"), CLOCKS.values(), ids=CLOCKS)
@pytest.mark.parametrize("value", ["Mon, 05 Oct 2026 12:00:30 GMT", "1791201630"])
def test_rfc9110_6_6_1_measured_against_date(
    value: str, date: str | bytes | None, expected: float
) -> None:
    """An absolute time counts from the response's Date, or from our clock when that is absurd."""
    assert seconds(value, date=date) == expected


def test_small_number_is_no_epoch() -> None:
    """A clock that counts from its own start does not turn a delay into a past time."""
    assert retry_after(["120"], date=None, now=1000.0) == 120.0


def test_delay_needs_no_date() -> None:
    """A delay is the same whatever the Date says."""
    assert seconds("30", date="Mon, 05 Oct 2026 11:00:00 GMT") == 30.0


@pytest.mark.parametrize(
    ("value", "year", "is_future"),
    [
        ("Tuesday, 05-Oct-27 12:00:00 GMT", 2026, True),
        ("Tuesday, 05-Oct-94 12:00:00 GMT", 2026, False),
        ("Friday, 01-Jan-00 12:00:00 GMT", 2099, True),
        ("Friday, 01-Jan-99 12:00:00 GMT", 2100, False),
    ],
)
def test_rfc9110_5_6_7_two_digit_year(value: str, year: int, is_future: bool) -> None:
    """A two-digit year is read as past when it would be more than 50 years in the future."""
    now = datetime(year, 10, 6, tzinfo=timezone.utc).timestamp()
    assert (retry_after([value], date=None, now=now) is not None) == is_future


JUNK = [value for value in UNUSABLE.values() if isinstance(value, str)]
SOUP = st.text(alphabet="0123456789.,+-: \tMonOctGMTeinfaN\u0661\xb2", max_size=60)
NUMBERS = st.one_of(st.integers().map(str), st.floats().map(str), st.integers(0, 2**33).map(str))
DATES = st.integers(-(2**35), 2**37).map(lambda at: formatdate(at, usegmt=True))
VALUES = st.one_of(
    SOUP, NUMBERS, DATES, st.text(), st.binary(), st.tuples(DATES, NUMBERS).map(", ".join)
)


@settings(max_examples=FUZZ_EXAMPLES, deadline=None)
@given(st.lists(VALUES, max_size=3), st.none() | VALUES, st.floats())
@example(["1791201630", "Monday, 05-Oct-26 12:00:30 GMT"], None, float("nan"))
@example(["1791201630", "Monday, 05-Oct-26 12:00:30 GMT"], None, float("-inf"))
@example(["31 Dec 9999 23:59:59 GMT"], "01 Jan 0001 00:00:00 GMT", -1e18)
def test_fuzz_total(values: list[str | bytes], date: str | bytes | None, now: float) -> None:
    """Whatever the headers and the clock, the answer is None or finite seconds up to the cap."""
    wait = retry_after(values, date=date, now=now)
    assert wait is None or 0 < wait <= RETRY_AFTER_CAP


@settings(max_examples=FUZZ_EXAMPLES, deadline=None)
@given(st.integers(1, 86_400), st.lists(st.sampled_from(JUNK), max_size=3))
def test_fuzz_floor_survives_junk(wait: int, junk: list[str]) -> None:
    """A usable wait is never shortened by what stands beside it, as far as a value is read."""
    date = formatdate(NOW + wait, usegmt=True)
    assert seconds(*junk, str(wait)) == wait
    assert seconds(*junk, date) == wait
    together = ", ".join([*junk, date])
    assert seconds(together) == (wait if len(together) <= 20_000 else None)
