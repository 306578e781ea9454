"""A robots.txt file as a whole: verdicts, and what decided them.

Rules:

- `/robots.txt` itself is always allowed.
- For any other URL the group of the product token decides; see `groups` and `matcher`.
- What may be done with a page is no part of the verdict; see `preferences`.
- Of a file only its octets are kept, and of each token that asked the compiled rules.

Source: RFC 9309 section 2.2.2.
"""

from __future__ import annotations

import enum
from bisect import bisect
from dataclasses import dataclass
from typing import NamedTuple

from scrapy_polite.robots.escapes import spellings
from scrapy_polite.robots.groups import Group, select
from scrapy_polite.robots.lines import RobotsFile, printable
from scrapy_polite.robots.matcher import TOO_MUCH, RuleSet
from scrapy_polite.robots.preferences import PreferenceSet, Wish

ROBOTS_PATH = "/robots.txt"


class Reason(enum.Enum):
    """Why a verdict is what it is."""

    RULE = "a rule matches"
    NO_MATCH = "no rule of the group matches"
    NO_GROUP = "no group applies"
    ROBOTS_TXT = "/robots.txt itself is always allowed"
    TOO_MUCH = "its rules for this URL take too long to follow"


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether a URL may be fetched, and why.

    Attributes:
        allowed: the verdict.
        reason: what kind of thing decided.
        token: the product token that asked.
        group: the name of the group that applies, a token in lower case or `*`; None: no group.
        group_line: the user-agent line above the rule, or the first that names the group.
        line: the line of the rule that decided; None when no rule did.
        rule: that rule as written, fit to print.
        octets: how many octets of its pattern matched, as they count against other rules.
    """

    allowed: bool
    reason: Reason
    token: str
    group: str | None = None
    group_line: int | None = None
    line: int | None = None
    rule: str | None = None
    octets: int = 0

    def __str__(self) -> str:
        verdict = "allowed" if self.allowed else "disallowed"
        if self.reason is Reason.RULE:
            octets = "octet" if self.octets == 1 else "octets"
            return (
                f'{verdict} by line {self.line}, "{self.rule}" ({self.octets} {octets}),'
                f" in the group for {self.group} (line {self.group_line})"
            )
        if self.reason is Reason.NO_MATCH:
            return f"{verdict}: no rule for {self.group} (line {self.group_line}) matches"
        if self.reason is Reason.NO_GROUP:
            return f"{verdict}: there is no group for {self.token or 'no name'} or *"
        return f"{verdict}: {self.reason.value}"


class _Compiled(NamedTuple):
    group: Group  # without its rules
    rules: RuleSet
    preferences: PreferenceSet


class RobotsRules:
    """The rules of one robots.txt file.

    >>> rules = RobotsRules(b"User-agent: *\\nDisallow: /private\\n")
    >>> rules.allowed("https://site.example/", "FooBot")
    True
    >>> print(rules.explain("https://site.example/private/a", "FooBot"))
    disallowed by line 2, "Disallow: /private" (8 octets), in the group for * (line 1)
    """

    __slots__ = ("_compiled", "file")

    def __init__(self, body: bytes) -> None:
        self.file = RobotsFile.read(body)
        self._compiled: dict[str, _Compiled] = {}

    def allowed(self, url: str, token: str) -> bool:
        """Return whether the crawler called *token* may fetch *url*."""
        target = spellings(url)
        if target[0] == ROBOTS_PATH:
            return True
        match = self._for(token).rules.find(target)
        return match is None or match.allow

    def explain(self, url: str, token: str) -> Verdict:
        """Return the verdict of `allowed`, with what decided it."""
        target = spellings(url)
        group, rules, _ = self._for(token)
        if target[0] == ROBOTS_PATH:
            return Verdict(True, Reason.ROBOTS_TXT, token)
        if group.name is None:
            return Verdict(True, Reason.NO_GROUP, token)
        match = rules.find(target)
        if match is None:
            return Verdict(True, Reason.NO_MATCH, token, group.name, group.named_at[0])
        if match is TOO_MUCH:
            return Verdict(False, Reason.TOO_MUCH, token, group.name, group.named_at[0])
        named_at = group.named_at[bisect(group.named_at, match.line) - 1]
        line, allow, octets = match
        rule = printable(self.file.lines()[line - 1].partition("#")[0].strip())
        return Verdict(allow, Reason.RULE, token, group.name, named_at, line, rule, octets)

    def usage(self, url: str, token: str) -> dict[str, Wish]:
        """Return what the owner wants done with *url*, by label, and the line that says so.

        A page that may not be fetched has no preferences: all is unknown.
        """
        _, rules, preferences = self._for(token)
        if preferences.is_empty:
            return preferences.find(None)
        target = spellings(url)
        match = None if target[0] == ROBOTS_PATH else rules.find(target)
        return preferences.find(target if match is None or match.allow else None)

    def group(self, token: str) -> Group:
        """Return the group that *token* obeys, without its rules and preferences."""
        return self._for(token).group

    def _for(self, token: str) -> _Compiled:
        compiled = self._compiled.get(token)
        if compiled is None:
            group = select(self.file.records(), token)
            preferences = PreferenceSet(group.preferences)
            compiled = _Compiled(group.without_rules(), RuleSet(group.rules), preferences)
            self._compiled[token] = compiled
        return compiled
