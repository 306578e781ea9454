"""What the owner of a robots.txt file should put right, line by line.

A problem never changes a verdict: it says how a line is read, where its author may have meant
something else. Nothing here is an error to the RFC, which ignores what cannot be parsed.

Source: RFC 9309 sections 2.1 to 2.2.4, 2.3 (encoding) and 2.5 (limit).
"""

from __future__ import annotations

import difflib
import enum
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from scrapy_polite.robots import hints
from scrapy_polite.robots.groups import EVERYONE, agent_name
from scrapy_polite.robots.lines import (
    ALLOW,
    CRAWL_DELAY,
    DISALLOW,
    KEYS,
    LIMIT_BYTES,
    REQUEST_RATE,
    SITEMAP,
    USER_AGENT,
    Record,
    RobotsFile,
    printable,
    records,
    split_line,
)

CRAWL_DELAY_MAX = 300.0  # seconds
_TEXT_MAX = 200  # characters of a line that a problem quotes
_QUOTE_MAX = 40  # characters of a key that a message quotes
_OFF_MAX = 2  # characters that a misspelling is longer or shorter
_OTHER_STANDARDS = frozenset({"clean-param", "content-signal", "content-usage", "license"})
_LINE_END = re.compile(r"\r\n|\r|\n")
_LINE_END_NAMES = {"\n": "LF", "\r\n": "CR LF", "\r": "CR"}
_HTML = re.compile(r"\s*<(?:!doctype|html|head|body|\?xml)\b", re.IGNORECASE).match
_NOT_UTF8 = re.compile("[\udc80-\udcff]").search


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
    TYPO = "typo"
    UNKNOWN = "unknown-record"
    UNREADABLE = "unreadable"


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing to put right.

    Attributes:
        line: its line number; 0 when the whole file is meant.
        kind: what kind of problem it is.
        message: one sentence for the owner of the site.
        text: the line as written, fit to print; empty for the whole file.
    """

    line: int
    kind: Kind
    message: str
    text: str = ""

    def __str__(self) -> str:
        return f"line {self.line}: {self.message}" if self.line else self.message


_Found = Iterator[tuple[int, Kind, str]]


def find_problems(
    file: RobotsFile, *, crawl_delay_max: float = CRAWL_DELAY_MAX
) -> tuple[Problem, ...]:
    """Return the problems of *file*, in the order of its lines.

    Args:
        file: the robots.txt file.
        crawl_delay_max: a longer Crawl-delay, in seconds, is reported as cut to this.

    >>> print(*find_problems(RobotsFile.read(b"User-agent: *\\nDisalow: admin")), sep="\\n")
    line 2: "disalow" is a misspelling; it is read as "disallow".
    line 2: The value begins with neither / nor *, so it matches nothing.
    """
    lines = file.lines()
    found = list(_in_file(file, lines))
    if not any(kind is Kind.HTML for _, kind, _ in found):
        found += _in_lines(lines)
        for record in records(lines):
            found += _in_value(record, crawl_delay_max)
        found += _in_groups(records(lines))
    found.sort(key=lambda problem: problem[0])
    quoted = ["", *lines, ""]
    return tuple(
        Problem(line, kind, message, printable(quoted[line][:_TEXT_MAX]))
        for line, kind, message in found
    )


def _in_file(file: RobotsFile, lines: Sequence[str]) -> _Found:
    text = file.text
    if _HTML(text):
        yield 0, Kind.HTML, "This is a web page, not a robots.txt file."
    if file.encoding != "utf-8":
        yield 0, Kind.ENCODING, "The file is UTF-16; the standard asks for UTF-8."
    elif file.has_bom:
        yield 1, Kind.BOM, "A byte order mark hides this line from some crawlers."
    if text.count("\0") * 4 > len(text):
        yield 0, Kind.ENCODING, "The file looks like UTF-16, but does not say so: it is not read."
    for number, line in enumerate(lines, 1):
        if not line.isascii() and _NOT_UTF8(line):
            yield number, Kind.ENCODING, "The line is not UTF-8; its octets are taken as they are."
    ends = _LINE_END.findall(text)
    if odd := next((n for n, end in enumerate(ends, 1) if end != ends[0]), 0):
        names = f"{_LINE_END_NAMES[ends[0]]} above and {_LINE_END_NAMES[ends[odd - 1]]} here"
        yield odd, Kind.LINE_ENDS, f"Lines end in different ways, {names}."
    if file.ignored_bytes:
        cut = f"only the first {LIMIT_BYTES:,} octets count; {file.ignored_bytes:,} are ignored"
        yield len(lines) + 1, Kind.IGNORED_TAIL, f"From here on nothing is read: {cut}."


def _in_lines(lines: Iterable[str]) -> _Found:
    for number, line in enumerate(lines, 1):
        content = line.partition("#")[0].strip().lower()
        pair = split_line(line)
        if pair is None:
            if content:
                yield (
                    number,
                    Kind.UNREADABLE,
                    "The line is not of the form 'key: value', and is ignored.",
                )
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
        yield Kind.MISSING_COLON, f"The colon after {_quoted(written)} is missing; it is assumed."
    if written != key:
        yield Kind.TYPO, f"{_quoted(written)} is a misspelling; it is read as {_quoted(key)}."


def _unknown(key: str) -> str:
    known = [name for name in KEYS if name[0] == key[0] and abs(len(name) - len(key)) <= _OFF_MAX]
    close = difflib.get_close_matches(key, known, n=1, cutoff=0.75)
    meant = f" Is {_quoted(KEYS[close[0]])} meant?" if close else ""
    return f"{_quoted(key)} is no record of the standard, and is ignored.{meant}"


def _quoted(text: str) -> str:
    return f'"{printable(text[:_QUOTE_MAX])}"'


def _in_value(record: Record, crawl_delay_max: float) -> _Found:
    found: Iterable[tuple[Kind, str]] = ()
    if record.key == USER_AGENT:
        found = _in_name(record.value)
    elif record.key in (ALLOW, DISALLOW):
        found = _in_pattern(record.key, record.value)
    elif record.key in (CRAWL_DELAY, REQUEST_RATE):
        found = _in_delay(record, crawl_delay_max)
    elif record.key == SITEMAP and "://" not in record.value:
        found = [(Kind.BAD_VALUE, "A sitemap is named by its whole address, https://...")]
    return ((record.line, kind, message) for kind, message in found)


def _in_name(value: str) -> Iterator[tuple[Kind, str]]:
    name = agent_name(value)
    if not name:
        yield Kind.NAME, "The line names no crawler: names are letters, - and _."
    elif name != value.lower():
        yield Kind.NAME, f"A name is letters, - and _ only, so this names {_quoted(name)}."


def _in_pattern(key: str, value: str) -> Iterator[tuple[Kind, str]]:
    if not value and key == DISALLOW:
        yield Kind.EMPTY_DISALLOW, "An empty Disallow blocks nothing; 'Disallow: /' blocks all."
    elif not value:
        yield Kind.MATCHES_NOTHING, "An empty Allow matches nothing; 'Allow: /' allows all."
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


def _in_groups(found: Iterable[Record]) -> _Found:
    names: list[str] = []  # in the current list of user-agent lines
    in_list = named = False
    between: Record | None = None  # another record in the list, which may seem to end it
    joined: tuple[Record, list[str], int] | None = None  # it, the names above it, the next name
    for record in found:
        if record.key == USER_AGENT:
            if not in_list:
                names, between, joined = [], None, None
            elif between and not joined:
                joined = between, names[:], record.line
            names.append(agent_name(record.value))
            in_list = named = True
        elif record.key not in (ALLOW, DISALLOW):
            between = record
        elif not named:
            yield record.line, Kind.ORPHAN, "The rule stands above every user-agent line: ignored."
        else:
            in_list = False
            if joined and record.key == DISALLOW and record.value:
                yield joined[2], Kind.JOINED_GROUPS, _joined(joined[0], joined[1], record)
                joined = None


def _joined(between: Record, names: Sequence[str], rule: Record) -> str:
    whom = "everyone" if EVERYONE in names else f"{names[0] or 'the names above it'} too"
    return (
        f"{_quoted(between.key)} in line {between.line} does not end the list of names,"
        f" so the rule in line {rule.line} applies to {whom}."
    )
