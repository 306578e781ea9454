"""Hosts that are blocked or parked, and who is told.

A parked host is not asked again in this run: it asked for longer than POLITE_RETRY_AFTER_MAX, or
refused too often in a row.  Its requests stay queued, the others finish, and then the run ends with
the reason ``polite_parked``.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from scrapy_polite import signals, stats
from scrapy_polite.policy.host import Outcome

if TYPE_CHECKING:
    from scrapy.crawler import Crawler

    from scrapy_polite.runtime.leases import TurnEnded
    from scrapy_polite.runtime.pages import Pages
    from scrapy_polite.runtime.turns import Turns

logger = logging.getLogger(__name__)
REASON = "polite_parked"  # of the run's end


class Parking:
    """Blocks and parks hosts; see above.

    Args:
        limit: longest wait in seconds that a run sits out (POLITE_RETRY_AFTER_MAX).
    """

    def __init__(
        self,
        crawler: Crawler,
        turns: Turns,
        pages: Pages,
        limit: float,
        clock: Callable[[], float],
    ) -> None:
        self._crawler = crawler
        self._turns = turns
        self._pages = pages
        self._limit = limit
        self._clock = clock
        turns.pump.denied = self._denied

    @property
    def parked(self) -> dict[str, float]:
        """Parked host keys, and until when (our monotonic clock) they asked to be left alone."""
        return self._turns.parked

    def turn_ended(self, ended: TurnEnded) -> None:
        """Tell of a refusal, park the host when it was one too many, tell of a release."""
        host, turn = ended.lease.host, ended.turn
        if ended.outcome is Outcome.REFUSED:
            status = ended.response.status if ended.response is not None else None
            reason = f"answered {status} to {ended.request.url}"
            self._tell_blocked(host, turn.wait, reason, status)
            if turn.state.backoff.parked:
                self._park(host, turn.wait, reason)
        elif ended.outcome is Outcome.ANSWERED and ended.lease.state.backoff.refusals:
            self._count(stats.BACKOFF_RELEASED)
            self._send(signals.polite_host_released, host=host)
            logger.info("%s answers again", host)

    def block(self, host: str, seconds: float, reason: str) -> None:
        """Leave a host alone because a user asked for it."""
        self._turns.pump.push_back(host, seconds)
        self._tell_blocked(host, seconds, reason, None)
        if seconds > self._limit:
            self._park(host, seconds, reason)

    def only_parked_left(self) -> bool:
        """Return whether all that is queued is of parked hosts."""
        left = sum(map(len, self._pages.queues))
        return bool(self.parked) and left == sum(map(self._turns.frontier.queued, self.parked))

    def table(self) -> str:
        """Return a table of parked hosts, until when, and how many requests are left."""
        now, wall = self._clock(), time.time()
        lines = [f"{'host':<40} {'not before':<20} {'requests left':>13}"]
        for host, until_at in self.parked.items():
            until = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(wall + until_at - now))
            lines.append(f"{host:<40} {until:<20} {self._turns.frontier.queued(host):>13}")
        return "\n".join(lines)

    def _denied(self, host: str, seconds: float) -> None:
        """The store remembers a wait that is too long for one run."""
        if seconds > self._limit:
            self._park(host, seconds, "asked for it in an earlier run or process")

    def _park(self, host: str, seconds: float, reason: str) -> None:
        if host in self.parked:
            return
        self._turns.park(host, self._clock() + seconds)
        self._count(stats.BACKOFF_PARKED)
        self._send(signals.polite_host_parked, host=host, seconds=seconds, reason=reason)
        logger.warning(
            "%s is parked for this run, for it %s; it may be asked again in %.0f s",
            host,
            reason,
            seconds,
        )

    def _tell_blocked(self, host: str, seconds: float, reason: str, status: int | None) -> None:
        self._count(stats.BACKOFF_BLOCKED)
        self._send(
            signals.polite_host_blocked, host=host, seconds=seconds, reason=reason, status=status
        )
        held = self._turns.frontier.queued(host)
        logger.info(
            "%s is left alone for %.0f s, for it %s; requests that wait: %d",
            host,
            seconds,
            reason,
            held,
        )

    def _count(self, name: str) -> None:
        self._crawler.stats.inc_value(name)

    def _send(self, signal: object, **details: object) -> None:
        self._crawler.signals.send_catch_log(signal, spider=self._crawler.spider, **details)
