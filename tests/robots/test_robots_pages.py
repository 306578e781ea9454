"""Web pages: the tags that count, and what a page that means harm can cost."""

from __future__ import annotations

import random
import time
from urllib.parse import urljoin

import pytest

from scrapy_polite.policy.page import heard, in_headers, in_meta
from scrapy_polite.robots.page import mentions_robots, statements, unfollowed
from scrapy_polite.robots.tags import READ_MAX, TAG_MAX, find

NOINDEX = "<meta name=robots content=noindex>"
SLOWEST = 10.0  # seconds; each takes less than one, and hours where cost grows with the square


def said(text: str) -> list[str]:
    """Return what a page says to everyone."""
    return [statement.directive for statement in statements(text)]


def links(text: str) -> set[str]:
    """Return the addresses that a page asks not to follow."""
    return set(unfollowed(text, lambda link: urljoin("https://site.example/d/", link)))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (NOINDEX, ["noindex"]),
        ("<META\nNAME='Robots'\nCONTENT='NONE, noarchive'/>", ["noindex", "nofollow", "noarchive"]),
        ("<meta content=nosnippet name=robots>" + NOINDEX, ["nosnippet", "noindex"]),
        ("<meta name='&#114;obots' content=noindex>", ["noindex"]),
        ("<meta data-x='>' name=robots content=noindex>", ["noindex"]),
        ("<meta name=robots content='all, index, follow'>", []),
        (
            "<meta name=robots content='unavailable_after: 25 Jun 2031 15:00'>",
            ["unavailable_after"],
        ),
        ("<meta name=description content=noindex>", ["noindex"]),  # to whom it is, others decide
        ("<!-- " + NOINDEX + " -->", []),
        ("<!-->" + NOINDEX, ["noindex"]),
        ("<!-- " + NOINDEX, []),
        ("<script>let a = '" + NOINDEX + "'</script>", []),
        ("<script>1</script >" + NOINDEX, ["noindex"]),
        ("<script>" + NOINDEX, []),
        ("<TITLE>" + NOINDEX + "</Title>" + NOINDEX, ["noindex"]),
        ("<textarea>" + NOINDEX + "</textarea>", []),
        ("<metadata name=robots content=noindex>", []),
        ("<meta name=robots>", []),
        ("<meta name=robots content=noindex", []),
        (" " * READ_MAX + NOINDEX, []),
        (f"<meta name=robots content=noindex x={'y' * TAG_MAX}>" + NOINDEX, ["noindex"]),
        ("", []),
    ],
)
def test_meta_elements(text: str, expected: list[str]) -> None:
    """Tags count where a browser takes them for tags, within the bounds."""
    assert said(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("<a href=x rel=nofollow>", {"https://site.example/d/x"}),
        ("<A HREF='/x' REL='me, NoFollow'>", {"https://site.example/x"}),
        (
            "<a href=x rel='ugc'><a href=y rel=sponsored>",
            {f"https://site.example/d/{c}" for c in "xy"},
        ),
        ("<a href=x rel=nofollow><a href=x>", set()),
        ("<a href=x rel=unfollow> nofollow", set()),
        ("<a rel=nofollow>", set()),
        ("<a href='http://[' rel=nofollow><a href=x rel=nofollow>", {"https://site.example/d/x"}),
        ("<abbr href=x rel=nofollow>", set()),
        ("<!--<a href=x rel=nofollow>-->", set()),
    ],
)
def test_links(text: str, expected: set[str]) -> None:
    """A link with nofollow, ugc or sponsored counts, unless another one to its address is free."""
    assert links(text) == expected


def test_who_is_meant() -> None:
    """What is said to everyone and to our own name adds up; the rest is for others."""
    found = [
        *in_headers(["noai", "otherbot: noindex, nosnippet", "FooBot: noimageindex"]),
        *in_meta("robots", "noarchive"),
        *in_meta("FOOBOT", "nofollow"),
        *in_meta("foobot-news", "noindex"),
    ]
    assert list(heard(found, "FooBot")) == ["noai", "noimageindex", "noarchive", "nofollow"]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("unavailable_after: 25 Jun 2031 15:00:00 PST", "25 Jun 2031 15:00:00 PST"),
        ("unavailable_after: Wed, 25 Jun 2031 15:00:00 GMT, noai", "Wed, 25 Jun 2031 15:00:00 GMT"),
        ("foobot: unavailable_after: 2031-06-25", "2031-06-25"),
        ("noai, UNAVAILABLE_AFTER:2031-06-25T10:00:00Z", "2031-06-25T10:00:00Z"),
    ],
)
def test_dates(line: str, expected: str) -> None:
    """The date of unavailable_after is told as it is written, colons and comma included."""
    [found] = [s for s in in_headers([line]) if s.directive == "unavailable_after"]
    assert found.value == expected


def test_pages_that_are_not_looked_through() -> None:
    """Without a meta element that may concern us there is nothing to parse."""
    assert not mentions_robots("<p>robots", "FooBot")
    assert not mentions_robots("<meta name=viewport content=x>", "FooBot")
    assert mentions_robots("<META NAME=foobot>", "FooBot")


HOSTILE = {
    "attributes": "<meta " + " ".join(f"a{n}" for n in range(120_000)) + ">",
    "attributes over quotes": "<meta " + 'a=">" b="<" ' * 80_000 + ">",
    "tags of attributes": ("<a " + " ".join(f"a{n}" for n in range(500)) + " rel=nofollow>") * 300,
    "open comments": "<!--" * 250_000,
    "open scripts": "<script>" * 125_000,
    "half ends": "<title></titl" * 76_000,
    "quotes": "<meta '\"" * 125_000,
    "open tags": "<meta " * 166_000,
    "brackets": "<" * 1_000_000,
    "depth": "<a href=x>" * 100_000,
    "elements": NOINDEX * 29_000,
    "directives": "<meta name=robots content='" + "noindex," * 120_000 + "'>",
    "references": "<meta name='" + "&#114;" * 160_000 + "'>",
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_pages_are_cheap(name: str) -> None:
    """A megabyte of anything takes a second or so, not minutes."""
    began = time.perf_counter()
    for _ in statements(HOSTILE[name]):
        pass
    links("nofollow" + HOSTILE[name])
    list(in_headers([HOSTILE[name]] * 3))
    assert time.perf_counter() - began < SLOWEST


def test_random_pages_raise_nothing() -> None:
    """Whatever stands in a page or a header, it is read or left."""
    rng = random.Random(14)
    pieces = [
        *("<", ">", "<meta ", "<a ", "</", "script", "<!--", "-->", "name=", "content=", "robots"),
        *("noindex", "'", '"', "=", "/", "&#0;", "&", "\0", "\ud83d", "é", ":", ",", " ", "href="),
        *("rel=nofollow", "unavailable_after:", "http://[", "<title>", "\n"),
    ]
    for _ in range(3000):
        text = "".join(rng.choices(pieces, k=rng.randint(1, 30)))
        said(text)
        links(text + " nofollow")
        list(in_headers([text]))
        list(find(text, "meta", "a"))
