"""What the owner of a robots.txt file should put right in single lines.

Rules:

- A line that is read in another way than it is written is told: misspelled keys, a missing colon,
  names with more than letters, `-` and `_`.
- So is a line that means nothing: prose, unknown records, patterns that match nothing, delays
  and sitemaps that cannot be read.
- Records of other standards are no mistakes.

Source: RFC 9309 sections 2.2 to 2.2.4.
"""

from __future__ import annotations

import difflib
import enum
from collections.abc import Iterable, Iterator

from scrapy_polite.robots import hints, statements
from scrapy_polite.robots.groups import PREFERENCES, agent_name
from scrapy_polite.robots.lines import (
    ALLOW,
    CRAWL_DELAY,
    DISALLOW,
    KEYS,
    REQUEST_RATE,
    SITEMAP,
    USER_AGENT,
    Record,
    printable,
    split_line,
)

_QUOTE_MAX = 40  # characters of a key that a message quotes
_OFF_MAX = 2  # characters that a misspelling is longer or shorter
_OTHER_STANDARDS = frozenset({"clean-param", "license"})


class Kind(enum.Enum):
    """What is wrong with a line, or with the file."""

    BAD_VALUE = "bad-value"
    BOM = "byte-order-mark"
    EMPTY_DISALLOW = "empty-disallow"
    ENCODING = "encoding"
    HTML = "html"
    IGNORED_TAIL = "ignored-tail"
    JOINED_GROUPS = "joined-groups"
    LINE_ENDS = "mixed-line-ends"
    LONG_DELAY = "long-delay"
    MATCHES_NOTHING = "matches-nothing"
    MISSING_COLON = "missing-colon"
    NAME = "user-agent-name"
    ORPHAN = "orphan-rule"
    PREFERENCE = "preference"
    TYPO = "typo"
    UNKNOWN = "unknown-record"
    UNREADABLE = "unreadable"


Found = Iterator[tuple[int, Kind, str]]  # line, kind, message


def in_lines(lines: Iterable[str]) -> Found:
    """Yield what is wrong with the form and the keys of *lines*."""
    for number, line in enumerate(lines, 1):
        content = line.partition("#")[0].strip().lower()
        pair = split_line(line)
        if pair is None:
            if content:
                yield number, Kind.UNREADABLE, "The line is no 'key: value', and is ignored."
        elif pair[0] in KEYS:
            for kind, message in _in_key(pair[0], content):
                yield number, kind, message
        elif pair[0] not in _OTHER_STANDARDS:
            yield number, Kind.UNKNOWN, _unknown(pair[0])


def _in_key(key: str, content: str) -> Iterator[tuple[Kind, str]]:
    written = content.partition(":")[0].rstrip()
    if written == key:
        return
    first_word = content.split(None, 1)[0]
    if ":" not in content or (written not in KEYS and first_word in KEYS):
        written = first_word
        yield Kind.MISSING_COLON, f"The colon after {quoted(written)} is missing; it is assumed."
    if written != key:
        yield Kind.TYPO, f"{quoted(written)} is a misspelling; it is read as {quoted(key)}."


def _unknown(key: str) -> str:
    known = [name for name in KEYS if name[0] == key[0] and abs(len(name) - len(key)) <= _OFF_MAX]
    close = difflib.get_close_matches(key, known, n=1, cutoff=0.75)
    meant = f" Is {quoted(KEYS[close[0]])} meant?" if close else ""
    return f"{quoted(key)} is no record of the standard, and is ignored.{meant}"


def quoted(text: str) -> str:
    """Return *text* as messages quote it, fit to print."""
    return f'"{printable(text[:_QUOTE_MAX])}"'


def in_value(record: Record, crawl_delay_max: float) -> Found:
    """Yield what is wrong with the value of *record*; *crawl_delay_max* is in seconds."""
    found: Iterable[tuple[Kind, str]] = ()
    if record.key == USER_AGENT:
        found = _in_name(record.value)
    elif record.key in (ALLOW, DISALLOW):
        found = _in_pattern(record.key, record.value)
    elif record.key in (CRAWL_DELAY, REQUEST_RATE):
        found = _in_delay(record, crawl_delay_max)
    elif record.key in PREFERENCES:
        found = ((Kind.PREFERENCE, message) for message in statements.mistakes(record))
    elif record.key == SITEMAP and "://" not in record.value:
        found = [(Kind.BAD_VALUE, "A sitemap is named by its whole address, https://...")]
    return ((record.line, kind, message) for kind, message in found)


def _in_name(value: str) -> Iterator[tuple[Kind, str]]:
    name = agent_name(value)
    if not name:
        yield Kind.NAME, "The line names no crawler: names are letters, - and _."
    elif name != value.lower():
        yield Kind.NAME, f"A name is letters, - and _ only, so this names {quoted(name)}."


def _in_pattern(key: str, value: str) -> Iterator[tuple[Kind, str]]:
    if not value and key == ALLOW:
        yield Kind.MATCHES_NOTHING, "An empty Allow matches nothing; 'Allow: /' allows all."
    elif not value:  # the customary way to allow all
        return
    elif "://" in value and not value.startswith(("/", "*")):
        yield Kind.MATCHES_NOTHING, "A rule is a path; with a whole address it matches nothing."
    elif not value.startswith(("/", "*")):
        yield Kind.MATCHES_NOTHING, "The value begins with neither / nor *, so it matches nothing."


def _in_delay(record: Record, crawl_delay_max: float) -> Iterator[tuple[Kind, str]]:
    wait = hints.seconds(record.key, record.value)
    if wait is None:
        form = "a number of seconds" if record.key == CRAWL_DELAY else "fetches/seconds, as 1/10"
        yield Kind.BAD_VALUE, f"The value is not {form}, and is ignored."
    elif wait > crawl_delay_max:
        yield Kind.LONG_DELAY, f"The wait of {wait:g} s is cut to {crawl_delay_max:g} s."
