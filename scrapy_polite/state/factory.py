"""Which store a crawl has (POLITE_STATE)."""

from __future__ import annotations

import logging
from collections.abc import Callable
from pathlib import Path

from scrapy_polite.policy.delay import DelayRules
from scrapy_polite.state.charge import Charge
from scrapy_polite.state.memory import MemoryStore
from scrapy_polite.state.protocol import PolitenessStore

logger = logging.getLogger(__name__)
REDIS_SCHEMES = ("redis://", "rediss://", "unix://")
FILE_NAME = "polite.db"  # in the JOBDIR


def make_store(
    where: str | None,
    jobdir: str | None,
    *,
    clock: Callable[[], float],
    rules: DelayRules,
    redis_prefix: str,
) -> PolitenessStore:
    """Return the store of a crawl; it is not opened yet.

    Args:
        where: POLITE_STATE: a path, a Redis URL, or None.
        jobdir: JOBDIR, which has a file of its own when there is no POLITE_STATE; None without one.
        clock: our monotonic clock in seconds.
        rules: what a fetch is charged by whose end nobody saw.
        redis_prefix: what keys in Redis begin with.

    Raises:
        ValueError: what the choice needs is not there.
    """
    charge = Charge(factor=rules.factor, least=rules.floor, most=rules.ceiling)
    if where and where.startswith(REDIS_SCHEMES):
        from scrapy_polite.state.redis import RedisStore, Terms

        return RedisStore(where, prefix=redis_prefix, clock=clock, terms=Terms(charge=charge))
    if where or jobdir:
        try:
            return _file(where or Path(jobdir or "", FILE_NAME), clock, charge)
        except ModuleNotFoundError as error:
            return _without_file(where, error, clock)
    return MemoryStore(clock)


def _file(path: str | Path, clock: Callable[[], float], charge: Charge) -> PolitenessStore:
    from scrapy_polite.state.sqlite import LeaseRules, SqliteStore

    return SqliteStore(path, clock=clock, leases=LeaseRules(charge=charge))


def _without_file(
    where: str | None, error: ModuleNotFoundError, clock: Callable[[], float]
) -> PolitenessStore:
    """Do without a state file where there are no file locks (Windows), unless one was asked for."""
    if where:
        raise ValueError(
            f"POLITE_STATE is {where!r}, which needs file locks ({error.name}) that this system "
            "does not have: write a redis:// URL or leave it out."
        ) from None
    logger.warning(
        "No file locks here (%s): clocks and robots.txt copies are not kept in the JOBDIR",
        error.name,
    )
    return MemoryStore(clock)
