"""What the owner of a robots.txt file should put right, line by line.

A problem never changes a verdict: it says how a line is read, where its author may have meant
something else. Nothing here is an error to the RFC, which ignores what cannot be parsed.

Source: RFC 9309 sections 2.1 to 2.2.4, 2.3 (encoding) and 2.5 (limit).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby

from scrapy_polite.robots.groups import EVERYONE, agent_name
from scrapy_polite.robots.lines import (
    ALLOW,
    CONTENT_USAGE,
    DISALLOW,
    LIMIT_BYTES,
    USER_AGENT,
    Record,
    RobotsFile,
    printable,
    records,
)
from scrapy_polite.robots.mistakes import Found, Kind, in_lines, in_value, quoted

__all__ = ["CRAWL_DELAY_MAX", "Kind", "Problem", "find_problems"]

CRAWL_DELAY_MAX = 300.0  # seconds
_TEXT_MAX = 200  # characters of a line that a problem quotes
_LINE_END = re.compile(r"\r\n|\r|\n")
_LINE_END_NAMES = {"\n": "LF", "\r\n": "CR LF", "\r": "CR"}
_HTML = re.compile(r"\s*<(?:!doctype|html|head|body|\?xml)\b", re.IGNORECASE).match
_NOT_UTF8 = re.compile("[\udc80-\udcff]").search


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
        found += in_lines(lines)
        for record in records(lines):
            found += in_value(record, crawl_delay_max)
        found += _in_groups(records(lines))
        found += _in_vain(records(lines))
    found.sort(key=lambda problem: problem[0])
    texts = ["", *lines, ""]  # line 0 is the file, the last one the tail that is ignored
    return tuple(
        Problem(line, kind, message, printable(texts[line][:_TEXT_MAX]))
        for line, kind, message in found
    )


def _in_file(file: RobotsFile, lines: Sequence[str]) -> Found:
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


def _in_groups(found: Iterable[Record]) -> Found:
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
            if record.key == CONTENT_USAGE and not named:
                yield record.line, Kind.ORPHAN, "It stands above every user-agent line: ignored."
        elif not named:
            yield record.line, Kind.ORPHAN, "The rule stands above every user-agent line: ignored."
        else:
            in_list = False
            if joined and record.key == DISALLOW and record.value:
                yield joined[2], Kind.JOINED_GROUPS, _joined(joined[0], joined[1], record)
                joined = None


def _in_vain(found: Iterable[Record]) -> Found:
    """An empty Disallow beside other rules; alone it is the customary way to allow all.

    Source: M. Koster, "A Standard for Robot Exclusion" (1994).
    """
    marked = (record for record in found if record.key in (USER_AGENT, ALLOW, DISALLOW))
    for _, run in groupby(marked, lambda record: record.key == USER_AGENT):
        rules = list(run)
        for rule in rules if len(rules) > 1 else ():
            if rule.key == DISALLOW and not rule.value:
                message = "An empty Disallow blocks nothing; 'Disallow: /' blocks all."
                yield rule.line, Kind.EMPTY_DISALLOW, message


def _joined(between: Record, names: Sequence[str], rule: Record) -> str:
    whom = "everyone" if EVERYONE in names else f"{names[0] or 'the names above it'} too"
    return (
        f"{quoted(between.key)} in line {between.line} does not end the list of names,"
        f" so the rule in line {rule.line} applies to {whom}."
    )
