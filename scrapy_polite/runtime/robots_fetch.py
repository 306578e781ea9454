"""Fetching one robots.txt: the redirect chain, its deadline, and what nothing may break.

Every hop has the turn of its host: the first borrows the waiting page's, later ones wait at the
gate.  The deadline counts the seconds on the wire of the whole chain, not our own waits.  The request
is exempt from robots.txt itself, Offsite, HttpCache, Retry, Redirect, cookies and the dupe filter;
the identity, proxies and decompression of the crawl apply.  No more than the octets that count are
read.

Source: RFC 9309 sections 2.3.1.2 and 2.5.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from scrapy import Request
from scrapy.exceptions import StopDownload
from scrapy.http.request import NO_CALLBACK

from scrapy_polite import stats
from scrapy_polite.exceptions import CrawlStopping
from scrapy_polite.policy.origin import origin_of, robots_url
from scrapy_polite.policy.robots_access import Access, access_of, next_hop
from scrapy_polite.policy.robots_cache import RobotsRecord
from scrapy_polite.runtime.lanes import ROBOTS_META

if TYPE_CHECKING:
    from collections.abc import Callable

    from scrapy.crawler import Crawler
    from scrapy.http import Response

LIMIT_BYTES = 512_000  # octets of a file that are read; RFC 9309 section 2.5 asks for 500 KiB at least
PRIORITY = 1000  # that of Scrapy's own robots.txt requests
_EXEMPT = {
    "dont_obey_robotstxt": True,
    "dont_redirect": True,
    "dont_retry": True,
    "dont_cache": True,
    "dont_merge_cookies": True,
    "allow_offsite": True,
    "handle_httpstatus_all": True,
}
_CREDENTIALS = (b"Authorization", b"Cookie", b"Proxy-Authorization")


@dataclass(frozen=True, slots=True)
class Answer:
    """How the fetch of one robots.txt ended.

    Args:
        access: SUCCESSFUL, UNAVAILABLE, UNREACHABLE, FORBIDDEN or NOT_MODIFIED.
        status: the last HTTP status; None when there was no answer.
        error: what went wrong when there was no answer.
        hops: redirects followed.
    """

    access: Access
    status: int | None = None
    response: Response | None = field(default=None, repr=False)
    error: BaseException | None = None
    hops: int = 0

    def header(self, name: str) -> str | None:
        """Return a header of the answer, None without it."""
        raw = self.response.headers.get(name) if self.response is not None else None
        return raw.decode("latin-1") if raw is not None else None

    def headers(self, name: str) -> list[bytes]:
        """Return all values of a header."""
        return self.response.headers.getlist(name) if self.response is not None else []


async def fetch(
    crawler: Crawler,
    record: RobotsRecord | None,
    origin: str,
    *,
    timeout: float,
    forbidden: str,
    begin: Callable[[Request], None],
) -> Answer:
    """Fetch an origin's robots.txt.

    Args:
        record: the copy to revalidate, None without one.
        timeout: seconds on the wire for the whole chain.
        forbidden: what 401 and 403 mean, "allow" or "disallow".
        begin: called with the first request before it goes, to give it its turn.

    Raises:
        CrawlStopping: the crawl stopped before the answer.
    """
    url, hops, left, seen = robots_url(origin), 0, timeout, {robots_url(origin)}
    while True:
        request = _request(url, record if not hops else None, left)
        if not hops:
            begin(request)
        else:
            request.meta[ROBOTS_META] = origin if origin_of(url) == origin else "elsewhere"
        try:
            response = await crawler.engine.download_async(request)
        except CrawlStopping:
            raise
        except Exception as error:
            return Answer(Access.UNREACHABLE, error=error, hops=hops)
        left -= request.meta.get("polite", {}).get("duration", 0.0)
        access = access_of(
            response.status, forbidden=forbidden, revalidating=b"If-None-Match" in request.headers
            or b"If-Modified-Since" in request.headers,
        )
        if access is not Access.REDIRECTED:
            return Answer(access, response.status, response, hops=hops)
        onward = next_hop(url, response.headers.get("Location"), hops=hops, seen=seen)
        if onward is None:
            return Answer(Access.UNAVAILABLE, response.status, response, hops=hops)
        if left <= 0:
            error = TimeoutError(f"robots.txt took longer than {timeout:g} s")
            return Answer(Access.UNREACHABLE, response.status, error=error, hops=hops)
        crawler.stats.inc_value(stats.ROBOTS_HOPS)
        url, hops = onward, hops + 1
        seen.add(url)


def _request(url: str, record: RobotsRecord | None, timeout: float) -> Request:
    headers = {}
    if record is not None and record.etag:
        headers["If-None-Match"] = record.etag
    if record is not None and record.last_modified:
        headers["If-Modified-Since"] = record.last_modified
    meta: dict[str, Any] = {**_EXEMPT, ROBOTS_META: "first", "download_timeout": timeout}
    return Request(
        url,
        headers=headers,
        meta=meta,
        priority=PRIORITY,
        dont_filter=True,
        callback=NO_CALLBACK,
    )


def strip_credentials(request: Request) -> None:
    """Take the crawl's credentials off a hop to another origin."""
    if request.meta.get(ROBOTS_META) == "elsewhere":
        for name in _CREDENTIALS[:2]:
            request.headers.pop(name, None)


class Cutter:
    """Stops a robots.txt download once the octets that count are there."""

    def __init__(self) -> None:
        self._got: dict[Request, int] = {}

    def bytes_received(self, data: bytes, request: Request) -> None:
        """Count octets; signal handler."""
        if ROBOTS_META not in request.meta:
            return
        got = self._got[request] = self._got.get(request, 0) + len(data)
        if got > LIMIT_BYTES:
            del self._got[request]
            raise StopDownload(fail=False)

    def forget(self, request: Request) -> None:
        """The download is over; signal handler."""
        self._got.pop(request, None)
