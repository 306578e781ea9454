"""A refused request goes back to its host's queue: it costs no retry and is not lost.

It sits where it sees a 429 or 503 before RetryMiddleware.  The host's block itself is set by the
`PoliteBackoff` extension, from signals.

- The request goes back as a retry would, behind the others of its host (RETRY_PRIORITY_ADJUST), so
  that a page which is always refused does not stand for its host.
- With ``dont_retry`` the answer goes to the spider.
- HttpCache, which sees the answer first, does not store it; one that it stored in an earlier run is
  not taken for an answer either, the page is asked for again.
- A request that got no answer because of trouble of our own goes back too.
- The dupe filter does not see what goes back; where it redirects to later, it does.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from scrapy.exceptions import DownloadCancelledError, NotConfigured, StopDownload

from scrapy_polite import config, stats
from scrapy_polite.runtime.runtime import Runtime

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.http import Response

_UNCACHED = "polite"  # value of the meta key dont_cache where it was set here
_FILTERED = "polite_filtered"  # meta key of what the dupe filter is to see again once it is out
_CUT = (StopDownload, DownloadCancelledError)  # a handler of the user's, or DOWNLOAD_MAXSIZE


class PoliteBackoffMiddleware:
    """Returns refused requests to the scheduler, outside RETRY_TIMES and the dupe filter."""

    def __init__(self, crawler: Crawler) -> None:
        if not config.is_enabled(crawler.settings):
            raise NotConfigured
        runtime = Runtime.of(crawler)
        self._crawler = crawler
        self._outage = runtime.outage
        self._statuses = runtime.config.backoff_statuses
        self._is_robots = runtime.robots.is_robots
        self._adjust = crawler.settings.getint("RETRY_PRIORITY_ADJUST")
        self._offline = runtime.robots.offline
        runtime.wire.leaving.append(self._leaves)
        runtime.wire.answered.append(self._answered)

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> PoliteBackoffMiddleware:
        """Make one as Scrapy does."""
        return cls(crawler)

    def process_response(
        self, request: Request, response: Response, spider: Any = None
    ) -> Request | Response:
        """Return the request itself when it was refused and may be repeated."""
        if response.status not in self._statuses or self._is_robots(request):
            return response
        is_cached, meta = "cached" in response.flags, request.meta
        if is_cached and not self._offline and not meta.get("dont_cache"):
            return self._again(request, dont_cache=_UNCACHED)
        if is_cached or meta.get("dont_retry"):
            return response
        return self._again(request, priority=request.priority + self._adjust)

    async def process_exception(
        self, request: Request, exception: Exception, spider: Any = None
    ) -> Request | None:
        """Return a request to its queue when the fault was ours: that spends no retry."""
        if isinstance(exception, _CUT):
            self._outage.forgive(request)
        elif await self._outage.is_ours(request):
            return self._again(request)
        return None

    def _again(self, request: Request, *, priority: int | None = None, **meta: object) -> Request:
        self._crawler.stats.inc_value(stats.BACKOFF_RETURNED)
        kept = {key: value for key, value in request.meta.items() if key != "cached_response"}
        if not request.dont_filter:
            kept[_FILTERED] = True
        again: Request = request.replace(
            dont_filter=True,
            priority=request.priority if priority is None else priority,
            meta=kept | meta,
        )
        return again

    @staticmethod
    def _leaves(request: Request) -> None:
        """Let the dupe filter see where a request that came back redirects to."""
        if request.meta.pop(_FILTERED, False):
            request.dont_filter = False

    def _answered(self, response: Response, request: Request) -> None:
        """Keep a refusal out of HttpCache, and let it have the answer that comes in the end."""
        meta = request.meta
        if response.status in self._statuses:
            meta["dont_cache"] = meta.get("dont_cache") or _UNCACHED
        elif meta.get("dont_cache") == _UNCACHED:
            del meta["dont_cache"]
