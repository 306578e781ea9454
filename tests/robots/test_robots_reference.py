"""RFC 9309 word for word, as a matcher that is slow and plain, beside ours.

The one here knows section 2.2.1 (groups), 2.2.2 (octets, escapes, longest match) and 2.2.3 (`*`,
`$`) and no more: it tries every rule, and every way in which a `*` could stand for octets.  Files
hold only what these sections settle, and in a test of their own stray `%`, which they do not: such
a rule is read octet by octet, with the URL as it is sent and with the URL as the standard spells
it.  ROBOTS_EXAMPLES sets how many files are tried.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scrapy_polite.robots.rules import RobotsRules

EXAMPLES = int(os.environ.get("ROBOTS_EXAMPLES", "300"))
UNRESERVED = re.compile(r"[A-Za-z0-9._~-]")
TOKEN = "OwlBot"
PIECES = ["a", "b", "ab", "/", "/", "?", "=", ".", "é", "%c3%A9", "%61", "%7E", "%20", "%5e"]
STRAY = ["%", "%", "%6", "%C", "%c", "%zz"]
BEGINS_NO_ESCAPE = re.compile("%(?![0-9A-Fa-f]{2})")
NAMES = [TOKEN, "OWLBOT", "Owl", "OwlBot-News", "*"]


@dataclass(frozen=True)
class Group:
    """Its names, and its rules as (whether they allow, pattern)."""

    names: tuple[str, ...]
    rules: tuple[tuple[bool, str], ...]


# what the standard says


def escaped(text: str) -> str:
    """Return the text as a client sends it: octets outside ASCII are escaped, no more."""
    return "".join(chr(n) if n < 128 else f"%{n:02X}" for n in text.encode())


def encoded(text: str) -> str:
    """Section 2.2.2: octets outside ASCII are escaped, those that need no escape are not."""
    octets = escaped(text)

    def one(found: re.Match[str]) -> str:
        char = chr(int(found[1], 16))
        return char if UNRESERVED.match(char) else found[0].upper()

    return re.sub("%([0-9A-Fa-f]{2})", one, octets)


def matches(pattern: str, path: str) -> bool:
    """Sections 2.2.2 and 2.2.3: octet by octet from the first; `*` is any octets, `$` the end."""
    if not pattern:
        return True
    if pattern == "$":
        return not path
    if pattern[0] == "*":
        return any(matches(pattern[1:], path[n:]) for n in range(len(path) + 1))
    return path[:1] == pattern[0] and matches(pattern[1:], path[1:])


def rules_for(groups: Sequence[Group], token: str) -> list[tuple[bool, str]]:
    """Section 2.2.1: all groups of the name, case aside, are one; without any, those of `*`."""
    for name in (token.lower(), "*"):
        own = [group for group in groups if name in {each.lower() for each in group.names}]
        if own:
            return [rule for group in own for rule in group.rules]
    return []


def allowed(groups: Sequence[Group], path: str, token: str) -> bool:
    """Section 2.2.2: the most octets win, allow among equals; no match is allowed."""
    found = [
        (len(encoded(pattern)), allow)
        for allow, pattern in rules_for(groups, token)
        if pattern and applies(pattern, path)
    ]
    return max(found)[1] if found else True


def applies(pattern: str, path: str) -> bool:
    """Whether the pattern matches; a stray `%` in it is the octet that the URL has there."""
    if not BEGINS_NO_ESCAPE.search(pattern):
        return matches(encoded(pattern), encoded(BEGINS_NO_ESCAPE.sub("%25", path)))
    return matches(encoded(pattern), encoded(path)) or matches(
        # The digits of escapes have no case, those of one that is only begun no more than others.
        *(re.sub("%[0-9A-Fa-f]{1,2}", lambda f: f[0].upper(), escaped(t)) for t in (pattern, path))
    )


# files, and other ways to write them


def lines_of(groups: Sequence[Group]) -> list[str]:
    """Return the lines of a file with these groups."""
    lines = []
    for group in groups:
        lines += [f"User-agent: {name}" for name in group.names]
        lines += [f"{'Allow' if allow else 'Disallow'}: {value}" for allow, value in group.rules]
    return lines


def with_key(change: Callable[[str], str]) -> Callable[[list[str]], bytes]:
    """Return what writes a file with its field names changed."""

    def write(lines: list[str]) -> bytes:
        parts = [line.partition(":") for line in lines]
        return "\n".join(change(key) + colon + value for key, colon, value in parts).encode()

    return write


WRITTEN: dict[str, Callable[[list[str]], bytes]] = {
    "2.2-LF": lambda lines: "\n".join(lines).encode(),
    "2.2-CR LF": lambda lines: "\r\n".join(lines).encode(),
    "2.2-CR": lambda lines: "\r".join(lines).encode(),
    "2.2-comments": lambda lines: "".join(f"# /a\n{line} # /b\n" for line in lines).encode(),
    "2.2-white space": lambda lines: "".join(
        f" \t{line.replace(':', ' :')} \t\n" for line in lines
    ).encode(),
    "2.2-blank lines": lambda lines: "\n \n\n".join(["", *lines, ""]).encode(),
    "2.2-upper case": with_key(str.upper),
    "2.2-lower case": with_key(str.lower),
    "2.2.4-other records": lambda lines: "\nSitemap: https://site.example/a\n".join(
        [*lines, ""]
    ).encode(),
    "2.3-byte order mark": lambda lines: b"\xef\xbb\xbf" + "\n".join(lines).encode(),
    "2.3-UTF-16": lambda lines: "\n".join(lines).encode("utf-16"),
}


def paths(pieces: list[str]) -> st.SearchStrategy[str]:
    """Return paths made of these pieces."""
    return st.lists(st.sampled_from(pieces), max_size=7).map(lambda some: "/" + "".join(some))


def patterns(pieces: list[str]) -> st.SearchStrategy[str]:
    """Return values of rules made of these pieces, `*` and `$`."""
    return st.builds(
        lambda start, some, end: start + "".join(some) + end,
        st.sampled_from(["/", "/", "/", "*", ""]),
        st.lists(st.sampled_from([*pieces, "*", "*"]), max_size=6),
        st.sampled_from(["", "", "$"]),
    ).map(lambda pattern: pattern if pattern.startswith(("/", "*")) else "")


def groups_of_files(pieces: list[str]) -> st.SearchStrategy[list[Group]]:
    """Return the groups of files with such rules."""
    rules = st.tuples(st.booleans(), patterns(pieces))
    return st.lists(
        st.builds(
            Group,
            st.lists(st.sampled_from(NAMES), min_size=1, max_size=2).map(tuple),
            st.lists(rules, min_size=1, max_size=5).map(tuple),
        ),
        max_size=4,
    )


@given(
    st.sampled_from(list(WRITTEN)),
    groups_of_files(PIECES),
    st.lists(paths(PIECES), min_size=1, max_size=4),
)
@settings(max_examples=EXAMPLES, deadline=None)
def test_rfc_9309_2_2_2(way: str, groups: list[Group], asked: list[str]) -> None:
    """Every verdict is the standard's, however the file is written."""
    rules = RobotsRules(WRITTEN[way](lines_of(groups)))
    for path in asked:
        for token in (TOKEN, "Owl", "Nobody"):
            verdict = rules.allowed(f"https://site.example{path}", token)
            assert verdict == allowed(groups, path, token), (path, token, lines_of(groups))


@given(
    st.lists(st.tuples(st.booleans(), patterns([*PIECES, *STRAY])), min_size=1, max_size=6),
    st.lists(paths([*PIECES, *STRAY, "%41", "%20"]), min_size=1, max_size=8),
)
@settings(max_examples=EXAMPLES, deadline=None)
def test_stray_percent(rules: list[tuple[bool, str]], asked: list[str]) -> None:
    """A `%` that begins no escape is an octet, in rules and in URLs."""
    groups = [Group((TOKEN,), tuple(rules))]
    ours = RobotsRules("\n".join(lines_of(groups)).encode())
    for path in asked:
        verdict = ours.allowed(f"https://site.example{path}", TOKEN)
        assert verdict == allowed(groups, path, TOKEN), (path, lines_of(groups))


@pytest.mark.parametrize(
    ("pattern", "path", "expected"),
    [
        ("/a", "/ab", True),
        ("/a", "/A", False),
        ("/a*c", "/abbc", True),
        ("/a*c", "/abb", False),
        ("/a$", "/ab", False),
        ("/a*$", "/ab", True),
        ("/caf%C3%A9", encoded("/café"), True),
    ],
)
def test_rfc_9309_2_2_3(pattern: str, path: str, expected: bool) -> None:
    """The matcher here is itself right on what anybody can see."""
    assert matches(pattern, path) is expected
