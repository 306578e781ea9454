"""Headers as a hostile site writes them: read in no time, and never into more than is allowed."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import pytest

from scrapy_polite.policy.origin import origin_of
from scrapy_polite.policy.ratelimit import LONGEST, spacing
from scrapy_polite.policy.retry_after import RETRY_AFTER_CAP, retry_after
from scrapy_polite.policy.robots_access import Access, next_hop
from scrapy_polite.policy.robots_cache import VALIDATOR_MAX, Ages, answered, fresh_for

NOW = 1.7e9
READ_SECONDS = 1.0  # for all headers of an answer; they took minutes when each blank was looked at
LINE = 16_384  # octets; Twisted takes no longer one, but as many as there are

PATTERNS = [
    *("a{}b", "Mon{}1", "r={}", '"x";r={}', "1{}x", "max-age={}", ", {}", "W/{}"),
    *("; {}", "r=1;t{}=", "{}", "Fri, 31 Dec 9999 23:59:59 GMT{}", "limit=1{}reset"),
]
FILLERS = [" ", "\t", ";", ",", "9", "Mon ", "r=", '"', "\\", "\x00", "=", ";r ", ", r"]
VALUES = [
    pattern.format(filler * (LINE // len(filler))) for pattern in PATTERNS for filler in FILLERS
]
NUMBERS = [
    *("1e309", "NaN", "inf", "-1", "-0", "0x10", "٣", "1_0", "+5", "9" * 300, "9" * 10_000),
    *("0.0000001", "1.5.5", "1,2,3", "\r\n5", "5\r\nX-Evil: 1", "Fri, 31 Dec 9999 23:59:59 GMT"),
    *("Sat, 01 Jan 0000 00:00:00 GMT", "Fri, 99 Foo 2026 99:99:99 GMT", "31-Dec-99 23:59:59 GMT"),
]

READERS: dict[str, tuple[Callable[[str], Any], float]] = {
    "Retry-After": (lambda v: retry_after([v] * 3, date=None, now=NOW), RETRY_AFTER_CAP),
    "Date": (lambda v: retry_after(["120"], date=v, now=NOW), 120.0),
    "RateLimit": (lambda v: spacing({"RateLimit": v}.get, NOW), LONGEST),
    "RateLimit-Policy": (lambda v: spacing({"RateLimit-Policy": v}.get, NOW), LONGEST),
    "RateLimit-Reset": (
        lambda v: spacing({"RateLimit-Reset": v, "RateLimit-Remaining": v}.get, NOW),
        LONGEST,
    ),
    "Cache-Control": (lambda v: fresh_for(v, Ages()), Ages().max_age),
}


@pytest.mark.parametrize(("read", "most"), READERS.values(), ids=READERS)
def test_values(read: Callable[[str], Any], most: float) -> None:
    """Whatever a header says, it means nothing or seconds within bounds."""
    for value in (*NUMBERS, *VALUES):
        seconds = read(value)
        assert seconds is None or 0 < seconds <= most, value[:60]


@pytest.mark.parametrize(("read", "most"), READERS.values(), ids=READERS)
def test_price(read: Callable[[str], Any], most: float) -> None:
    """A hundred lines of the greatest length, joined as HTTP joins them, are read in no time."""
    for value in VALUES[:: len(FILLERS) + 2]:
        begun_at = time.perf_counter()
        read(", ".join([value] * 100))
        assert time.perf_counter() - begun_at < READ_SECONDS, value[:20]


HERE = "https://site.example/robots.txt"
NOWHERE = [
    *("file:///etc/passwd", "ftp://site.example/r", "data:text/plain,User-agent:*", "s3://b/k"),
    *("javascript:alert(1)", "gopher://h/", "about:blank", "blob:https://h/1", "ws://h/r"),
    *("https://h:0/r", "https://h:65536/r", "https://h:-1/r", "https://h:abc/r", "https://[::1/r"),
    *("https://h:80:80/", "http:r", "https://?", "", " ", "\x00", "//", "https://\u202eh/"),
    *(
        "https://h\x00.example/",
        "https://h\x1b/",
        "https://h h/",
        "https://\udcff/",
        "https://%00/",
    ),
]
SOMEWHERE = [
    *(
        "https://me:secret@h/r",
        "//me@h/r",
        "https://h/\r\nX-Evil: 1",
        "https://h/\x00\x1b[2J\u202e",
    ),
    *(
        "/r\nr",
        "\\\\h\\r",
        "https://h/" + "a" * 15_000,
        "../" * 5_000 + "r",
        "?" * 15_000,
        "%" * 500,
    ),
    *("https://bücher.example/ü", "HTTPS://H/", "http://2130706433/", "http://0x7f.1/r", "https:r"),
    *("http://169.254.169.254/latest", "http://[::ffff:127.0.0.1]:22/", "https://h#@evil/"),
]


@pytest.mark.parametrize("location", NOWHERE, ids=range(len(NOWHERE)))
def test_location_leads_nowhere(location: str) -> None:
    """A robots.txt redirect to another scheme, or to what is no URL, is not followed."""
    assert next_hop(HERE, location, hops=0, seen=[HERE]) is None


@pytest.mark.parametrize("location", SOMEWHERE, ids=range(len(SOMEWHERE)))
def test_location_leads_to_http_only(location: str) -> None:
    """What is followed is http(s), in ASCII, without userinfo and without line ends."""
    target = next_hop(HERE, location, hops=0, seen=[HERE])
    assert target is not None and target.isascii() and target.isprintable()
    origin = origin_of(target)
    assert origin is not None and "@" not in origin and target.startswith(f"{origin}/")
    assert " " not in target and len(target) <= 3 * len(location) + len(HERE)


VALIDATORS = {
    "of a megabyte": ('"' + "x" * 1_000_000 + '"', None),
    "too long by one": ("x" * (VALIDATOR_MAX + 1), None),
    "of that length": ("x" * VALIDATOR_MAX, "x" * VALIDATOR_MAX),
    "header injection": ('"a"\r\nCookie: b', None),
    "a lone LF": ('"a"\nX: b', None),
    "a lone CR": ('"a"\rX: b', None),
    "NUL": ('"a\0"', None),
    "escape": ('"\x1b[2J"', None),
    "outside Latin-1": ('"\u2028"', None),
    "empty": ("", None),
    "blank": (" ", None),
    "weak": ('W/"a b"', 'W/"a b"'),
    "no quotes": ("abc", "abc"),
    "obsolete text": ('"\xe9"', '"\xe9"'),
}


@pytest.mark.parametrize(("sent", "kept"), VALIDATORS.values(), ids=VALIDATORS)
def test_rfc9110_8_8_validators(sent: str, kept: str | None) -> None:
    """An ETag or Last-Modified that could not be sent back, or is huge, is not kept."""
    record = answered(
        "https://h",
        Access.SUCCESSFUL,
        now=0,
        fresh_for=1,
        status=200,
        etag=sent,
        last_modified=sent,
    )
    assert (record.etag, record.last_modified) == (kept, kept)
