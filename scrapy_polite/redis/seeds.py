"""The seeds of a RedisSpider: taken whenever there are free places, not only when it is idle."""

from __future__ import annotations

import logging
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING

from scrapy.utils.asyncio import call_later

from scrapy_polite.redis.server import make_impatient

with suppress(ImportError):  # of the extra `scrapy-redis`
    from redis.exceptions import RedisError

if TYPE_CHECKING:
    from scrapy import Spider

logger = logging.getLogger(__name__)
EVERY = 1.0  # seconds between looks for seeds, of which nobody says anything


class Seeds:
    """See above.

    Args:
        left: tells how many requests are left.
    """

    def __init__(self, spider: Spider, left: Callable[[], int], clock: Callable[[], float]) -> None:
        self._schedule: Callable[[], None] | None = getattr(spider, "schedule_next_requests", None)
        self._left = left
        self._clock = clock
        self._next_at = 0.0
        if self:
            make_impatient(getattr(spider, "server", None))

    def __bool__(self) -> bool:
        """Return whether the spider is one that has seeds."""
        return self._schedule is not None

    def look(self) -> None:
        """There are free places: take seeds soon, unless there were none a moment ago."""
        if self and self._clock() >= self._next_at:
            self._next_at = self._clock() + EVERY
            call_later(0.0, self._take)

    def stop(self) -> None:
        """Take no more."""
        self._schedule = None

    def _take(self) -> None:
        if self._schedule is None:
            return
        before = self._left()
        try:
            self._schedule()
        except (RedisError, OSError) as error:
            logger.debug("No seeds: %s", error)
        if self._left() > before:
            self._next_at = 0.0  # there may be more
