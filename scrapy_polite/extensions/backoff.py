"""The signal handler that turns a 429 or 503 into a block of its host."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from scrapy import signals
from scrapy.exceptions import NotConfigured

from scrapy_polite import config, stats
from scrapy_polite.policy.host import Outcome
from scrapy_polite.policy.retry_after import retry_after
from scrapy_polite.runtime.runtime import Runtime

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.http import Response

    from scrapy_polite.runtime.leases import TurnEnded

logger = logging.getLogger(__name__)


class PoliteBackoff:
    """Blocks a host that refused, for as long as it asked or as the ladder says."""

    def __init__(self, crawler: Crawler) -> None:
        if not config.is_enabled(crawler.settings):
            raise NotConfigured
        runtime = Runtime.of(crawler)
        self._crawler = crawler
        self._leases = runtime.leases
        self._wall = runtime.wall
        self._statuses = runtime.config.backoff_statuses
        runtime.turns.subscribers.append(self._turn_ended)
        crawler.signals.connect(self._answered, signals.response_downloaded)

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> PoliteBackoff:
        """Make one as Scrapy does."""
        return cls(crawler)

    def _answered(self, response: Response, request: Request) -> None:
        if response.status not in self._statuses:
            return
        headers = response.headers
        asked = retry_after(
            headers.getlist("Retry-After"), date=headers.get("Date"), now=self._wall()
        )
        self._leases.refused(request, asked)
        self._crawler.stats.inc_value(stats.BACKOFF_REFUSALS)
        self._crawler.stats.inc_value(stats.BACKOFF_STATUS.format(status=response.status))

    def _turn_ended(self, ended: TurnEnded) -> None:
        if ended.outcome is Outcome.REFUSED:
            self._crawler.stats.inc_value(stats.BACKOFF_BLOCKED)
            logger.info(
                "%s refused (%s) and is left alone for %.0f s%s",
                ended.lease.host,
                ended.response.status if ended.response is not None else "-",
                ended.turn.wait,
                " as it asked" if ended.retry_after is not None else "",
            )
