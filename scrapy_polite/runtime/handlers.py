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


async def in_time(
    crawler: Crawler, download: Coroutine[Any, Any, Response], request: Request
) -> Response:
    """Await a download no longer than the request's `download_timeout`, head and body together.

    httpx begins to count anew with each octet, and of a user's own handler nothing is known; the
    latter may take as long as it likes for pages.  Scrapy's others keep the timeout by themselves,
    and so does each one without asyncio.

    Raises:
        DownloadTimeoutError: it took longer.
    """
    seconds = request.meta.get("download_timeout")
    if not seconds or not is_asyncio_available() or not _needs_watch(crawler, request):
        return await download
    try:
        return await asyncio.wait_for(download, seconds + GRACE)
    except asyncio.TimeoutError:
        raise DownloadTimeoutError(f"{request.url} took longer than {seconds:g} s") from None


def _needs_watch(crawler: Crawler, request: Request) -> bool:
    handler, _ = engine.handler_of(crawler, request.url.partition(":")[0])
    home = _written_in(handler)
    return home == _STREAMING or (ROBOTS_META in request.meta and not home.startswith(_OF_SCRAPY))


def _is_httpx_with_http2(crawler: Crawler, handler: object) -> bool:
    wanted = crawler.settings.getbool("HTTPX_HTTP2_ENABLED")
    return wanted and type(handler).__module__ == _OF_SCRAPY + "_httpx"


def _written_in(handler: object) -> str:
    """Return the module of a handler's method, "" without one."""
    return getattr(getattr(handler, "download_request", None), "__module__", "")
