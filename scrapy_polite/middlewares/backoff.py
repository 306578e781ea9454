"""A refused request goes back to its host's queue: it costs no retry and is not lost.

It sits where it sees a 429 or 503 before RetryMiddleware.  The host's block itself is set by the
`PoliteBackoff` extension, from signals.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from scrapy.exceptions import NotConfigured

from scrapy_polite import config, stats
from scrapy_polite.runtime.runtime import Runtime

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.http import Response


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

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> PoliteBackoffMiddleware:
        """Make one as Scrapy does."""
        return cls(crawler)

    def process_response(
        self, request: Request, response: Response, spider: Any = None
    ) -> Request | Response:
        """Return the request itself when it was refused and may be repeated."""
        if (
            response.status not in self._statuses
            or "cached" in response.flags
            or request.meta.get("dont_retry")
            or self._is_robots(request)
        ):
            return response
        self._crawler.stats.inc_value(stats.BACKOFF_RETURNED)
        again: Request = request.replace(dont_filter=True)
        return again

    def process_exception(
        self, request: Request, exception: Exception, spider: Any = None
    ) -> Request | None:
        """Return a request to its queue when the fault was ours: that spends no retry."""
        went_out = "duration" in request.meta.get("polite", {})
        if not self._outage.is_on or not went_out or self._is_robots(request):
            return None
        self._crawler.stats.inc_value(stats.BACKOFF_RETURNED)
        again: Request = request.replace(dont_filter=True)
        return again
