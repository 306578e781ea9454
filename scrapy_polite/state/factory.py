"""Which store a crawl has (POLITE_STATE)."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from scrapy_polite.state.memory import MemoryStore
from scrapy_polite.state.protocol import PolitenessStore

REDIS_SCHEMES = ("redis://", "rediss://", "unix://")
FILE_NAME = "polite.db"  # in the JOBDIR


def make_store(
    where: str | None, jobdir: str | None, clock: Callable[[], float], redis_prefix: str
) -> PolitenessStore:
    """Return the store of a crawl; it is not opened yet.

    Args:
        where: POLITE_STATE: a path, a Redis URL, or None.
        jobdir: JOBDIR, which has a file of its own when there is no POLITE_STATE; None without one.
        clock: our monotonic clock in seconds.
        redis_prefix: what keys in Redis begin with.
    """
    if where and where.startswith(REDIS_SCHEMES):
        from scrapy_polite.state.redis import RedisStore

        return RedisStore(where, prefix=redis_prefix, clock=clock)
    if where or jobdir:
        from scrapy_polite.state.sqlite import SqliteStore

        return SqliteStore(where or Path(jobdir or "", FILE_NAME), clock=clock)
    return MemoryStore(clock)
