"""When a host that nobody serves is asked again: where no server is, no robots.txt can say wait.

A name that cannot be resolved, or a connection that is refused, is tried as often as any request.
Then it is given up, once for all that waits for it, and asked again for what comes later: after
five minutes, then after twice as long each time, up to an hour.
"""

from __future__ import annotations

from dataclasses import dataclass

AGAIN_FIRST = 300.0  # seconds
AGAIN_MAX = 3600.0  # seconds


@dataclass(frozen=True, slots=True)
class Absence:
    """Nobody is there.

    Args:
        error: what came of the last try.
        tries: how many there were, one after the other.
        again_at: not before this instant it is tried again; what comes before fails with the error.
    """

    error: Exception
    tries: int
    again_at: float


def tried(before: Absence | None, error: Exception, *, now: float, retries: int) -> Absence:
    """Return what stands after a try that found nobody.

    Args:
        before: what stood before; None when this is the first try in a row.
        retries: how many tries may follow the first one at once.

    >>> first = tried(None, OSError(), now=0.0, retries=1)
    >>> second = tried(first, OSError(), now=1.0, retries=1)
    >>> third = tried(second, OSError(), now=301.0, retries=1)
    >>> first.again_at, second.again_at, third.again_at
    (0.0, 301.0, 901.0)
    """
    tries = 1 if before is None else before.tries + 1
    rung = tries - 1 - retries  # 0 when it is given up for the first time
    wait = 0.0 if rung < 0 else min(AGAIN_FIRST * 2.0 ** min(rung, 16), AGAIN_MAX)
    return Absence(error, tries, now + wait)
