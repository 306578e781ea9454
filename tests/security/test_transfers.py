"""Answers that are slow, endless, broken or far larger than they look: each costs its timeout."""

from __future__ import annotations

import importlib
import itertools
import zlib
from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest

from harness import Web, crawl_here
from security.raw import Raw, Script, ok

pytestmark = pytest.mark.crawl

RULES = b"User-agent: *\nDisallow: /\n"
OPEN = b"User-agent: *\nAllow: /\n"
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nConnection: close\r\n"
BIG = 60_000_000  # octets
WEB: dict[str, object] = {
    "CONCURRENT_REQUESTS": 100,
    "DOWNLOAD_TIMEOUT": 2,
    "POLITE_ROBOTS_TIMEOUT": 2,
    "POLITE_ROBOTS_HOLD": 0.3,
    "POLITE_DELAY_FACTOR": 0,
    "POLITE_BACKOFF_MIN": 0.1,
    "RETRY_ENABLED": False,
}


def say(*parts: bytes | float) -> Callable[[], Script]:
    """Return a script that says this."""
    return lambda: parts


def on_and_on(start: bytes, more: bytes, pause: float = 0.0) -> Callable[[], Script]:
    """Return a script that never ends; without a pause it sends as fast as it can."""

    def script() -> Iterator[bytes | float]:
        yield start
        for _ in itertools.count():
            yield more
            yield pause

    return script


def coded(name: bytes, body: bytes) -> Callable[[], Script]:
    """Return a script that answers with an encoded body."""
    return ok(body, b"Content-Encoding: " + name)


def layers(count: int) -> bytes:
    """Return rules that were compressed so many times."""
    body = OPEN
    for _ in range(count):
        body = zlib.compress(body)
    return body


def bombs() -> dict[str, Callable[[], Script]]:
    """Return files that grow by a factor of thousands, in every coding that Scrapy knows here."""
    plain = OPEN + b"#" * BIG
    made = {"deflate": coded(b"deflate", zlib.compress(plain, 1))}
    for module, name, args in (("brotli", b"br", {"quality": 1}), ("backports.zstd", b"zstd", {})):
        try:
            compress = importlib.import_module(module).compress
        except ImportError:
            continue
        made[module] = coded(name, compress(plain, **args))
    return made


SLOW = {
    "headers without end": on_and_on(HEAD, b"X-A: b\r\n", 0.05),
    "a header line in drops": on_and_on(HEAD, b"x", 0.1),
    "a body in drops": on_and_on(HEAD + b"Content-Length: 99\r\n\r\n", b"x", 0.5),
    "no answer": say(9.0),
    "interim answers without end": on_and_on(b"", b"HTTP/1.1 100 Continue\r\n\r\n", 0.05),
    "trailers without end": on_and_on(
        HEAD + b"Transfer-Encoding: chunked\r\n\r\n0\r\n", b"X: y\r\n", 0.05
    ),
}
BROKEN = {
    "a line of headers without end": on_and_on(HEAD + b"X: ", b"x" * 4096),
    "nothing": say(),
    "half a status line": say(b"HTTP/1."),
    "half a header": say(HEAD[:-9]),
    "no body": say(HEAD + b"Content-Length: 20\r\n\r\n"),
    "half a body": say(HEAD + b"Content-Length: 99\r\n\r\n" + OPEN),
    "1 GB promised": say(HEAD + b"Content-Length: 1000000000\r\n\r\n" + OPEN),
    "half a chunk": say(HEAD + b"Transfer-Encoding: chunked\r\n\r\n40\r\n" + OPEN),
    "a chunk of letters": say(HEAD + b"Transfer-Encoding: chunked\r\n\r\nzz\r\n" + OPEN),
    "another protocol": say(b"SSH-2.0-OpenSSH_9.6\r\n"),
    "status of letters": say(b"HTTP/1.1 abc OK\r\nContent-Length: 0\r\n\r\n"),
    "status 99": say(b"HTTP/1.1 99 Low\r\nContent-Length: 0\r\n\r\n"),
    "status 999": say(b"HTTP/1.1 999 Denied\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"),
    "status of 30 digits": say(b"HTTP/1.1 " + b"9" * 30 + b" X\r\nContent-Length: 0\r\n\r\n"),
    "length of letters": say(HEAD + b"Content-Length: x\r\n\r\n" + OPEN),
    "negative length": say(HEAD + b"Content-Length: -1\r\n\r\n" + OPEN),
    "a thousand codings": coded(b", ".join([b"deflate"] * 1000), layers(1000)),
    "codings in a thousand lines": ok(layers(1000), *[b"Content-Encoding: deflate"] * 1000),
    "three codings": coded(b"deflate, deflate, deflate", layers(3)),
    "a coding that is none": coded(b"gzip", b"\x1f\x8b" + b"no gzip" * 9),
    **{f"bomb: {name}": script for name, script in bombs().items()},
}
CUT = {
    "a body without end": on_and_on(HEAD + b"\r\n" + RULES, b"#" * 65_536),
    "1 GB promised, and coming": on_and_on(
        HEAD + b"Content-Length: 1000000000\r\n\r\n" + RULES, b"#" * 65_536
    ),
    "one line without end": on_and_on(HEAD + b"\r\n" + RULES + b"Allow: /", b"a" * 65_536),
}
WHOLE = {"two codings": coded(b"deflate, deflate", zlib.compress(zlib.compress(RULES)))}
EITHER = {  # some handlers of Scrapy take them, some do not
    "headers of 1 MB": ok(RULES, *[b"Set-Cookie: a%d=%s" % (n, b"x" * 10_000) for n in range(100)]),
    "controls in headers": ok(RULES, b'ETag: "\x1b[2J"', b"Last-Modified: \x01\x02", b"X: \xff"),
}


async def test_robots(web: Web) -> None:
    """A robots.txt that is not whole within its time, or is a bomb, has the pages dropped.

    What has no end is cut, and its rules count.  All together take hardly longer than one.
    """
    files = {**SLOW, **BROKEN, **CUT, **WHOLE, **EITHER}
    with ExitStack() as stack:
        sites = {
            name: stack.enter_context(Raw({"/robots.txt": script, "/page": ok(b"page")}))
            for name, script in files.items()
        }
        urls = {name: site.url("/page") for name, site in sites.items()}
        run = await crawl_here(web, list(urls.values()), WEB, timeout=100)
        got = {name: run.outcome.get(url) for name, url in urls.items()}
    unread, read = ["RobotsUnreachable"], ["IgnoreRequest"]
    assert all(got.pop(name) in (read, unread) for name in EITHER)
    assert got == {name: read if name in {**CUT, **WHOLE} else unread for name in got}
    assert not any("GET /page" in line for site in sites.values() for line in site.asked)
    assert run.seconds < 60


async def test_pages(web: Web) -> None:
    """Pages that end in any such way cost their host its turn, and nobody else anything."""
    pages = {**SLOW, **BROKEN, **CUT, **WHOLE, **EITHER}
    settings = {**WEB, "ROBOTSTXT_OBEY": False, "DOWNLOAD_MAXSIZE": 1_000_000}
    with ExitStack() as stack:
        sites = [stack.enter_context(Raw({"/page": script})) for script in pages.values()]
        honest = web.site({"*": ""})
        asked = [site.url("/page") for site in sites] + [honest.url(f"/{n}") for n in range(20)]
        run = await crawl_here(web, asked, settings, timeout=100)
    assert [len(site.asked) for site in sites] == [1] * len(pages)
    assert sum(run.outcome.get(honest.url(f"/{n}")) == [200] for n in range(20)) == 20
    assert [url for url in asked if len(run.outcome.get(url, [])) != 1] == []
    assert run.seconds < 60
