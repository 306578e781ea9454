"""Where a page asks not to be listed: headers and meta elements."""

from __future__ import annotations

import pytest

from scrapy_polite.commands.robots.noindex import in_headers, in_html

HEADERS = {
    "noindex": ["*"],
    "NoIndex, nofollow": ["*"],
    "nofollow,noindex": ["*"],
    "none": ["*"],
    "googlebot: noindex": ["googlebot"],
    "googlebot: nofollow, noindex": ["googlebot"],
    "googlebot: nofollow, otherbot: none": ["otherbot"],
    "max-snippet: 20, noindex": ["*"],
    "unavailable_after: 25 Jun 2030 15:00:00 PST, noindex": ["*"],
    "unavailable_after: Friday, 25-Jun-30 15:00:00 PST": [],
    "nofollow": [],
    "index": [],
    "noindexing": [],
    "noindex: x": [],
    "": [],
    ", ,:": [],
}


@pytest.mark.parametrize("value", HEADERS)
def test_google_x_robots_tag(value: str) -> None:
    """A header asks by noindex or none, of everyone or of the crawler that it names."""
    assert [found.agent for found in in_headers([value])] == HEADERS[value]


METAS = {
    "<meta name=robots content=noindex>": ["*"],
    "<META NAME='Robots' CONTENT='INDEX, NOFOLLOW, NOINDEX'>": ["*"],
    "<meta content='none' name=' robots '>": ["*"],
    "<meta name=googlebot content=noindex>": ["googlebot"],
    "<meta name=foo content=noindex>": ["foo"],
    "<meta name=other content=none>": [],
    "<meta name=robots content=nofollow>": [],
    "<!-- <meta name=robots content=noindex> -->": [],
    "<p>noindex": [],
    "<meta name=robots>": [],
    "": [],
    "\0\ud83d<meta name=robots content=noindex": [],
}


@pytest.mark.parametrize("html", METAS)
def test_google_meta_elements(html: str) -> None:
    """A meta element asks everyone, or the crawler whose name it has."""
    assert [found.agent for found in in_html(html.encode("utf-8", "replace").decode(), "Foo")] == (
        METAS[html]
    )
