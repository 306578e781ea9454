"""Hosts that are blocked or parked, and who is told.

A parked host is not asked again in this run: it asked for longer than POLITE_RETRY_AFTER_MAX, or
refused too often in a row.  Its requests stay queued, the others finish, and then the run ends with
the reason ``polite_parked``.

Each event is one line in the log, whatever text a site or a spider has a part in.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from itertools import islice
from typing import TYPE_CHECKING

from scrapy_polite import engine, signals, stats
from scrapy_polite.policy.host import Outcome
from scrapy_polite.runtime.lanes import ROBOTS_META
from scrapy_polite.runtime.telling import one_line, shown

if TYPE_CHECKING:
    from scrapy.crawler import Crawler

    from scrapy_polite.runtime.leases import TurnEnded
    from scrapy_polite.runtime.pages import Pages
    from scrapy_polite.runtime.turns import Turns
    from scrapy_polite.runtime.undone import Undone

logger = logging.getLogger(__name__)
REASON = "polite_parked"  # of the run's end
_LISTED = 100  # hosts
_FAR = 3e9  # seconds; nobody cares what is later


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
        undone: Undone,
        limit: float,
        clock: Callable[[], float],
    ) -> None:
        self._crawler = crawler
        self._turns = turns
        self._pages = pages
        self._undone = undone
        self._limit = limit
        self._clock = clock
        turns.pump.denied = self._denied
        # A queue that keeps its requests elsewhere has answers of its own.
        self.queued: Callable[[str], int] = turns.frontier.queued
        self.nothing_else: Callable[[], bool] = self._nothing_else

    @property
    def parked(self) -> dict[str, float]:
        """Parked host keys, and until when (our monotonic clock) they asked to be left alone."""
        return self._turns.parked

    def turn_ended(self, ended: TurnEnded) -> None:
        """Tell of a refusal, park the host when it was one too many, tell of a release."""
        host, turn = ended.lease.host, ended.turn
        if ended.outcome is Outcome.REFUSED:
            status = ended.response.status if ended.response is not None else None
            self._block(host, turn.wait, _refusal(ended), status, park=turn.state.backoff.parked)
        elif ended.outcome is Outcome.ANSWERED and ended.lease.state.backoff.refusals:
            self._count(stats.BACKOFF_RELEASED)
            self._send(signals.polite_host_released, host=host)
            logger.info("%s answers again", host)

    def block(self, host: str, seconds: float, reason: str) -> None:
        """Leave a host alone because a user asked for it."""
        self._turns.pump.push_back(host, seconds)
        for lease in [lease for lease in self._turns.granted if lease.host == host]:
            self._turns.granted.remove(lease)
            self._turns.pump.give_back(lease)
        self._block(host, seconds, one_line(reason), None, park=seconds > self._limit)

    def left(self) -> int:
        """Return how many requests of parked hosts are queued."""
        return sum(map(self.queued, self.parked))

    def sent_away(self) -> int:
        """Return how many requests of parked hosts were not queued and could not be sent."""
        return sum(map(self._undone.at_host, self.parked))

    def only_parked_left(self) -> bool:
        """Return whether all that is queued is of parked hosts."""
        return self.nothing_else()

    def table(self) -> str:
        """Return a table of parked hosts, until when, and how many requests are left."""
        lines = [f"{'host':<40} {'not before':<20} {'requests left':>13}"]
        for host, until_at in islice(self.parked.items(), _LISTED):
            until, name = _shown(until_at - self._clock()), one_line(host)
            left = self.queued(host) + self._undone.at_host(host)
            lines.append(f"{name:<40} {until:<20} {left:>13}")
        if len(self.parked) > _LISTED:
            lines.append(f"... and {len(self.parked) - _LISTED:,} more")
        return "\n".join(lines)

    def _nothing_else(self) -> bool:
        return bool(self.parked) and sum(map(len, self._pages.queues)) == self.left()

    def _denied(self, host: str, seconds: float) -> None:
        """The store remembers a wait that is too long for one run."""
        if seconds > self._limit and host not in self.parked:
            self._park(host, seconds, "asked for it in an earlier run or process")

    def _block(
        self, host: str, seconds: float, reason: str, status: int | None, *, park: bool
    ) -> None:
        self._count(stats.BACKOFF_BLOCKED)
        self._send(
            signals.polite_host_blocked, host=host, seconds=seconds, reason=reason, status=status
        )
        if park or host in self.parked:
            self._park(host, seconds, reason)
            return
        held = self.queued(host)
        logger.info(
            "%s is left alone for %.0f s: %s (requests waiting: %d)", host, seconds, reason, held
        )

    def _park(self, host: str, seconds: float, reason: str) -> None:
        until_at = self._clock() + seconds
        if host in self.parked:
            self.parked[host] = max(self.parked[host], until_at)
            return
        self._turns.park(host, until_at)
        self._count(stats.BACKOFF_PARKED)
        self._send(signals.polite_host_parked, host=host, seconds=seconds, reason=reason)
        logger.warning(
            "%s is parked, this run does not ask it again: %s (not before %s)",
            host,
            reason,
            _shown(seconds),
        )
        engine.wake(self._crawler)  # nothing else may be left to do

    def _count(self, name: str) -> None:
        self._crawler.stats.inc_value(name)

    def _send(self, signal: object, **details: object) -> None:
        self._crawler.signals.send_catch_log(signal, spider=self._crawler.spider, **details)


def _refusal(ended: TurnEnded) -> str:
    status = ended.response.status if ended.response is not None else "a refusal"
    what = "robots.txt, " if ROBOTS_META in ended.request.meta else ""
    return one_line(f"{status} for {what}{shown(ended.request.url)}")


def _shown(seconds: float) -> str:
    """Return the local time so many seconds from now."""
    at = time.localtime(time.time() + min(seconds, _FAR))
    return time.strftime("%Y-%m-%d %H:%M:%S", at)
