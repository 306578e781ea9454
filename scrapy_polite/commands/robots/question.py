"""What a person asks `scrapy robots`: which robots.txt, which pages, for which crawler.

Rules:

- `-` is standard input, what holds `://` is a URL, all else names a file.
- Of a URL its origin counts. Pages are those of `--path`, and the URL itself when it names one;
  without any it is the front page.
- A page is a path, or a whole URL; with a site's robots.txt it must belong to that origin.
- A crawler is named by its product token or its whole User-Agent; `*` is whoever is not named.

Source: RFC 9309 sections 2.2.1 and 2.3.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO
from urllib.parse import urlsplit

from scrapy import Request

from scrapy_polite.policy.identity import product_token
from scrapy_polite.policy.origin import origin_of, robots_url
from scrapy_polite.robots.groups import EVERYONE
from scrapy_polite.robots.lines import LIMIT_BYTES, printable
from scrapy_polite.robots.rules import ROBOTS_PATH

STANDARD_INPUT = "-"
FILE_MAX_BYTES = 32 * LIMIT_BYTES
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://").match
_NOT_UTF8 = re.compile("[\udc80-\udcff]")  # octets of a command line
_ASCII_ORIGIN = re.compile(r"https?://[!-~]+").fullmatch


class CannotTell(Exception):
    """The question has no answer; the message is one sentence for the person who asked."""


@dataclass(frozen=True, slots=True)
class Page:
    """A page that is asked about.

    Attributes:
        asked: the path or URL as the person wrote it.
        url: what the rules are asked with.
        named: False for the front page where no page was named.
    """

    asked: str
    url: str
    named: bool = True


@dataclass(frozen=True, slots=True)
class Question:
    """Which robots.txt, and which pages.

    Attributes:
        source: its URL, the name of a file, or `-`.
        origin: whose it is; None for a file.
        pages: what is asked about, at least one.
    """

    source: str
    origin: str | None
    pages: tuple[Page, ...]


def parse(target: str, paths: Sequence[str] = ()) -> Question:
    """Return the question that a command line puts.

    Raises:
        CannotTell: a URL is malformed, or of another origin.

    >>> [page.url for page in parse("https://Site.Example/a", ["b"]).pages]
    ['https://site.example/a', 'https://site.example/b']
    """
    if target == STANDARD_INPUT or not _SCHEME(target):
        origin, named = None, [*paths]
    else:
        origin, parts = _origin(target), urlsplit(target)
        own = parts.path + (f"?{parts.query}" if parts.query else "")
        named = [*paths] if own in ("", "/", ROBOTS_PATH) else [own, *paths]
    pages = [Page(path, _url(path, origin)) for path in named]
    front = Page("/", _url("/", origin), named=False)
    return Question(robots_url(origin) if origin else target, origin, tuple(pages or [front]))


def token_of(agent: str) -> str:
    """Return the product token that a person means; `*` for whoever is not named.

    Raises:
        CannotTell: there is none.

    >>> token_of("FooBot/2.1 (+https://foobot.test/)"), token_of("*")
    ('FooBot', '*')
    """
    token = EVERYONE if agent.strip() == EVERYONE else product_token(agent)
    if not token:
        raise CannotTell(
            f"--agent {_shown(agent)} is no product token: "
            "write a name of letters, '_' and '-', for example FooBot, or *."
        )
    return token


def read_file(source: str) -> bytes:
    """Return the octets of a file, or of standard input.

    Raises:
        CannotTell: there is no such file, it cannot be read, or is far too large.
    """
    try:
        if source == STANDARD_INPUT:
            body = _bounded(sys.stdin.buffer)
        elif Path(source).is_dir():
            raise CannotTell(f"{printable(source)} is a directory: name the file in it.")
        else:
            with Path(source).open("rb") as file:
                body = _bounded(file)
    except FileNotFoundError:
        raise CannotTell(
            f"There is no file {printable(source)} (the URL of a site begins with https://)."
        ) from None
    except OSError as error:
        raise CannotTell(f"{printable(source)} cannot be read: {error.strerror}.") from None
    if len(body) > FILE_MAX_BYTES:
        raise CannotTell(
            f"{printable(source)} is larger than {FILE_MAX_BYTES:,} octets: it is no robots.txt."
        )
    return body


def _bounded(file: IO[bytes]) -> bytes:
    return file.read(FILE_MAX_BYTES + 1)  # /dev/zero ends here


def _origin(url: str) -> str:
    if not url.lower().startswith(("http://", "https://")):
        raise CannotTell(f"{_shown(url)} is no http or https URL.")
    origin = origin_of(url)
    if origin is None:
        raise CannotTell(f"{_shown(url)} names no host.")
    try:
        is_usable = _ASCII_ORIGIN(origin) and urlsplit(url).port != 0
    except ValueError:  # a port out of range, brackets that do not pair
        is_usable = False
    if not is_usable:
        raise CannotTell(f"The host or port of {_shown(url)} is malformed.")
    return origin


def _url(page: str, origin: str | None) -> str:
    """Return the URL of a page, spelled as a crawl would; of a file's, its path will do."""
    page = _NOT_UTF8.sub(lambda octet: f"%{ord(octet[0]) - 0xDC00:02X}", page)
    if not _SCHEME(page):
        path = page if page.startswith("/") else f"/{page}"
        return Request(origin + path).url if origin else path
    if origin and origin != _origin(page):
        ruler = robots_url(_origin(page))
        raise CannotTell(f"{_shown(page)} is ruled by {ruler}, not by {robots_url(origin)}.")
    return Request(page).url if origin else page


def _shown(text: str) -> str:
    return f"'{printable(text)}'"
