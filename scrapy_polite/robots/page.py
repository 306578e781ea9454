"""From a web page to what it asks of its readers, and to the links that are not to be followed.

Rules: see `policy.page`; `rel` with `nofollow`, `ugc` or `sponsored` asks not to follow a link.  An
address counts as such a link when every link to it on the page says so.

Source: https://developers.google.com/search/docs/crawling-indexing/qualify-outbound-links
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from scrapy_polite.policy.page import Statement, in_meta
from scrapy_polite.robots import tags

_REL = frozenset({"nofollow", "ugc", "sponsored"})


def statements(text: str) -> Iterator[Statement]:
    """Yield what the meta elements of a page say, to whomever.

    >>> [s.directive for s in statements("<META NAME=Robots CONTENT='NOINDEX,follow'>")]
    ['noindex']
    """
    for attributes in tags.find(text, "meta"):
        name, content = attributes.get("name"), attributes.get("content")
        if name and content:
            yield from in_meta(name, content)


def mentions_robots(text: str, token: str) -> bool:
    """Return whether it is worth looking for meta elements that concern *token*."""
    lower = text[: tags.READ_MAX].lower()
    # A name may be written with character references.
    return "<meta" in lower and any(sign in lower for sign in ("robots", token.lower(), "&#"))


def unfollowed(text: str, absolute: Callable[[str], str]) -> frozenset[str]:
    """Return the addresses that a page asks not to follow.

    Args:
        absolute: turns the address of a link into the one that is compared; it may raise
            ValueError, then the link has none.
    """
    if not any(rel in text[: tags.READ_MAX].lower() for rel in _REL):
        return frozenset()
    asked, free = set[str](), set[str]()
    for attributes in tags.find(text, "a", "area"):
        address = attributes.get("href")
        if address is not None:
            rel = attributes.get("rel", "").lower().replace(",", " ").split()
            try:
                (free if _REL.isdisjoint(rel) else asked).add(absolute(address))
            except ValueError:
                continue
    return frozenset(asked - free)
