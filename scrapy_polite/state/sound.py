"""Ends of turns that every store can keep and read again.

Rules: a number that no store could keep (NaN, infinite, out of bounds) never reaches one.  What was
learnt with it is set aside with an ERROR, and the host is left alone as long as any fetch can cost.
A host that was kept as due later than any wait of ours ends is left alone for that long as well.
"""

from __future__ import annotations

import logging
import math

from scrapy_polite.policy.backoff import LONGEST_BLOCK
from scrapy_polite.policy.host import HostState
from scrapy_polite.state.charge import Charge
from scrapy_polite.state.packing import check
from scrapy_polite.state.protocol import Lease

logger = logging.getLogger(__name__)
LONGEST = LONGEST_BLOCK  # seconds; jitter and settings included, no wait of ours is longer


def sound(lease: Lease, delay: float, state: HostState, charge: Charge) -> tuple[float, HostState]:
    """Return the delay and state that a turn ends with.

    Args:
        lease: of the turn; its state stands when the new one cannot be kept.
        delay: seconds from now.
        charge: what an end costs that cannot be kept.

    Returns:
        What came when it can be kept, a delay of `LONGEST` in place of a longer one; else the state
        before the turn, and at least the longest charge.
    """
    try:
        if not delay > -math.inf:
            raise ValueError(f"a delay of {delay} s")
    except (TypeError, ValueError) as error:
        set_aside(lease, error, charge)
        return charge.most, lease.state
    delay = min(delay, LONGEST)
    try:
        check(state)
    except (TypeError, ValueError) as error:
        set_aside(lease, error, charge)
        return max(delay, charge.most), lease.state
    return delay, state


def due(due_at: float, now: float, charge: Charge) -> float:
    """Return when a host is due that a store has kept as due at an instant.

    >>> due(1060.0, 1000.0, Charge()), due(1e10, 1000.0, Charge())
    (1060.0, 1600.0)
    """
    return due_at if due_at - now <= LONGEST else now + charge.most


def set_aside(lease: Lease, error: Exception, charge: Charge) -> None:
    """Say that what a turn taught is lost, and what its host is charged instead."""
    logger.error(
        "The end of a turn of %s cannot be stored (%s): the host is left alone for at least %g s",
        lease.host,
        error,
        charge.most,
    )
