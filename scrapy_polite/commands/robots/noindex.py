"""Where a page asks search engines not to list it: X-Robots-Tag headers and meta elements.

Rules:

- What a page says is read as a crawl reads it; `noindex`, which `none` implies, is told here.
- It concerns everyone, or the crawler that is named.
- Only who may fetch the page sees it: robots.txt decides about fetching, `noindex` about listing.

Source: https://developers.google.com/search/docs/crawling-indexing/robots-meta-tag
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from scrapy_polite.policy import page
from scrapy_polite.policy.page import NOINDEX, Statement
from scrapy_polite.robots.groups import EVERYONE
from scrapy_polite.robots.lines import printable
from scrapy_polite.robots.page import statements

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
    return _noindex(page.in_headers(values))


def in_html(text: str, token: str) -> Iterator[Noindex]:
    """Yield what the meta elements of a page ask of everyone, of *token* and of other robots.

    >>> [found.agent for found in in_html("<META NAME=Robots CONTENT='NOINDEX,follow'>", "FooBot")]
    ['*']
    """
    for found in _noindex(statements(text)):
        name = found.agent.lower()
        # "none" is a value of other meta elements too, which have nothing to do with robots.
        if found.agent == EVERYONE or "bot" in name or name == token.lower():
            yield found


def _noindex(found: Iterable[Statement]) -> Iterator[Noindex]:
    for statement in found:
        if statement.directive == NOINDEX:
            text = printable(statement.text.strip()[:_TEXT_MAX])
            yield Noindex(statement.where, printable(statement.agent), text)
