"""From the octets of a robots.txt file to numbered records.

Rules:

- Only the first 512,000 octets count, cut at a line end: half a rule could mean something else.
- UTF-8, with or without a byte order mark; UTF-16 when it says so with one. Octets that are not
  UTF-8 become lone surrogates, one for one, so that two different ones stay different.
- LF, CR LF and CR end a line, nothing else does. `#` starts a comment.
- A record is `key: value`. Common misspellings of a key are taken as meant, and a missing colon is
  forgiven when the line has exactly two words. Any other line is none, and disturbs nothing.

Source: RFC 9309 sections 2.2 (syntax), 2.2.2 (other encodings), 2.2.4 (misspellings), 2.3.1.5
(parsing errors) and 2.5 (limit); the misspellings are those that Google's robotstxt accepts.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

LIMIT_BYTES = 512_000

USER_AGENT = "user-agent"
ALLOW = "allow"
DISALLOW = "disallow"
CRAWL_DELAY = "crawl-delay"
REQUEST_RATE = "request-rate"
VISIT_TIME = "visit-time"
SITEMAP = "sitemap"
HOST = "host"
CONTENT_USAGE = "content-usage"
CONTENT_SIGNAL = "content-signal"

_SPELLINGS = {
    USER_AGENT: (USER_AGENT, "useragent", "user agent"),
    ALLOW: (ALLOW,),
    DISALLOW: (DISALLOW, "dissallow", "dissalow", "disalow", "diasllow", "disallaw"),
    CRAWL_DELAY: (CRAWL_DELAY, "crawl delay"),
    REQUEST_RATE: (REQUEST_RATE, "request rate"),
    VISIT_TIME: (VISIT_TIME, "visit time"),
    SITEMAP: (SITEMAP, "sitemaps", "site-map"),
    HOST: (HOST,),
    CONTENT_USAGE: (CONTENT_USAGE,),
    CONTENT_SIGNAL: (CONTENT_SIGNAL,),
}
KEYS = {spelling: key for key, spellings in _SPELLINGS.items() for spelling in spellings}

_WHITE = " \t"
_KEY_WHITE = " \t\ufeff"  # files pasted together carry byte order marks inside
_WHOLE_LINES = {  # all octets up to the last line end
    "utf-8": re.compile(rb"(?s).*(?<!\r)(?=[\r\n])"),
    "utf-16-le": re.compile(rb"(?s)(?:..)*(?<!\r\0)(?=[\r\n]\0)"),
    "utf-16-be": re.compile(rb"(?s)(?:..)*(?<!\0\r)(?=\0[\r\n])"),
}


class Record(NamedTuple):
    """One `key: value` line; *key* is spelled as the standard does, or as found in lower case."""

    line: int
    key: str
    value: str


@dataclass(frozen=True, slots=True)
class RobotsFile:
    """The part of a robots.txt file that counts; text is decoded when asked for, and not kept.

    Attributes:
        octets: at most `limit_bytes` of the file, ending at the end of a line.
        ignored_bytes: how many octets were cut off.
    """

    octets: bytes
    ignored_bytes: int = 0

    @classmethod
    def read(cls, body: bytes, limit_bytes: int = LIMIT_BYTES) -> RobotsFile:
        """Return the file that *body* holds, cut at the last line end within the limit.

        Source: RFC 9309 section 2.5.
        """
        kept = body if len(body) <= limit_bytes else _cut(body, limit_bytes)
        return cls(kept, len(body) - len(kept))

    @property
    def encoding(self) -> str:
        """`utf-8`, `utf-16-le` or `utf-16-be`."""
        return _encoding(self.octets)

    @property
    def has_bom(self) -> bool:
        """Whether the file starts with a byte order mark."""
        return self.encoding != "utf-8" or self.octets.startswith(codecs.BOM_UTF8)

    @property
    def text(self) -> str:
        """The decoded text without its byte order mark."""
        errors = "surrogateescape" if self.encoding == "utf-8" else "replace"
        return self.octets.decode(self.encoding, errors).removeprefix("\ufeff")

    def lines(self) -> list[str]:
        """Return the lines without their ends; line *n* of the file is item *n - 1*."""
        text = self.text
        if "\r" in text:
            text = text.replace("\r\n", "\n").replace("\r", "\n")
        return text.split("\n")

    def records(self) -> Iterator[Record]:
        """Yield the records of the file in order."""
        return records(self.lines())


def records(lines: Iterable[str]) -> Iterator[Record]:
    """Yield a record for each line that is one.

    >>> list(records(["User-agent: *", "", "disalow : /x # secret", "hello there world"]))
    [Record(line=1, key='user-agent', value='*'), Record(line=3, key='disallow', value='/x')]
    """
    for number, line in enumerate(lines, 1):
        if line and (pair := split_line(line)):
            yield Record(number, pair[0], pair[1])


def split_line(line: str) -> tuple[str, str] | None:
    """Return key and value of *line*, or None when it has none.

    >>> split_line("USERAGENT:FooBot/2.1")
    ('user-agent', 'FooBot/2.1')
    >>> split_line("Disallow /wiki/Talk:Main")
    ('disallow', '/wiki/Talk:Main')
    """
    content = line.partition("#")[0]
    written, colon, value = content.partition(":")
    written = written.strip(_KEY_WHITE).lower()
    key = KEYS.get(written)
    if not colon or (key is None and written.split(None, 1)[1:]):
        words = content.strip(_KEY_WHITE).split(None, 2)
        if len(words) == 2 and (key := KEYS.get(words[0].lower())):
            return key, words[1]
    return (key or written, value.strip(_WHITE)) if colon and written else None


def printable(text: str) -> str:
    r"""Return *text* fit for a terminal or a log: what cannot be printed is escaped.

    >>> print(printable("/caf\udce9\x1b[2J"))
    /caf\xe9\x1b[2J
    """
    return "".join(c if c.isprintable() else _escaped(c) for c in text)


def _escaped(char: str) -> str:
    if "\udc80" <= char <= "\udcff":  # an octet that was not UTF-8
        return f"\\x{ord(char) - 0xDC00:02x}"
    return char.encode("unicode_escape").decode("ascii")


def _encoding(octets: bytes) -> str:
    if octets.startswith(codecs.BOM_UTF16_LE):
        return "utf-16-le"
    return "utf-16-be" if octets.startswith(codecs.BOM_UTF16_BE) else "utf-8"


def _cut(body: bytes, limit_bytes: int) -> bytes:
    encoding = _encoding(body)
    # A line that just fits is whole: the character after it is its end.
    end_at = limit_bytes + (1 if encoding == "utf-8" else 2)
    whole = _WHOLE_LINES[encoding].match(body, 0, end_at)
    return whole[0] if whole else b""
