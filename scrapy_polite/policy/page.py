"""What a page asks of those who read it: X-Robots-Tag headers and robots meta elements.

Rules:

- A header line is a list of directives; a name and a colon before one of them mean that it, and
  what follows in the line, is for that crawler only.  `unavailable_after` has a colon, and often a
  comma, of its own.  A meta element is for everyone when its name is `robots`, else for the crawler
  of that name.
- Names and directives have no case.  `none` is `noindex` and `nofollow`.  `all`, `index` and
  `follow` take nothing away, and what nobody knows says nothing.
- What is said to everyone and what is said to us add up.

Source: https://developers.google.com/search/docs/crawling-indexing/robots-meta-tag; `noai` and
`noimageai` have no standard.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

EVERYONE = "*"
HEADER, META = "X-Robots-Tag", "meta"
NOINDEX, NOFOLLOW, UNAVAILABLE_AFTER = "noindex", "nofollow", "unavailable_after"
DIRECTIVES = (
    *(NOINDEX, NOFOLLOW, "noarchive", "nosnippet", "noimageindex"),
    *(UNAVAILABLE_AFTER, "noai", "noimageai"),
)
"""Every directive that is told."""

_MEANS = {name: (name,) for name in DIRECTIVES} | {"none": (NOINDEX, NOFOLLOW)}
_NOT_A_CRAWLER = frozenset(
    {UNAVAILABLE_AFTER, "max-snippet", "max-image-preview", "max-video-preview"}
)
_NAME = re.compile(r"[A-Za-z][\w.-]*").fullmatch
_READ_MAX = 10_000  # characters of one header line or meta element


@dataclass(frozen=True, slots=True)
class Statement:
    """One directive of a page.

    Attributes:
        where: `X-Robots-Tag` or `meta`.
        agent: the crawler that it concerns, as written; `*` for everyone.
        directive: one of `DIRECTIVES`.
        text: the header line, or the content of the element, as written.
        value: what stands behind the colon of `unavailable_after`; else empty.
    """

    where: str
    agent: str
    directive: str
    text: str
    value: str = ""


def in_headers(values: Iterable[str]) -> Iterator[Statement]:
    """Yield what the lines of X-Robots-Tag say.

    >>> [(s.agent, s.directive) for s in in_headers(["noai, otherbot: none"])]
    [('*', 'noai'), ('otherbot', 'noindex'), ('otherbot', 'nofollow')]
    """
    for value in values:
        yield from _read(HEADER, EVERYONE, value[:_READ_MAX], names=True)


def in_meta(name: str, content: str) -> Iterator[Statement]:
    """Yield what one meta element says.

    >>> [(s.agent, s.directive) for s in in_meta("Robots", "NOINDEX,follow")]
    [('*', 'noindex')]
    """
    name = name.strip()
    agent = EVERYONE if name.lower() == "robots" else name
    yield from _read(META, agent, content[:_READ_MAX], names=False)


def heard(statements: Iterable[Statement], token: str) -> dict[str, Statement]:
    """Return by directive what is said to everyone or to the crawler called *token*."""
    ours = (EVERYONE, token.lower())
    found: dict[str, Statement] = {}
    for statement in statements:
        if statement.agent.lower() in ours:
            found.setdefault(statement.directive, statement)
    return found


def _read(where: str, agent: str, text: str, *, names: bool) -> Iterator[Statement]:
    items = text.split(",") if names else re.split(r"[\s,]+", text)
    if not names and UNAVAILABLE_AFTER in text.lower():
        items = text.split(",")  # a date has blanks
    for number, item in enumerate(items):
        name, colon, rest = map(str.strip, item.partition(":"))
        if names and colon and _NAME(name) and name.lower() not in _NOT_A_CRAWLER:
            agent = name
            name, colon, rest = map(str.strip, rest.partition(":"))
        name, value = name.lower(), ""
        if name == UNAVAILABLE_AFTER:
            value = _date([rest, *items[number + 1 : number + 2]])
        elif colon:
            continue  # no directive has a value but those with a limit, which are not told
        for directive in _MEANS.get(name, ()):
            yield Statement(where, agent, directive, text, value)


def _date(parts: list[str]) -> str:
    """Return a date that a comma may have cut after the day of the week."""
    first, *more = parts
    is_cut = first.isalpha() and more
    return f"{first}, {more[0].strip()}" if is_cut else first
