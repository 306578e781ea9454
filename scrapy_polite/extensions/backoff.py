"""The signal handler that turns a 429 or 503 into a block of its host.

It reads Retry-After, and on request RateLimit headers; the ladder is in `policy.backoff`.  When all
that is left to fetch is of parked hosts, it ends the run with the reason ``polite_parked``.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING
from urllib.parse import urljoin

from scrapy import signals
from scrapy.exceptions import NotConfigured

from scrapy_polite import config, engine, stats
from scrapy_polite.policy.ratelimit import spacing
from scrapy_polite.policy.retry_after import retry_after
from scrapy_polite.runtime.parking import REASON
from scrapy_polite.runtime.runtime import Runtime

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.http import Response

logger = logging.getLogger(__name__)
HOP_WAIT_MAX = 60.0  # seconds; of a Retry-After on a redirect


class PoliteBackoff:
    """Blocks a host that refused, for as long as it asked or as the ladder says."""

    def __init__(self, crawler: Crawler) -> None:
        if not config.is_enabled(crawler.settings):
            raise NotConfigured
        self._crawler = crawler
        runtime = self._runtime = Runtime.of(crawler)
        self._statuses = runtime.config.backoff_statuses
        runtime.turns.subscribers.append(runtime.parking.turn_ended)
        crawler.signals.connect(self._answered, signals.response_downloaded)
        crawler.signals.connect(self._nothing_to_do, signals.scheduler_empty)
        crawler.signals.connect(self._closed, signals.spider_closed)

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> PoliteBackoff:
        """Make one as Scrapy does."""
        return cls(crawler)

    def _answered(self, response: Response, request: Request) -> None:
        if response.status in self._statuses:
            self._runtime.leases.refused(request, self._asked(response))
            self._crawler.stats.inc_value(stats.BACKOFF_REFUSALS)
            self._crawler.stats.inc_value(stats.BACKOFF_STATUS.format(status=response.status))
        elif 300 <= response.status < 400:
            self._wait_before_hop(request, response)
        if self._runtime.config.ratelimit_headers:
            self._slow_down(request, response)

    def _asked(self, response: Response) -> float | None:
        headers = response.headers
        values, date = headers.getlist("Retry-After"), headers.get("Date")
        return retry_after(values, date=date, now=self._runtime.wall()) if values else None

    def _wait_before_hop(self, request: Request, response: Response) -> None:
        """Have the next hop wait as a redirect's Retry-After asks.

        Source: RFC 9110 section 10.2.3.
        """
        asked, location = self._asked(response), response.headers.get("Location")
        if asked is None or location is None:
            return
        try:
            onward = urljoin(request.url, location.decode("latin-1"))
        except ValueError:  # no URL at all
            return
        host = self._runtime.lanes.group(onward)
        if host is not None:
            self._runtime.turns.pump.push_back(host, min(asked, HOP_WAIT_MAX))

    def _slow_down(self, request: Request, response: Response) -> None:
        def header(name: str) -> str:
            return b", ".join(response.headers.getlist(name)).decode("latin-1")

        wait = spacing(header, self._runtime.wall())
        host = self._runtime.lanes.group(request.url)
        if wait is not None and host is not None:
            self._runtime.turns.pump.push_back(host, wait)

    def _nothing_to_do(self) -> None:
        """End the run when all that is left is of parked hosts and nobody wants it to go on."""
        crawler, spider = self._crawler, self._crawler.spider
        if spider is None or not self._is_stuck():
            return
        reason = engine.reason_to_close(crawler, spider, REASON)
        # A handler of spider_idle may have found more to do.
        if reason is not None and self._is_stuck():
            engine.spawn(crawler.engine.close_spider_async(reason=reason))

    def _is_stuck(self) -> bool:
        return self._runtime.parking.only_parked_left() and engine.is_idle_but_for_scheduler(
            self._crawler
        )

    def _closed(self) -> None:
        parking = self._runtime.parking
        if parking.parked:
            self._crawler.stats.set_value(stats.BACKOFF_PARKED_LEFT, parking.left())
            logger.warning("Parked hosts:\n%s", parking.table())
