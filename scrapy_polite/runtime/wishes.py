"""The wishes of owners, as `response.meta["polite"]` tells them, and what they mean for a crawl.

Each use has an entry: `says` is "allow", "disallow" or "unknown"; where it is known, `by` says who
("robots.txt", or the name of a header), `text` what is written there, and `line` in which line of
the robots.txt.  Each directive of a page has `by` and `text`, `unavailable_after` a `value` too.
Everything is plain, so that a request with it can be queued on disk.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, TypeAlias

from scrapy.http import HtmlResponse, Response
from scrapy.robotstxt import RobotParser

from scrapy_polite.policy import page, usage
from scrapy_polite.policy.usage import LABELS, Preference, combined
from scrapy_polite.robots.page import mentions_robots, statements
from scrapy_polite.robots.parser import Rfc9309RobotParser
from scrapy_polite.robots.preferences import Wish
from scrapy_polite.runtime.telling import one_line

Told: TypeAlias = dict[str, Any]
"""What `response.meta["polite"]` has of one use, or of one directive."""

ROBOTS = "robots.txt"
_HEADERS = {"Content-Usage": usage.CONTENT_USAGE, "Content-Signal": usage.CONTENT_SIGNAL}


def of_robots(parser: RobotParser | None, url: str, token: str) -> dict[str, Told]:
    """Return what a robots.txt says of the uses of a page.

    Args:
        parser: None when there are no rules; another one than ours says nothing.
    """
    if not isinstance(parser, Rfc9309RobotParser):
        return {label: _unknown() for label in LABELS}
    return {label: _told(wish) for label, wish in parser.usage(url, token).items()}


def with_headers(told: Mapping[str, Told] | None, response: Response) -> dict[str, Told]:
    """Return what is known of the uses of a page once its headers have been read.

    Args:
        told: what the robots.txt says; None when it was not asked.
    """
    known = {label: (told or {}).get(label) or _unknown() for label in LABELS}
    for name, kind in _HEADERS.items():
        lines = [line.decode("latin-1") for line in response.headers.getlist(name)]
        for label, preference in (usage.of_header(kind, lines) if lines else {}).items():
            before = Preference(known[label]["says"])
            if combined((before, preference)) is not before:
                text = one_line(", ".join(lines))
                known[label] = {"says": preference.value, "by": name, "text": text}
    return known


def forbidden(purpose: Iterable[str], told: Mapping[str, Told]) -> str | None:
    """Return which use of *purpose* the owner disallows, in words; None when there is none."""
    for use in purpose:
        wish = told.get(use) or {}
        if wish.get("says") == Preference.DISALLOW.value:
            line = f" line {wish['line']}" if "line" in wish else ""
            return f'{use} is disallowed by {wish["by"]}{line}, "{wish["text"]}"'
    return None


def of_page(response: Response, token: str) -> dict[str, Told]:
    """Return by directive what a page asks of everyone, or of us."""
    lines = [line.decode("latin-1") for line in response.headers.getlist(page.HEADER)]
    found = list(page.in_headers(lines))
    if isinstance(response, HtmlResponse) and mentions_robots(response.text, token):
        found += statements(response.text)
    told: dict[str, Told] = {}
    for directive, statement in page.heard(found, token).items():
        told[directive] = {"by": statement.where, "text": one_line(statement.text)}
        if statement.value:
            told[directive]["value"] = one_line(statement.value)
    return told


def _told(wish: Wish) -> Told:
    if wish.line is None:
        return _unknown()
    says = wish.preference.value
    return {"says": says, "by": ROBOTS, "line": wish.line, "text": wish.rule}


def _unknown() -> Told:
    return {"says": Preference.UNKNOWN.value}
