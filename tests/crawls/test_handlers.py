"""Download handlers: through each of Scrapy's and a user's own, a crawl keeps the whole promise.

`WAYS` is the table of them.  One crawl per way visits sites of every kind at once.  Handlers that
this Scrapy, or the reactor of the run, does not have are skipped.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib.util import find_spec
from itertools import pairwise
from types import MappingProxyType
from typing import Any, NamedTuple

import pytest
from scrapy import version_info
from scrapy.settings import default_settings
from scrapy.utils.reactor import is_asyncio_reactor_installed

from crawls.handlers import FromMemory
from crawls.judging import DISALLOW, MANY, paths
from crawls.promise import assert_ten_times
from harness import Answer, Site, Web, crawl, crawl_here, gaps
from harness.pages import Page
from harness.secure import Http2Web, SecureWeb

pytestmark = pytest.mark.crawl

SCRAPYS = "scrapy.core.downloader.handlers."
HTTP11 = SCRAPYS + "http11.HTTP11DownloadHandler"
HTTP2 = SCRAPYS + "http2.H2DownloadHandler"
HTTPX = SCRAPYS + "_httpx.HttpxDownloadHandler"
AIOHTTP = SCRAPYS + "_aiohttp.AiohttpDownloadHandler"
CANNOT_CUT = "need not say what it receives"
RESETS_NOTHING = "resets no HTTP/2 stream"
LIMIT_BYTES = 512_000


class Way(NamedTuple):
    """A handler, and the web that it crawls.

    Args:
        cuts: whether it can be told to stop; a robots.txt that is far too long is refused if not.
        said: part of what is said of it at the start; None when nothing is.
    """

    handler: str
    web: type[Web] = Web
    cuts: bool = True
    said: str | None = None
    settings: Mapping[str, Any] = MappingProxyType({})


WAYS = {
    "HTTP/1.1 over TLS": Way(HTTP11, SecureWeb),
    "HTTP/2": (
        Way(HTTP2, Http2Web)
        if version_info >= (2, 18)
        else Way(HTTP2, Http2Web, cuts=False, said=CANNOT_CUT)
    ),
    "httpx": Way(HTTPX),
    "httpx over TLS": Way(HTTPX, SecureWeb),
    "httpx with HTTP/2": Way(
        HTTPX, Http2Web, said=RESETS_NOTHING, settings={"HTTPX_HTTP2_ENABLED": True}
    ),
    "aiohttp": Way(AIOHTTP),
    "aiohttp over TLS": Way(AIOHTTP, SecureWeb),
    "derived": Way("crawls.handlers.Derived", cuts=False, said=CANNOT_CUT),
    "wrapping": Way("crawls.handlers.Wrapping", cuts=False, said=CANNOT_CUT),
}
OF_ASYNCIO = (HTTPX, AIOHTTP)
MISSING = {
    "httpx with HTTP/2": not hasattr(default_settings, "HTTPX_HTTP2_ENABLED"),
    "aiohttp": find_spec(SCRAPYS + "_aiohttp") is None,
    "aiohttp over TLS": find_spec(SCRAPYS + "_aiohttp") is None,
}


@pytest.fixture(params=WAYS)
def way(request: pytest.FixtureRequest) -> Way:
    """A way that this Scrapy has and that works without a reactor, or with the one of this run."""
    way = WAYS[request.param]
    if MISSING.get(request.param):
        pytest.skip("this Scrapy has no such handler")
    reactorless = request.config.getoption("reactorless")
    if way.handler in OF_ASYNCIO and not reactorless and not is_asyncio_reactor_installed():
        pytest.skip("needs asyncio")
    if way.handler not in OF_ASYNCIO and reactorless:
        pytest.skip("needs a reactor")
    return way


@pytest.fixture
def web(way: Way) -> Iterator[Web]:
    """A web that the way's handler can talk to."""
    with way.web() as web:
        yield web


def settings_of(way: Way) -> dict[str, Any]:
    """Return the settings that have a crawl go this way."""
    handlers = dict.fromkeys(("http", "https"), way.handler)
    return {"DOWNLOAD_HANDLERS": handlers, **way.settings}


async def test_the_whole_promise(way: Way, web: Web) -> None:
    """Identity, robots.txt first and obeyed, one at a time, ten times the duration, Retry-After.

    A kept-alive connection that drops is no reason to ask again at once.
    """
    dropping: list[Page] = ["", Answer(delay=0.03, drop=True), ""]
    late = Answer(delay=0.03, body_delay=0.03, body="late")
    plain = web.site({"/robots.txt": DISALLOW, "/late": late, "/drop": dropping, "*": ""})
    refused = Answer(429, headers={"Retry-After": "1"})
    refusing = web.site({"/robots.txt": 404, "*": [refused, "welcome"]})
    asked = [plain.url(path) for path in ("/late", "/private/x", "/drop?1", "/drop?2", "/last")]
    run = await crawl_here(web, [*asked, refusing.url("/a")], settings_of(way))

    assert {(a.headers["user-agent"], a.headers["from"]) for a in run.arrivals} == {
        ("HarnessBot/1.0 (ops@harness.test)", "ops@harness.test")
    }
    assert paths(run, plain) == ["/robots.txt", "/late", "/drop?1", "/drop?2", "/last", "/drop?2"]
    assert paths(run, refusing) == ["/robots.txt", "/a", "/a"]
    assert_ten_times(run.arrivals)
    [_, after_refusal] = gaps(a for a in run.arrivals if a.host == refusing.host)
    assert after_refusal.wait >= 1
    assert (CANNOT_CUT in run.log, RESETS_NOTHING in run.log) == (
        way.said == CANNOT_CUT,
        way.said == RESETS_NOTHING,
    )


async def test_a_robots_txt_without_an_end(way: Way, web: Web) -> None:
    """What is far too long is cut, or refused where that cannot be; what drips is given up."""
    size_bytes = 2_000_000 if way.said == RESETS_NOTHING else 64_000_000
    long = web.site({"/robots.txt": Answer(body=DISALLOW, size_bytes=size_bytes), "*": ""})
    dripping = web.site({"/robots.txt": Answer(body=DISALLOW, drip=0.5), "*": ""})
    asked = [long.url("/private/x"), long.url("/a"), dripping.url("/a")]
    run = await crawl_here(web, asked, {**MANY, **settings_of(way), "POLITE_ROBOTS_TIMEOUT": 4})

    allowed = 200 if way.cuts else "RobotsUnreachable"
    forbidden = "IgnoreRequest" if way.cuts else "RobotsUnreachable"
    told = [[forbidden], [allowed], ["RobotsUnreachable"]]
    assert run.outcome == dict(zip(asked, told, strict=True))
    assert {a.path for a in run.arrivals} <= {"/robots.txt", "/a"}
    assert "/a" not in paths(run, dripping)
    assert run.stats.get("downloader/response_bytes", 0) < 4 * LIMIT_BYTES


async def test_a_stop_is_quick(way: Way, web: Web) -> None:
    """A crawl that is stopped while its host waits does not wait, whatever carried its pages."""
    site = web.site({"/robots.txt": "User-agent: *\nCrawl-delay: 60\n", "*": ""})
    asked = [site.url(f"/{number}") for number in range(5)]
    run = await crawl_here(web, asked, {**settings_of(way), "CLOSESPIDER_PAGECOUNT": 1})
    assert run.stats["finish_reason"] == "closespider_pagecount"
    assert run.seconds < 30


@pytest.mark.usefixtures("in_process")
async def test_a_handler_that_answers_by_itself() -> None:
    """What a user's handler makes out of nothing is asked for, timed and spaced like any page."""
    FromMemory.log.clear()
    handlers = {"http": "crawls.handlers.FromMemory"}
    with Web() as nobody:
        site = Site("site.test", 8080, {})
        asked = [site.url(path) for path in ("/a", "/private/b", "/c")]
        run = await crawl_here(nobody, asked, {"DOWNLOAD_HANDLERS": handlers})
    fetched = [url for url, _, _ in FromMemory.log]
    assert fetched == [site.url(path) for path in ("/robots.txt", "/a", "/c")]
    for (_, start_at, end_at), (_, next_at, _) in pairwise(FromMemory.log):
        assert next_at - end_at >= 10 * (end_at - start_at)
    assert run.outcome[site.url("/private/b")] == ["IgnoreRequest"]


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        (
            {"TWISTED_REACTOR_ENABLED": False, "DOWNLOAD_HANDLERS": {"http": HTTP11}},
            "http: nothing can be fetched: HTTP11DownloadHandler requires a Twisted reactor",
        ),
        (
            {
                "TWISTED_REACTOR": "twisted.internet.selectreactor.SelectReactor",
                "DOWNLOAD_HANDLERS": {"http": HTTPX},
            },
            "http: nothing can be fetched: HttpxDownloadHandler requires the asyncio support",
        ),
        (
            {"DOWNLOAD_HANDLERS": {"http": HTTP2}},
            "http: nothing can be fetched: H2DownloadHandler is for https only",
        ),
    ],
    ids=["HTTP/1.1 without a reactor", "httpx without asyncio", "HTTP/2 without TLS"],
)
def test_what_cannot_work_is_said_at_the_start(settings: dict[str, Any], said: str) -> None:
    """One sentence names the scheme and the handler, and nothing is sent."""
    with Web() as web:
        site = web.site({"*": ""})
        run = crawl(web, [site.url("/a")], {**settings, "POLITE_ROBOTS_HOLD": 0.1})
    assert said in run.log
    assert run.arrivals == []
