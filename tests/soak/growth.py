"""Whether what a crawl holds grows: the last third of its samples against the middle third.

Rules: the first third is for warming up.  A crawl of a constant number of hosts and requests holds
a constant number of objects, timers and files; what swings around a mean is let swing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import mean

MIB = 1 << 20
TOLERANCE = {"rss": (0.0, 4 * MIB), "all": (0.02, 1000.0), "files": (0.1, 5.0)}
OF_A_CLASS = (0.2, 20.0)  # objects of one class, and timers
"""By what fraction, and by how many, a mean may be greater than the one before."""
_NOT_HELD = ("at", "requests")

Sample = Mapping[str, float]


def growths(samples: Sequence[Sample]) -> list[str]:
    """Return a line for each thing of which a crawl holds more and more.

    >>> flat = [{"at": n, "rss": 9e7, "app.Turn": 7} for n in range(9)]
    >>> growths(flat)
    []
    >>> growths([{**sample, "app.Turn": 7 + 20 * n} for n, sample in enumerate(flat)])
    ['app.Turn: 87 and then 147 on average']
    """
    third = len(samples) // 3
    middle, last = samples[third : 2 * third], samples[-third:]
    names = sorted({name for sample in samples for name in sample} - set(_NOT_HELD))
    found = []
    for name in names:
        before, after = (mean(s.get(name, 0) for s in part) for part in (middle, last))
        share, number = TOLERANCE.get(name, OF_A_CLASS)
        if after > before * (1 + share) + number:
            found.append(f"{name}: {before:.0f} and then {after:.0f} on average")
    return found


def figures(samples: Sequence[Sample]) -> str:
    """Return a table of some samples: what there was after so many seconds."""
    names = ("at", "requests", "rss", "all", "timers", "files", "scrapy.http.request.Request")
    picked = samples[:: max(len(samples) // 10, 1)]
    rows = [names, *([f"{sample.get(name, 0):.0f}" for name in names] for sample in picked)]
    return "\n".join("  ".join(f"{cell:>10}" for cell in row) for row in rows)
