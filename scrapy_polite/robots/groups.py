"""From the records of a file to the group that one product token obeys.

Rules:

- A group starts with user-agent lines, then come rules; the next user-agent line starts another.
  Nothing else ends a list of user-agent lines: no empty line, no Crawl-delay, no unknown record.
- A name is cut at its first octet that no token has: `FooBot/2.1` is FooBot. Names are compared
  whole, case aside. `*`, alone or followed by white space, is everybody.
- All groups of our name are one. Without any, all groups of `*` are; without those, no rules apply.
- A rule before the first user-agent line is ignored.
- Crawl-delay and its like are outside the RFC. They concern the names right above them: where
  such a record stands between two names, the second one starts anew.
- So it is with preferences, Content-Usage and Content-Signal, which are rules in their drafts: what
  they end is the list of those they concern, and no verdict changes.  A Content-Signal above the
  first user-agent line concerns everyone, whatever group applies.

The file is read once for one token, so names x rules are never multiplied.

Source: RFC 9309 sections 2.1, 2.2.1, 2.2.2 (orphan rules) and 2.2.4 (other records);
draft-ietf-aipref-attach (Content-Usage); https://contentsignals.org (Content-Signal).
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

from scrapy_polite.robots.lines import (
    ALLOW,
    CONTENT_SIGNAL,
    CONTENT_USAGE,
    CRAWL_DELAY,
    DISALLOW,
    REQUEST_RATE,
    USER_AGENT,
    VISIT_TIME,
    Record,
)

EVERYONE = "*"
HINTS = frozenset({CRAWL_DELAY, REQUEST_RATE, VISIT_TIME})
PREFERENCES = frozenset({CONTENT_USAGE, CONTENT_SIGNAL})
_EVERYONE = re.compile(r"\*(?:\s|$)").match
_TOKEN = re.compile(r"[A-Za-z_-]*").match


class Rule(NamedTuple):
    """One allow or disallow line; *value* is its pattern as written."""

    line: int
    allow: bool
    value: str


@dataclass(frozen=True, slots=True)
class Group:
    """What a file says to one crawler.

    Attributes:
        name: the token in lower case, `*`, or None when the file names neither.
        named_at: the user-agent lines that name it.
        rules: its allow and disallow lines.
        hints: its Crawl-delay, Request-rate and Visit-time records.
        joined_at: the user-agent line that, against what its author may have meant, did not start
            a new group, so that a disallow rule below it applies here too; None: there is none.
        preferences: its Content-Usage and Content-Signal records, with those for everyone.
    """

    name: str | None
    named_at: tuple[int, ...] = ()
    rules: tuple[Rule, ...] = ()
    hints: tuple[Record, ...] = ()
    joined_at: int | None = None
    preferences: tuple[Record, ...] = ()

    def without_rules(self) -> Group:
        """Return what is worth keeping once the rules are compiled."""
        return Group(self.name, self.named_at, (), self.hints, self.joined_at)


def agent_name(value: str) -> str:
    """Return whom the value of a user-agent line names: a token in lower case, `*`, or nobody.

    >>> agent_name("FooBot/2.1"), agent_name("* (all)"), agent_name("Foo*"), agent_name("360Spider")
    ('foobot', '*', 'foo', '')
    """
    if _EVERYONE(value):
        return EVERYONE
    match = _TOKEN(value)
    return match[0].lower() if match else ""


def select(records: Iterable[Record], token: str) -> Group:
    """Return the group that the crawler called *token* obeys.

    Args:
        records: all records of the file.
        token: a product token; an empty one is named by no group but `*`.
    """
    own, everyone = _Draft(agent_name(token)), _Draft(EVERYONE)
    reader = _Reader(own, everyone)
    reader.read(records)
    for draft in (own, everyone):
        if draft.name and draft.named_at:
            return draft.group(reader.for_all)
    return Group(None, preferences=tuple(reader.for_all))


@dataclass(slots=True, eq=False)
class _Draft:
    """A group while it is being read."""

    name: str
    named_at: list[int] = field(default_factory=list)
    rules: list[Rule] = field(default_factory=list)
    hints: list[Record] = field(default_factory=list)
    preferences: list[Record] = field(default_factory=list)
    joined_at: int | None = None

    def group(self, for_all: list[Record]) -> Group:
        lists = tuple(self.named_at), tuple(self.rules), tuple(self.hints)
        return Group(self.name, *lists, self.joined_at, (*for_all, *self.preferences))


class _Reader:
    """Gives each of its drafts what the groups of that name hold."""

    def __init__(self, *drafts: _Draft) -> None:
        self._drafts = {draft.name: draft for draft in drafts}
        self._named: list[_Draft] = []  # whom the rules below concern
        self._hinted: list[_Draft] = []  # whom the hints below concern
        self._preferring: list[_Draft] = []  # whom the preferences below concern
        self._joined: list[tuple[_Draft, int]] = []  # who may get a rule not meant for them
        self.for_all: list[Record] = []
        """The signals above all groups."""
        self._began = False
        self._list_ended = self._hint_above = self._preference_above = self._other_above = False

    def read(self, records: Iterable[Record]) -> None:
        for record in records:
            if record.key == USER_AGENT:
                self._name(record)
            elif record.key in (ALLOW, DISALLOW):
                self._rule(record)
            else:
                self._other(record)

    def _name(self, record: Record) -> None:
        if self._list_ended:
            self._named, self._hinted, self._preferring, self._joined = [], [], [], []
        else:
            self._hinted = [] if self._hint_above else self._hinted
            self._preferring = [] if self._preference_above else self._preferring
        draft = self._drafts.get(agent_name(record.value))
        if self._other_above and not self._list_ended:
            self._joined += [(other, record.line) for other in self._named if other is not draft]
        if draft:
            draft.named_at.append(record.line)
            self._named += [draft] if draft not in self._named else []
            self._hinted += [draft] if draft not in self._hinted else []
            self._preferring += [draft] if draft not in self._preferring else []
        self._began = True
        self._list_ended = self._hint_above = self._preference_above = self._other_above = False

    def _rule(self, record: Record) -> None:
        self._list_ended = True
        allow = record.key == ALLOW
        for draft in self._named:
            draft.rules.append(Rule(record.line, allow, record.value))
        if self._joined and record.value and not allow:
            for draft, line in self._joined:
                draft.joined_at = draft.joined_at or line
            self._joined = []

    def _other(self, record: Record) -> None:
        self._other_above = True
        if record.key in HINTS:
            self._hint_above = True
            for draft in self._hinted:
                draft.hints.append(record)
        elif record.key in PREFERENCES:
            self._prefer(record)

    def _prefer(self, record: Record) -> None:
        self._preference_above = True
        for draft in self._preferring:
            draft.preferences.append(record)
        if not self._began and record.key == CONTENT_SIGNAL:
            self.for_all.append(record)
