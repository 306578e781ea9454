"""From the rules of a group and a URL to the rule that decides.

Rules:

- A pattern matches from the first octet of the path on, as a prefix; the query belongs to it.
- `*` stands for any octets, none included; `$` at the end of a pattern for the end of the URL.
  Escaped, `%2A` and `%24`, they are ordinary octets, as is `$` anywhere else.
- The match with the most octets wins, `*` and `$` included, counted in the one spelling of
  `escapes`; among equals allow wins, then the first line. No match: allowed.
- A pattern that begins with neither `/` nor `*` matches nothing.
- A pattern with a stray `%` matches when it does in one of the two spellings that leave it alone.

Patterns are indexed by the octets before their first `*`: one binary search finds the longest of
these prefixes that a URL has, and links lead on to the shorter ones. The pieces of a pattern with
`*` are each looked for once, leftmost first, which never has to be taken back.

A verdict has its price.  Patterns with `*` that may match are tried one by one, and each reads the
URL: tens of thousands of them and a long URL would take a second.  When patterns x octets would
come to more than `READ_MAX`, nothing is allowed: who writes such a file has nothing read.

Source: RFC 9309 sections 2.2.2 and 2.2.3.
"""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import NamedTuple

from scrapy_polite.robots.escapes import (
    Spelled,
    as_sent,
    canonical_path,
    canonical_query,
    has_stray,
    is_plain,
)
from scrapy_polite.robots.groups import Rule

READ_MAX = 10_000_000  # octets that a verdict may read; less than 0.1 s
_A_CALL = 50  # octets that are read in the time of trying a pattern
_LINES = 1 << 20  # more than a file can have


class Match(NamedTuple):
    """The rule that decides about a URL, and how many octets its pattern has; see `TOO_MUCH`."""

    line: int
    allow: bool
    octets: int


TOO_MUCH = Match(0, False, 0)
"""The match when no rule decides, because finding the one that does would take too long."""


class _Pattern(NamedTuple):
    """A compiled pattern with `*` or a final `$`, without the octets before its first `*`."""

    rank: int
    pieces: tuple[str, ...]  # what follows each `*`
    anchored: bool
    two_ways: bool  # an escape in it may mean a path or a query

    def matches(self, url: str, other: str, start: int) -> bool:
        """Return whether the pieces follow the first *start* octets of *url*, or of *other*."""
        return self._follows(url, start) or (self.two_ways and self._follows(other, start))

    def _follows(self, url: str, start: int) -> bool:
        if not self.anchored:
            return _end(self.pieces, url, start) >= 0
        if not self.pieces:
            return start == len(url)
        last = self.pieces[-1]
        end = _end(self.pieces[:-1], url, start)
        return 0 <= end <= len(url) - len(last) and url.endswith(last)


class _Pieces(NamedTuple):
    """A pattern taken apart."""

    texts: list[str]  # what stands between its `*`
    two_ways: bool = False
    octets: int | None = None  # as they count, when that is not how many there are


class _Index:
    """Rules by the octets before their first `*`.

    Args:
        pieces: takes a pattern, without a final `$`, apart.
    """

    __slots__ = ("_keys", "_parents", "_plain", "_wild")

    def __init__(self, rules: Iterable[Rule], pieces: Callable[[str], _Pieces]) -> None:
        plain: dict[str, int] = {}
        wild: dict[str, list[_Pattern]] = {}
        for rule in rules:
            _compile(rule, plain, wild, pieces)
        self._keys = sorted(plain.keys() | wild.keys() if wild else plain)
        self._parents = array("i", _parents(self._keys))
        self._plain = array("i", [plain.get(key, 0) for key in self._keys])
        self._wild = {key: tuple(sorted(wild[key], reverse=True)) for key in wild}

    def best(self, url: str, other: str, tries: int) -> tuple[int, int]:
        """Return the rank of the best match, 0 without one, and how many of *tries* are left.

        Fewer than none are left when patterns remain that were not tried.
        """
        best = 0
        for index in self._prefixes_of(url):
            key, signed_line = self._keys[index], self._plain[index]
            if signed_line:
                best = max(best, _rank(len(key), signed_line))
                if not self._wild:
                    break
            for pattern in self._wild.get(key, ()):
                if pattern.rank < best:
                    break
                tries -= 1
                if tries < 0:
                    return best, tries
                if pattern.matches(url, other, len(key)):
                    best = pattern.rank
                    break
        return best, tries

    def _prefixes_of(self, url: str) -> Iterator[int]:
        """Yield where the keys are that *url* starts with, longest first."""
        index = bisect_right(self._keys, url) - 1
        while index >= 0:
            if url.startswith(self._keys[index]):
                yield index
            index = self._parents[index]


class RuleSet:
    """The compiled rules of one group."""

    __slots__ = ("_stray", "_usual")

    def __init__(self, rules: Iterable[Rule] = ()) -> None:
        usual: list[Rule] = []
        stray: list[Rule] = []
        for rule in rules:
            if rule.value.startswith(("/", "*")):
                (stray if has_stray(rule.value) else usual).append(rule)
        self._usual = _Index(usual, _pieces)
        self._stray = stray and (_Index(stray, _bare_pieces), _Index(stray, _sent_pieces))

    def find(self, url: Spelled) -> Match | None:
        """Return the match that decides, or None when no rule matches.

        Args:
            url: path and query of the URL, as `escapes.spellings` returns them.

        >>> from scrapy_polite.robots.escapes import spellings
        >>> rules = RuleSet([Rule(2, False, "/a"), Rule(3, True, "/*b$")])
        >>> rules.find(spellings("/a/b")), rules.find(spellings("/a/c")), rules.find(spellings("/"))
        (Match(line=3, allow=True, octets=4), Match(line=2, allow=False, octets=2), None)
        """
        best, tries = self._usual.best(url.one, url.escaped, READ_MAX // (len(url.one) + _A_CALL))
        if self._stray and tries >= 0:
            bare, sent = self._stray
            in_one, tries = bare.best(url.bare, url.bare, tries)
            as_is, tries = sent.best(url.sent, url.sent, tries) if tries >= 0 else (0, -1)
            best = max(best, in_one, as_is)
        if tries < 0:
            return TOO_MUCH
        return _match(best) if best else None


def _rank(octets: int, signed_line: int) -> int:
    """Return a number that is greater for the better match; a disallow rule's line is negative."""
    return (2 * octets + (signed_line > 0) + 1) * _LINES - abs(signed_line)


def _match(rank: int) -> Match:
    weight, above = divmod(rank, _LINES)
    return Match(_LINES - above, bool(weight & 1), weight // 2)


def _compile(
    rule: Rule,
    plain: dict[str, int],
    wild: dict[str, list[_Pattern]],
    apart: Callable[[str], _Pieces],
) -> None:
    """Put *rule* into *plain*, or into *wild* under the octets before its first `*`."""
    signed_line, value = rule.line if rule.allow else -rule.line, rule.value
    anchored = value.endswith("$")
    if anchored:
        value = value[:-1]
    pieces, two_ways, octets = _Pieces(value.split("*")) if is_plain(value) else apart(value)
    key = pieces[0]
    if len(pieces) > 1 or anchored or octets is not None:
        if octets is None:
            octets = sum(map(len, pieces)) + len(pieces) - 1
        rank = _rank(octets + anchored, signed_line)
        # Between two `*` that stand side by side there is nothing to look for.
        rest = (*filter(None, pieces[1:-1]), *pieces[1:][-1:])
        wild.setdefault(key, []).append(_Pattern(rank, rest, anchored, two_ways))
    elif key not in plain or plain[key] < 0 < signed_line:
        plain[key] = signed_line


def _pieces(value: str, *, bare: bool = False) -> _Pieces:
    """Take a pattern apart in the one spelling; *bare* leaves its stray `%`."""
    pieces: list[str] = []
    in_query = two_ways = False
    for text in value.split("*"):
        path, mark, query = ("", "", text) if in_query else text.partition("?")
        path = canonical_path(path, bare=bare)
        two_ways = two_ways or (bool(pieces) and ("%2F" in path or "%3F" in path))
        pieces.append(path + mark + canonical_query(query, bare=bare))
        in_query = in_query or bool(mark)
    return _Pieces(pieces, two_ways)


_bare_pieces = partial(_pieces, bare=True)


def _sent_pieces(value: str) -> _Pieces:
    """Take a pattern apart with its escapes as they are; they count as in the other spelling."""
    octets = len("*".join(_bare_pieces(value).texts))
    return _Pieces([as_sent(text) for text in value.split("*")], octets=octets)


def _parents(keys: Sequence[str]) -> Iterator[int]:
    """Yield for each of the sorted *keys* where its longest proper prefix among them is, or -1."""
    above: list[int] = []
    for index, key in enumerate(keys):
        while above and not key.startswith(keys[above[-1]]):
            above.pop()
        yield above[-1] if above else -1
        above.append(index)


def _end(pieces: Sequence[str], url: str, start: int) -> int:
    """Return where *pieces*, looked for one after the other, end in *url*; -1: one is missing."""
    for piece in pieces:
        start = url.find(piece, start)
        if start < 0:
            return -1
        start += len(piece)
    return start
