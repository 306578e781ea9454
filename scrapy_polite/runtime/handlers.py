"""What the download handlers of a crawl cannot do by themselves, and what is done about it.

Each shortcoming is one sentence at the start.  A handler is known by the module that its
`download_request` was written in, so a class that overrides it is a user's own; nothing but the
time that it takes is known of such a one.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine
from typing import TYPE_CHECKING, Any

from scrapy import version_info
from scrapy.exceptions import DownloadTimeoutError
from scrapy.utils.asyncio import is_asyncio_available

from scrapy_polite import engine
from scrapy_polite.runtime.lanes import ROBOTS_META

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.http import Response

    Download = Coroutine[Any, Any, Response]

logger = logging.getLogger(__name__)
GRACE = 1.0  # seconds; a handler that keeps the timeout by itself comes first
SCHEMES = ("http", "https")
_OF_SCRAPY = "scrapy.core.downloader.handlers."
_HTTP2 = _OF_SCRAPY + "http2"
_STREAMING = _OF_SCRAPY + "_base_streaming"  # httpx and aiohttp
_TELLING = {_OF_SCRAPY + "http11", _STREAMING}
if version_info >= (2, 18):
    _TELLING.add(_HTTP2)
_UNTOLD = "need not say what it receives; a robots.txt far too long is refused, not cut"
_UNRESET = "resets no HTTP/2 stream; a robots.txt far too long makes the pages after it time out"


def prepare(crawler: Crawler) -> None:
    """Make the handlers of http and https ready, and log what they cannot do."""
    for scheme in SCHEMES:
        handler, why_not = engine.handler_of(crawler, scheme)
        name, home = type(handler).__name__, _written_in(handler)
        if home == _HTTP2 and scheme == "http":
            why_not = f"{name} is for https only"
        if why_not is not None:
            logger.warning("%s: nothing can be fetched: %s", scheme, why_not)
        elif handler is not None:
            engine.forbid_repeats(handler)
            if home not in _TELLING:
                logger.info("%s: %s %s", scheme, name, _UNTOLD)
            if home == _STREAMING and _is_httpx_with_http2(crawler, handler):
                logger.info("%s: %s %s", scheme, name, _UNRESET)


def tells_octets(crawler: Crawler, scheme: str) -> bool:
    """Return whether a scheme's handler says what it receives, so that it can be told to stop."""
    handler, _ = engine.handler_of(crawler, scheme)
    return _written_in(handler) in _TELLING


def is_http2(handler: object) -> bool:
    """Return whether a handler takes the authority from the URL, whatever the Host header says."""
    return _written_in(handler) == _HTTP2


class Watch:
    """Ends downloads that take longer than `download_timeout`, head and body together.

    httpx begins to count anew with each octet, and of a user's own handler nothing is known; the
    latter may take as long as it likes for pages.  Scrapy's others keep the timeout by themselves,
    and so does each one without asyncio.
    """

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler
        self._homes: dict[str, str] = {}  # scheme -> module of its handler's method

    def over(self, download: Download, request: Request) -> Download:
        """Return a download that raises DownloadTimeoutError in time; as it is where it does."""
        seconds = request.meta.get("download_timeout")
        if not seconds or not self._is_needed(request) or not is_asyncio_available():
            return download
        return _in_time(download, request, seconds)

    def _is_needed(self, request: Request) -> bool:
        scheme = request.url.partition(":")[0]
        home = self._homes.get(scheme)
        if home is None:
            handler, _ = engine.handler_of(self._crawler, scheme)
            home = self._homes[scheme] = _written_in(handler)
        return home == _STREAMING or (
            ROBOTS_META in request.meta and not home.startswith(_OF_SCRAPY)
        )


async def _in_time(download: Download, request: Request, seconds: float) -> Response:
    try:
        return await asyncio.wait_for(download, seconds + GRACE)
    except asyncio.TimeoutError:
        raise DownloadTimeoutError(f"{request.url} took longer than {seconds:g} s") from None


def _is_httpx_with_http2(crawler: Crawler, handler: object) -> bool:
    wanted = crawler.settings.getbool("HTTPX_HTTP2_ENABLED")
    return wanted and type(handler).__module__ == _OF_SCRAPY + "_httpx"


def _written_in(handler: object) -> str:
    """Return the module of a handler's method, "" without one."""
    return getattr(getattr(handler, "download_request", None), "__module__", "")
