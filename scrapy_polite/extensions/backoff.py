"""The signal handler that turns a 429 or 503 into a block of its host.

It reads Retry-After, and on request RateLimit headers; the ladder is in `policy.backoff`.  When all
that is left to fetch is of parked hosts, queued or sent away at the gate as files are, it ends the
run with the reason ``polite_parked``.
"""

from __future__ import annotations

import logging
from collections import OrderedDict
from typing import TYPE_CHECKING
from urllib.parse import urljoin

from scrapy import signals
from scrapy.exceptions import CloseSpider, NotConfigured

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
HOP_REST = 10.0  # times as long as it waited on another's word, a host does not wait on one again
_RESTS_KEPT = 10_000  # hosts


class PoliteBackoff:
    """Blocks a host that refused, for as long as it asked or as the ladder says."""

    def __init__(self, crawler: Crawler) -> None:
        if not config.is_enabled(crawler.settings):
            raise NotConfigured
        self._crawler = crawler
        runtime = self._runtime = Runtime.of(crawler)
        self._statuses = runtime.config.backoff_statuses
        self._deaf_until_at: OrderedDict[str, float] = OrderedDict()  # hosts, to others' words
        runtime.turns.subscribers.append(runtime.parking.turn_ended)
        runtime.wire.answered.append(self._answered)
        crawler.signals.connect(self._nothing_to_do, signals.scheduler_empty)
        crawler.signals.connect(self._idle, signals.spider_idle)
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

        Its host waits whole, so others may ask that of it now and then only: who redirects to a
        host again and again must not keep us from it.

        Source: RFC 9110 section 10.2.3.
        """
        asked, location = self._asked(response), response.headers.get("Location")
        if asked is None or location is None:
            return
        try:
            onward = urljoin(request.url, location.decode("latin-1"))
        except ValueError:  # no URL at all
            return
        group = self._runtime.lanes.group
        host = group(onward)
        wait = min(asked, HOP_WAIT_MAX)
        if host is None or (host != group(request.url) and not self._is_heard(host, wait)):
            return
        self._runtime.turns.pump.push_back(host, wait)

    def _is_heard(self, host: str, wait: float) -> bool:
        """Return whether a host waits on the word of another one."""
        now, deaf = self._runtime.clock(), self._deaf_until_at
        if now < deaf.get(host, 0.0):
            return False
        deaf[host] = now + (1.0 + HOP_REST) * wait
        deaf.move_to_end(host)
        if len(deaf) > _RESTS_KEPT:
            deaf.popitem(last=False)
        return True

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
        # What costs little first: this is asked at every wake, and parked hosts may be many.
        idle = engine.is_idle_but_for_scheduler(self._crawler)
        return idle and self._runtime.parking.only_parked_left()

    def _idle(self) -> None:
        """Say why the run ends, if it ends now, when parked hosts have what was asked for."""
        if self._runtime.parking.sent_away():
            raise CloseSpider(REASON)

    def _closed(self) -> None:
        parking = self._runtime.parking
        if parking.parked:
            left = parking.left() + parking.sent_away()
            self._crawler.stats.set_value(stats.BACKOFF_PARKED_LEFT, left)
            logger.warning("Parked hosts:\n%s", parking.table())
