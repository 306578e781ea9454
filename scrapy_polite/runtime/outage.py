"""When the fault is ours: nothing goes out but a probe now and then, and no host is blamed.

`policy.outage` tells when; here the turns are frozen and thawed, the hosts' states from before are
put back, and one line says so.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import TYPE_CHECKING

from scrapy.utils.asyncio import CallLaterResult, call_later

from scrapy_polite import stats
from scrapy_polite.policy.outage import OutageWatch

if TYPE_CHECKING:
    from scrapy.crawler import Crawler

    from scrapy_polite.policy.host import HostState
    from scrapy_polite.runtime.leases import TurnEnded
    from scrapy_polite.runtime.turns import Turns

logger = logging.getLogger(__name__)


class Outage:
    """Freezes the turns while nobody can be reached."""

    def __init__(self, crawler: Crawler, turns: Turns, clock: Callable[[], float]) -> None:
        self._crawler = crawler
        self._turns = turns
        self._clock = clock
        self._watch = OutageWatch()
        self._before: dict[str, HostState] = {}  # states of the hosts that failed, from before
        self._timer: CallLaterResult | None = None

    @property
    def is_on(self) -> bool:
        """Whether nothing goes out right now."""
        return self._watch.is_outage

    def turn_ended(self, ended: TurnEnded) -> None:
        """Take note of how a fetch ended."""
        host = ended.lease.host
        if ended.response is not None:
            self._before.clear()
            if self._watch.answered(host):
                logger.info("Somebody answers again: the crawl goes on")
                self._turns.thaw()
            return
        self._before.setdefault(host, ended.lease.state)
        began = self._watch.failed(host, self._clock())
        if began:
            self._crawler.stats.inc_value(stats.OUTAGES)
            logger.warning(
                "No answer from %s, one after the other: the fault seems to be ours. "
                "Nothing goes out but a probe now and then, and no host is blamed",
                ", ".join(sorted(self._watch.streak)),
            )
            self._turns.freeze()
        if self.is_on:
            self._turns.leases.restore(self._before)
            self._probe_later()

    def stop(self) -> None:
        """Cancel the timer."""
        if self._timer is not None:
            self._timer.cancel()
        self._timer = None

    def _probe_later(self) -> None:
        self.stop()
        delay = max(self._watch.probe_at - self._clock(), 0.0)
        self._timer = call_later(delay, self._probe)

    def _probe(self) -> None:
        self._timer = None
        if self.is_on:
            self._turns.probe()
