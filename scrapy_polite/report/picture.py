"""The rows of the timeline: what each host was doing when, for page and PNG alike.

The busiest hosts come first.  There are at most `SPANS_MAX` spans; when they are used up, the other
hosts have no row, and the picture says how many.  Nothing is drawn after the last event.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from scrapy_polite.report.tally import FETCHES, SPANS, History

SPANS_MAX = 150_000


@dataclass(frozen=True, slots=True)
class Row:
    """One host.

    Args:
        spans: start in milliseconds, length in milliseconds and number of `SPANS`, one after the
            other, by start.
    """

    host: str
    spans: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Picture:
    """The rows of the busiest hosts.

    Args:
        seconds: how long the crawl took.
        kinds: what the numbers of the spans mean.
        left_out: hosts without a row.
    """

    seconds: float
    kinds: tuple[str, ...] = SPANS
    rows: tuple[Row, ...] = ()
    left_out: int = 0

    def __post_init__(self) -> None:
        known = set(range(len(self.kinds)))
        if not all(len(row.spans) % 3 == 0 and known >= {*row.spans[2::3]} for row in self.rows):
            raise ValueError("a row has no such spans")


def picture(histories: Iterable[History], seconds: float, *, spans_max: int = SPANS_MAX) -> Picture:
    """Return the picture of these hosts, of which the first count most."""
    rows, free, left_out = list[Row](), spans_max, 0
    for history in histories:
        spans = _spans(history, seconds)
        free -= len(spans) // 3
        if free < 0:
            left_out += 1
        else:
            rows.append(Row(history.host, spans))
    return Picture(seconds, rows=tuple(rows), left_out=left_out)


def _spans(history: History, seconds: float) -> tuple[int, ...]:
    found = list(history.every_span())
    if history.parked_at is not None:
        found.append((history.parked_at, seconds, SPANS.index("parked")))
    numbers: list[int] = []
    for start_at, end_at, code in sorted(found):
        if start_at >= seconds and SPANS[code] not in FETCHES:
            continue
        start, end = round(start_at * 1000), round(min(end_at, seconds) * 1000)
        numbers += (start, max(end - start, 0), code)
    return tuple(numbers)
