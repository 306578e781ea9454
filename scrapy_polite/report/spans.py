"""What can be measured of the fetches of one host.

- *Wait*: from the end of a fetch to the start of the next one.  The fetch before is the one that
  ended last; the wait is 0 when the next one starts before that.  robots.txt counts as any fetch.
- *Share*: seconds of fetches over seconds from the start of the first fetch to the start of the
  last one, the wait after which is not known.  Parallel fetches count each.
- *Most at once*: fetches in flight at one instant.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

Span = tuple[float, float]
"""Start and end of a fetch."""


class Gap(NamedTuple):
    """Two fetches of a host, one after the other: duration and end of one, start of the next."""

    duration: float
    ended_at: float
    next_at: float

    @property
    def wait(self) -> float:
        """Seconds between the two."""
        return max(self.next_at - self.ended_at, 0.0)


def gaps(fetches: Iterable[Span]) -> Iterator[Gap]:
    """Yield what lies between fetches, given by start.

    >>> [gap.wait for gap in gaps([(0, 1), (11, 12), (11.5, 13)])]
    [10, 0.0]
    """
    before: Span | None = None
    for start, end in fetches:
        if before is not None:
            yield Gap(before[1] - before[0], before[1], start)
        if before is None or end > before[1]:
            before = start, end


def most_at_once(fetches: Iterable[Span]) -> int:
    """Return the greatest number of fetches in flight at one instant.

    >>> most_at_once([(0, 2), (1, 3), (2, 4)])
    2
    """
    most = now = 0
    edges = ((at, step) for start, end in fetches for at, step in ((start, 1), (end, -1)))
    for _, step in sorted(edges):  # at one instant, ends (-1) come before starts
        now += step
        most = max(most, now)
    return most


def share(fetches: Sequence[Span]) -> float | None:
    """Return the share of time in which a host was occupied; None when that is not known.

    >>> share([(0, 1), (11, 15)])
    0.09090909090909091
    """
    if len(fetches) < 2 or fetches[-1][0] <= fetches[0][0]:
        return None
    busy, seconds = occupied(fetches)
    return busy / seconds


def occupied(fetches: Sequence[Span]) -> tuple[float, float]:
    """Return seconds of fetches, and the seconds in which they were, as *share* has them."""
    last_at = fetches[-1][0]
    return sum(min(end, last_at) - start for start, end in fetches), last_at - fetches[0][0]
