"""What is known of robots.txt in a simulated crawl; each host has one origin, of the same name."""

from __future__ import annotations

import math
from array import array

from scrapy_polite.frontier.hosts import NEVER, Openness
from scrapy_polite.policy import robots_cache as cache
from scrapy_polite.policy.host import Outcome
from scrapy_polite.policy.robots_cache import RobotsRecord
from scrapy_polite.simulator.plan import Plan

_FETCHING = math.nan


class Verdicts:
    """Verdicts by number of the host, few octets each."""

    def __init__(self, plan: Plan) -> None:
        self._max_age = plan.ages.max_age
        self._known_until_at = array(
            "d", (NEVER if host.robots_latency is None else 0.0 for host in plan.hosts)
        )
        self._unreachable: dict[int, RobotsRecord] = {}

    def judge(self, origin: str, now: float) -> tuple[Openness, float]:
        """Tell whether pages may go, and until when that stands."""
        number = int(origin)
        known_until_at = self._known_until_at[number]
        if now < known_until_at:
            return Openness.OPEN, known_until_at
        if math.isnan(known_until_at):
            return Openness.HELD, NEVER
        record = self._unreachable.get(number)
        if record is None or cache.is_due(record, now):
            return Openness.NEEDS_ROBOTS, NEVER
        return Openness.HELD, record.fresh_until_at

    def begin(self, number: int) -> None:
        """A robots.txt is being fetched."""
        self._known_until_at[number] = _FETCHING

    def learn(self, number: int, outcome: Outcome, now: float, retry_after: float | None) -> float:
        """A fetch of robots.txt ended; return for how many seconds the pages are held by that."""
        if outcome is Outcome.ANSWERED:
            self._unreachable.pop(number, None)
            self._known_until_at[number] = now + self._max_age
            return 0.0
        self._known_until_at[number] = 0.0
        known = self._unreachable.get(number)
        record = cache.unreachable(
            known, str(number), now=now, status=None, retry_after=retry_after
        )
        self._unreachable[number] = record
        return record.fresh_until_at - now
