"""AutoThrottle's place: learns how long fetches take and sets the delays that follow.

AUTOTHROTTLE_ENABLED, _START_DELAY, _MAX_DELAY, _TARGET_CONCURRENCY and _DEBUG, the meta key
``autothrottle_dont_adjust_delay`` and a readable ``slot.delay`` keep their meaning.  The rule is in
`policy.delay`; it is applied at the end of each fetch, after success and failure alike.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from scrapy.extensions.throttle import AutoThrottle

from scrapy_polite import config, engine, stats
from scrapy_polite.policy.host import Outcome
from scrapy_polite.policy.origin import host_of
from scrapy_polite.runtime.runtime import Runtime

if TYPE_CHECKING:
    from scrapy.crawler import Crawler

    from scrapy_polite.runtime.leases import TurnEnded

logger = logging.getLogger(__name__)


class PoliteThrottle:
    """Publishes each host's delay and counts the reasons of waits."""

    def __init__(self, crawler: Crawler) -> None:
        self._crawler, self._stats = crawler, crawler.stats
        self._debug = crawler.settings.getbool("AUTOTHROTTLE_DEBUG")
        runtime = Runtime.of(crawler)
        runtime.leases.rules = runtime.config.rules  # with the factor; without us floors count
        runtime.turns.subscribers.append(self._turn_ended)

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> PoliteThrottle | AutoThrottle:
        """Make one as Scrapy does; Scrapy's own, whose place it has, when the pack is off."""
        return cls(crawler) if config.is_enabled(crawler.settings) else AutoThrottle(crawler)

    def _turn_ended(self, ended: TurnEnded) -> None:
        count, turn = self._stats.inc_value, ended.turn
        if ended.nameless:
            return
        count(stats.WAIT_REASON.format(reason=turn.reason))
        count(stats.WAIT_SECONDS, turn.wait)  # type: ignore[arg-type]  # any number will do
        if turn.capped:
            count(stats.WAIT_CAPPED)
        if ended.outcome is Outcome.TROUBLED:
            count(stats.TROUBLE)
        slot = engine.slot_of(self._crawler, ended.request)
        if slot is None:
            return
        if ended.request.meta["download_slot"] == host_of(ended.request.url):
            slot.delay = turn.state.delay or 0.0  # of hosts that share one, none holds up the rest
        if self._debug and ended.response is not None:
            self._log(ended)

    def _log(self, ended: TurnEnded) -> None:
        delay = ended.turn.state.delay or 0.0
        logger.info(
            "slot: %(slot)s | conc:%(concurrency)2d | delay:%(delay)5d ms (%(delaydiff)+d) | "
            "latency:%(latency)5d ms | size:%(size)6d bytes",
            {
                "slot": ended.request.meta.get("download_slot"),
                "concurrency": 1,
                "delay": delay * 1000,
                "delaydiff": (delay - (ended.lease.state.delay or 0.0)) * 1000,
                "latency": ended.duration * 1000,
                "size": len(ended.response.body) if ended.response is not None else 0,
            },
            extra={"spider": self._crawler.spider},
        )
