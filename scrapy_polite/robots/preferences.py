"""From the preference records of a group and a URL to what may be done with the page.

Rules:

- A value that begins with `/` is a path, up to the first blank or tab, and a statement; any other
  value is a statement about all pages, as if its path had no octets.  Paths are patterns as those
  of Allow and Disallow are, with the same spelling, `*` and `$`.
- Of the records of one form that match a URL those with the longest path count, together; what
  they come to, and what the two forms come to, decides `policy.usage`.
- A group with more than `HEARD_MAX` records is not matched line by line: what any of them
  disallows is disallowed on every page, and nothing else is said.

Source: draft-ietf-aipref-attach (Content-Usage in robots.txt); https://contentsignals.org.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from scrapy_polite.policy.usage import LABELS, Preference, combined, said
from scrapy_polite.robots.escapes import Spelled
from scrapy_polite.robots.groups import Rule
from scrapy_polite.robots.lines import CONTENT_SIGNAL, CONTENT_USAGE, Record, printable
from scrapy_polite.robots.matcher import RuleSet

HEARD_MAX = 1000  # records of a group that are matched with each URL
_WRITTEN_MAX = 200  # characters of a record that are told
_WRITTEN = {CONTENT_USAGE: "Content-Usage", CONTENT_SIGNAL: "Content-Signal"}
_PATH = re.compile(r"(/[^ \t]*)[ \t]*").match


@dataclass(frozen=True, slots=True)
class Wish:
    """What an owner says of one use of a page.

    Attributes:
        preference: allow, disallow or unknown.
        line: the line of the robots.txt that decides, the first where several do; None without one.
        rule: that line, fit to print.
    """

    preference: Preference
    line: int | None = None
    rule: str | None = None

    def __str__(self) -> str:
        if self.line is None:
            return self.preference.value
        return f'{self.preference.value} by line {self.line}, "{self.rule}"'


UNKNOWN = Wish(Preference.UNKNOWN)


class _Statement(NamedTuple):
    record: Record
    path: RuleSet | None  # None: all pages
    said: dict[str, Preference]


def split_path(value: str) -> tuple[str, str]:
    """Return the path and the statement of a record's value; without a path it is empty.

    >>> split_path("/a/ train-ai=n"), split_path("train-ai=n")
    (('/a/', 'train-ai=n'), ('', 'train-ai=n'))
    """
    match = _PATH(value)
    return (match[1], value[match.end() :]) if match else ("", value)


class PreferenceSet:
    """The compiled preferences of one group.

    >>> from scrapy_polite.robots.escapes import spellings
    >>> wishes = PreferenceSet([Record(2, "content-usage", "/ai/ train-ai=n")])
    >>> print(wishes.find(spellings("/ai/a"))["train-ai"])
    disallow by line 2, "Content-Usage: /ai/ train-ai=n"
    """

    __slots__ = ("_everywhere", "_statements")

    def __init__(self, records: Sequence[Record] = ()) -> None:
        self._everywhere: tuple[_Statement, ...] = ()
        self._statements: dict[str, list[_Statement]] = {}
        if len(records) > HEARD_MAX:
            self._everywhere = tuple(_disallowing(records))
            return
        paths: dict[str, RuleSet] = {}
        for record in records:
            path, text = split_path(record.value)
            if path and path not in paths:
                paths[path] = RuleSet([Rule(1, True, path)])
            statement = _Statement(record, paths.get(path), said(record.key, text))
            self._statements.setdefault(record.key, []).append(statement)

    @property
    def is_empty(self) -> bool:
        """Whether nothing is said of any page."""
        return not self._statements and not self._everywhere

    def find(self, url: Spelled | None) -> dict[str, Wish]:
        """Return the wish of each label.

        Args:
            url: path and query of the URL, as `escapes.spellings` returns them; None for a
                page that may not be fetched, of which nothing is said.
        """
        wishes = dict.fromkeys(LABELS, UNKNOWN)
        if url is None:
            return wishes
        counting = list(self._everywhere)
        for statements in self._statements.values():
            counting += _longest(statements, url)
        for label in LABELS if counting else ():
            wishes[label] = _wish(label, counting)
        return wishes


def _longest(statements: Iterable[_Statement], url: Spelled) -> list[_Statement]:
    """Return the statements that match with the longest path."""
    longest = 0
    found: list[_Statement] = []
    for statement in statements:
        match = statement.path.find(url) if statement.path else None
        if statement.path and not match:
            continue
        octets = match.octets if match else 0
        if octets > longest:
            longest, found = octets, []
        if octets == longest:
            found.append(statement)
    return found


def _wish(label: str, statements: Sequence[_Statement]) -> Wish:
    preference = combined(s.said[label] for s in statements if label in s.said)
    deciding = (s.record for s in statements if s.said.get(label) is preference)
    record = min(deciding, default=None)
    if record is None:
        return UNKNOWN
    rule = printable(f"{_WRITTEN[record.key]}: {record.value}"[:_WRITTEN_MAX])
    return Wish(preference, record.line, rule)


def _disallowing(records: Iterable[Record]) -> Iterable[_Statement]:
    """Yield for each label the first statement that disallows it."""
    found: set[str] = set()
    for record in records:
        says = said(record.key, split_path(record.value)[1])
        new = {label for label, p in says.items() if p is Preference.DISALLOW} - found
        if new:
            found |= new
            yield _Statement(record, None, dict.fromkeys(new, Preference.DISALLOW))
