"""Where a page asks search engines not to list it: X-Robots-Tag headers and meta elements.

Rules:

- `noindex`, and `none`, which implies it, ask for that; they concern everyone, or the crawler that
  is named before a colon, or by the name of the meta element.
- Only who may fetch the page sees them: robots.txt decides about fetching, `noindex` about listing.

Source: https://developers.google.com/search/docs/crawling-indexing/robots-meta-tag
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from scrapy.selector import Selector

from scrapy_polite.robots.groups import EVERYONE
from scrapy_polite.robots.lines import printable

HEADER, META = "X-Robots-Tag", "meta"
_ASKS = frozenset({"noindex", "none"})
_NAME = re.compile(r"[A-Za-z][\w.-]*").fullmatch
_HAS_VALUE = frozenset(
    {"unavailable_after", "max-snippet", "max-image-preview", "max-video-preview"}
)
_TEXT_MAX = 100  # characters that are quoted


@dataclass(frozen=True, slots=True)
class Noindex:
    """One place that asks not to be listed.

    Attributes:
        where: `X-Robots-Tag` or `meta`.
        agent: the crawler that it concerns; `*` for everyone.
        text: the value as written, fit to print.
    """

    where: str
    agent: str
    text: str


def in_headers(values: Iterable[str]) -> Iterator[Noindex]:
    """Yield what the values of X-Robots-Tag headers ask.

    >>> [found.agent for found in in_headers(["nofollow, NoIndex", "otherbot: none", "noarchive"])]
    ['*', 'otherbot']
    """
    for value in values:
        agent = EVERYONE
        for item in value.split(","):
            name, directive = _split(item)
            agent = name or agent
            if directive.lower() in _ASKS:
                yield Noindex(HEADER, agent, _quote(value))


def in_html(text: str, token: str) -> Iterator[Noindex]:
    """Yield what the meta elements of a page ask of everyone, of *token* and of other robots.

    >>> [found.agent for found in in_html("<META NAME=Robots CONTENT='NOINDEX,follow'>", "FooBot")]
    ['*']
    """
    for element in Selector(text=text, type="html").xpath("//meta[@name and @content]"):
        name = element.attrib["name"].strip()
        agent = EVERYONE if name.lower() == "robots" else name
        # "none" is a value of other meta elements too, which have nothing to do with robots.
        if agent == EVERYONE or "bot" in name.lower() or name.lower() == token.lower():
            content = element.attrib["content"]
            if _ASKS.intersection(re.split(r"[\s,]+", content.lower())):
                yield Noindex(META, printable(agent), _quote(content))


def _split(item: str) -> tuple[str, str]:
    """Return the crawler that an item begins with, if any, and the rest."""
    name, colon, rest = map(str.strip, item.partition(":"))
    if colon and _NAME(name) and name.lower() not in _HAS_VALUE:
        return name, rest
    return "", item.strip()


def _quote(text: str) -> str:
    return printable(text.strip()[:_TEXT_MAX])
