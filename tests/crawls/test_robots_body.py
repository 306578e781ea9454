"""The body of robots.txt: how it is read, and how much of it (RFC 9309 sections 2.3 and 2.5)."""

from __future__ import annotations

import gzip
import zlib

import pytest

from crawls.judging import (
    ALLOW,
    ALLOWED,
    DISALLOW,
    FORBIDDEN,
    UNREACHABLE,
    Case,
    expected,
    judge,
)
from harness import Answer, Web

pytestmark = pytest.mark.crawl

LIMIT_BYTES = 512_000
ENDLESS_BYTES = 64_000_000  # more than the buffers of both ends take unread
FILLER = b"# nothing of interest in this line\n"


def padded(size_bytes: int) -> bytes:
    """Return the beginning of a file, so many octets of it, with no rule in it yet."""
    lines = b"User-agent: *\n" + FILLER * (size_bytes // len(FILLER))
    return lines[: size_bytes - 1] + b"\n"


def encoded(encoding: str, body: bytes) -> Answer:
    """Return a file in a content encoding."""
    return Answer(headers={"Content-Encoding": encoding}, body=body)


async def test_rfc9309_2_3_encodings(web: Web) -> None:
    """Byte order marks, UTF-16, line ends, stray octets and content encodings do no harm."""
    text = DISALLOW
    cases = {
        "UTF-8 with BOM": Case(b"\xef\xbb\xbf" + text.encode(), FORBIDDEN),
        "UTF-16 little end": Case(b"\xff\xfe" + text.encode("utf-16-le"), FORBIDDEN),
        "UTF-16 big end": Case(b"\xfe\xff" + text.encode("utf-16-be"), FORBIDDEN),
        "CR LF": Case(text.replace("\n", "\r\n"), FORBIDDEN),
        "CR": Case(text.replace("\n", "\r"), FORBIDDEN),
        "no UTF-8 before": Case(b"# \xff\xfe\x00\xe9\n" + text.encode(), FORBIDDEN),
        "no last line end": Case(text.rstrip(), FORBIDDEN),
        "a web page": Case("<html><body>Not found</body></html>", ALLOWED),
        "empty": Case("", ALLOWED),
        "gzip": Case(encoded("gzip", gzip.compress(text.encode())), FORBIDDEN),
        "deflate": Case(encoded("deflate", zlib.compress(text.encode())), FORBIDDEN),
        "media type of a picture": Case(
            Answer(headers={"Content-Type": "image/png"}, body=text), FORBIDDEN
        ),
        "another charset": Case(
            Answer(headers={"Content-Type": "text/plain; charset=utf-16"}, body=text), FORBIDDEN
        ),
        "for us": Case("User-agent: HARNESSBOT/2\nDisallow: /private/\n", FORBIDDEN),
        "for a prefix of us": Case("User-agent: Harness\nDisallow: /\n", ALLOWED),
    }
    got, _, _ = await judge(web, cases)
    assert got == expected(cases)


async def test_rfc9309_2_5_size_limit(web: Web) -> None:
    """The first 512,000 octets count, to the last whole line; the rest is not even downloaded.

    A limit for pages is none for robots.txt.
    """
    rule = b"Disallow: /private/\n"
    inside, across, after = (
        padded(LIMIT_BYTES - len(rule) + late) + rule for late in (0, 2, len(rule))
    )
    chunks = {"Transfer-Encoding": "chunked"}
    cases = {
        "inside": Case(inside + FILLER, FORBIDDEN),
        "cut in the line": Case(across + FILLER, ALLOWED),
        "after": Case(after, ALLOWED),
        "inside, gzip": Case(encoded("gzip", gzip.compress(inside + FILLER)), FORBIDDEN),
        "after, gzip": Case(encoded("gzip", gzip.compress(after)), ALLOWED),
        "bomb": Case(encoded("gzip", gzip.compress(inside + bytes(20_000_000), 1)), UNREACHABLE),
        "endless": Case(Answer(body=DISALLOW, size_bytes=ENDLESS_BYTES), FORBIDDEN),
        "endless chunk": Case(
            Answer(headers=chunks, body="7ffffff\r\n" + DISALLOW, size_bytes=ENDLESS_BYTES),
            FORBIDDEN,
        ),
    }
    got, run, sites = await judge(web, cases, {"DOWNLOAD_MAXSIZE": 1000})
    assert got == expected(cases)
    endless = {sites["endless"].host, sites["endless chunk"].host}
    assert [seen.ended for seen in run.arrivals if seen.host in endless] == ["left", "left"]
    assert run.stats["downloader/response_bytes"] < 10 * LIMIT_BYTES


async def test_slow_bodies(web: Web) -> None:
    """POLITE_ROBOTS_TIMEOUT is for the whole body, and a slow one within it is read."""
    cases = {
        "in time": Case(Answer(body=DISALLOW, body_delay=0.2), FORBIDDEN),
        "too late": Case(Answer(body=ALLOW, body_delay=4), UNREACHABLE),
        "headers too late": Case(Answer(body=ALLOW, delay=4), UNREACHABLE),
    }
    got, _, _ = await judge(web, cases, {"POLITE_ROBOTS_TIMEOUT": 2})
    assert got == expected(cases)
