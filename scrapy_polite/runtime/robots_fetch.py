"""Fetching one robots.txt: the redirect chain, its deadline, and what nothing may break.

Every hop has the turn of its host: the first borrows the waiting page's, later ones wait at the
gate.  The deadline counts the seconds on the wire of the whole chain, not our own waits.  The
request is exempt from robots.txt itself, Offsite, HttpCache, Retry, Redirect, cookies and the dupe
filter, and from limits on the size of pages; identity, proxies and decompression of the crawl
apply, and it takes the way of the page that needs it.  No more than the octets that count are read,
and a file that lost some on the way is none.

Source: RFC 9309 sections 2.3.1.2 and 2.5.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, TypeVar
from weakref import WeakKeyDictionary

from scrapy import Request, signals
from scrapy.exceptions import StopDownload
from scrapy.http.request import NO_CALLBACK

from scrapy_polite import engine, stats
from scrapy_polite.exceptions import CrawlStopping
from scrapy_polite.policy.origin import origin_of, robots_url
from scrapy_polite.policy.robots_access import Access, access_of, next_hop
from scrapy_polite.policy.robots_cache import RobotsRecord
from scrapy_polite.robots.lines import LIMIT_BYTES
from scrapy_polite.runtime import handlers
from scrapy_polite.runtime.lanes import ROBOTS_META
from scrapy_polite.runtime.robots_answer import Answer
from scrapy_polite.runtime.way import Way, way_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from scrapy.crawler import Crawler
    from scrapy.http.headers import Headers
    from scrapy.signalmanager import SignalManager

T = TypeVar("T")
PRIORITY = 1000  # that of Scrapy's own robots.txt requests
DECODED_MAX_BYTES = 32 * LIMIT_BYTES  # of a compressed file or one that cannot be cut
CODINGS_MAX = 2  # content codings on top of one another; a file with more cannot be read
_EXEMPT = {
    "dont_obey_robotstxt": True,
    "dont_redirect": True,
    "dont_retry": True,
    "dont_cache": True,
    "dont_merge_cookies": True,
    "allow_offsite": True,
    "handle_httpstatus_all": True,
    "download_fail_on_dataloss": True,
}
_VALIDATORS = ("If-None-Match", "If-Modified-Since")
_CREDENTIALS = ("Authorization", "Cookie")
_BROWSER = "playwright"  # in the meta, has scrapy-playwright bring a document instead of the octets


class Misdirected(Exception):
    """A middleware of the user's had something else fetched than the robots.txt asked for."""


async def fetch(
    crawler: Crawler,
    record: RobotsRecord | None,
    origin: str,
    *,
    timeout: float,
    forbidden: str,
    begin: Callable[[Request], None],
    page: Request | None = None,
) -> Answer:
    """Fetch an origin's robots.txt.

    Args:
        record: the copy to revalidate, None without one.
        timeout: seconds on the wire for the whole chain.
        forbidden: what 401 and 403 mean, "allow" or "disallow".
        begin: called with the first request before it goes, to give it its turn.
        page: the request that needs the verdict, None when there is none.

    Raises:
        CrawlStopping: the crawl stopped before the answer.
    """
    url = robots_url(origin)
    left, seen = timeout, [url]
    way = way_of(page)
    request = _request(crawler, url, left, way, record)
    begin(request)
    while True:
        hops = len(seen) - 1
        try:
            with Cutter.of(crawler).at_work(crawler.signals):
                response = checked(request, await crawler.engine.download_async(request))
        except CrawlStopping:
            raise
        except Exception as error:
            if engine.is_closed(crawler):  # between two hops nobody waits for us at the end
                raise CrawlStopping(f"The crawl stopped before {url}") from error
            return Answer(Access.UNREACHABLE, error=error, hops=hops)
        revalidating = any(name in request.headers for name in _VALIDATORS)
        access = access_of(response.status, forbidden=forbidden, revalidating=revalidating)
        if access is not Access.REDIRECTED:
            return Answer(access, response.status, response, hops=hops)
        onward = next_hop(url, response.headers.get("Location"), hops=hops, seen=seen)
        if onward is None:
            return Answer(Access.UNAVAILABLE, response.status, response, hops=hops)
        left -= request.meta.get("polite", {}).get("duration", 0.0)
        if left <= 0:
            late = TimeoutError(f"robots.txt of {origin} took longer than {timeout:g} s")
            return Answer(Access.UNREACHABLE, response.status, error=late, hops=hops)
        crawler.stats.inc_value(stats.ROBOTS_HOPS)
        url = onward
        seen.append(url)
        request = _request(crawler, url, left, way, elsewhere=origin_of(url) != origin)


def _request(
    crawler: Crawler,
    url: str,
    timeout: float,
    way: Way,
    record: RobotsRecord | None = None,
    *,
    elsewhere: bool = False,
) -> Request:
    validators = (record.etag, record.last_modified) if record is not None else (None, None)
    can_cut = handlers.tells_octets(crawler, url.partition(":")[0])
    return Request(
        url,
        headers={
            **way.headers,
            **{name: value for name, value in zip(_VALIDATORS, validators, strict=True) if value},
        },
        meta={
            **way.meta,
            **_EXEMPT,
            ROBOTS_META: "elsewhere" if elsewhere else "own",
            "download_timeout": timeout,
            "download_maxsize": 0 if can_cut else DECODED_MAX_BYTES,  # rather cut than refused
        },
        priority=PRIORITY,
        dont_filter=True,
        callback=NO_CALLBACK,
    )


def checked(request: Request, result: T) -> T:
    """Return what came of one of our requests, a response or a request in its place.

    Raises:
        Misdirected: it is about something else.
    """
    is_other = isinstance(result, Request) and ROBOTS_META not in result.meta
    if is_other or getattr(result, "url", request.url) != request.url:
        raise Misdirected(f"A middleware made {result} of {request}")
    return result


def strip(request: Request) -> None:
    """Take off one of our requests what middlewares put on all; signal handler.

    That is a browser and, on a hop to another origin, the crawl's credentials.
    """
    if ROBOTS_META not in request.meta:
        return
    request.meta.pop(_BROWSER, None)
    if request.meta[ROBOTS_META] == "elsewhere":
        for name in _CREDENTIALS:
            request.headers.pop(name, None)


class Cutter:
    """Has a robots.txt download bring the octets as they are, and no more than count."""

    def __init__(self) -> None:
        self._users = 0
        self._got: dict[Request, int] = {}
        self._length: dict[Request, object] = {}  # as the headers say; no number when they do not

        self._handlers = (
            (strip, signals.request_reached_downloader),
            (self.headers_received, signals.headers_received),
            (self.bytes_received, signals.bytes_received),
            (self.forget, signals.request_left_downloader),
        )

    @classmethod
    def of(cls, crawler: Crawler) -> Cutter:
        """Return the one of a crawler."""
        cutter = _cutters.get(crawler)
        if cutter is None:
            cutter = _cutters[crawler] = cls()
        return cutter

    @contextmanager
    def at_work(self, manager: SignalManager) -> Iterator[None]:
        """Listen meanwhile; while nothing is fetched, the signals of pages cost nothing."""
        self._users += 1
        if self._users == 1:
            for handler, signal in self._handlers:
                manager.connect(handler, signal)
        try:
            yield
        finally:
            self._users -= 1
            if not self._users:
                for handler, signal in self._handlers:
                    manager.disconnect(handler, signal)

    def headers_received(self, headers: Headers, body_length: object, request: Request) -> None:
        """Note how long the file is said to be; signal handler."""
        if ROBOTS_META not in request.meta:
            return
        self._length[request] = body_length
        # Each coding costs the decompression of a whole file; a line of headers names thousands.
        if b",".join(headers.getlist("Content-Encoding")).count(b",") >= CODINGS_MAX:
            raise StopDownload(fail=True)

    def bytes_received(self, data: bytes, request: Request) -> None:
        """Count octets; signal handler."""
        if ROBOTS_META not in request.meta:
            return
        # The handler has looked by now, so this is for the decompression of the body alone.
        request.meta["download_maxsize"] = DECODED_MAX_BYTES
        got = self._got[request] = self._got.get(request, 0) + len(data)
        # A file that ends here is not cut: the page after it may be on the same connection already.
        if got > LIMIT_BYTES and got != self._length.get(request):
            raise StopDownload(fail=False)

    def forget(self, request: Request) -> None:
        """The download is over; signal handler."""
        self._got.pop(request, None)
        self._length.pop(request, None)


_cutters: WeakKeyDictionary[Crawler, Cutter] = WeakKeyDictionary()
