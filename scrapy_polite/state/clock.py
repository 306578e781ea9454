"""The clock of instants that outlive a process: monotonic seconds that read like epoch seconds.

Rules: it never goes back and never jumps in a process, whatever is done to the wall clock.  Its
instants are positive, those of earlier runs too, so that 0.0 can mean never.
"""

from __future__ import annotations

import time

_AHEAD = time.time() - time.monotonic()


def steady() -> float:
    """Return the instant: epoch seconds as of the start of this process, counted on from there.

    >>> steady() <= steady()
    True
    """
    return _AHEAD + time.monotonic()
