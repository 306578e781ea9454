"""The figures of one host, and where the waits that it was promised were cut short.

- *Wait*: from the end of a fetch to the start of the next one.  The fetch before is the one that
  ended last; the wait is 0 when the next one starts before that.  robots.txt counts as any fetch.
- *Wait / fetch*: the wait over the duration of the fetch before.  Promised: 10.
- *Share*: seconds of fetches over seconds from the start of the first fetch to the start of the
  last one, the wait after which is not known.  Promised: 1/11.  Parallel fetches count each.
- *Most at once*: fetches in flight at one instant.  Promised: 1.
- A wait may be `ROUNDING` short.  Where a resumed run went on with the wall clock it may be
  `RESUMING` short.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from scrapy_polite.report import schema
from scrapy_polite.report.tally import History

FACTOR = 10.0
ROUNDING = 0.001  # seconds
RESUMING = 1.0  # seconds
AT_ONCE, SHARE, TEN_TIMES = "one-at-a-time", "share", "ten-times"
CRAWL_DELAY, RETRY_AFTER, DISALLOWED = "crawl-delay", "retry-after", "disallowed"

Span = tuple[float, float]
Slack = Callable[[float, float], float]


class Gap(NamedTuple):
    """Two fetches of a host, one after the other: duration and end of one, start of the next."""

    duration: float
    ended_at: float
    next_at: float

    @property
    def wait(self) -> float:
        """Seconds between the two."""
        return max(self.next_at - self.ended_at, 0.0)


@dataclass(frozen=True, slots=True)
class Breach:
    """How often a host was not treated as promised, and the first time in words."""

    count: int
    at: float
    first: str


@dataclass(frozen=True, slots=True)
class WaitSum:
    """Waits of one reason."""

    count: int
    seconds: float


@dataclass(frozen=True, slots=True)
class HostFigures:
    """One host in figures; see above.

    Args:
        busy: seconds of fetches.
        share: None before there were two fetches.
        least_ratio: least wait / fetch; None likewise.
        least_wait: in seconds; None likewise.
        waits: waits that were set, by reason.
        capped: waits that the ceiling cut.
        refused: fetches that were refused.
        asked: the longest Retry-After in seconds; 0 for none.
        crawl_delay: the longest Crawl-delay in seconds; 0 for none.
        disallowed: pages fetched although robots.txt disallows them.
        unjudged: pages fetched without a robots.txt to ask.
        parked_until_at: None when it is not parked.
        remains: requests left at the end.
        breaches: what was not kept, by promise.
    """

    host: str
    fetches: int = 0
    pages: int = 0
    robots: int = 0
    media: int = 0
    busy: float = 0.0
    share: float | None = None
    most_at_once: int = 0
    least_ratio: float | None = None
    least_wait: float | None = None
    waits: dict[str, WaitSum] = field(default_factory=dict)
    capped: int = 0
    refused: int = 0
    troubled: int = 0
    blocked: int = 0
    asked: float = 0.0
    crawl_delay: float = 0.0
    disallowed: int = 0
    unjudged: int = 0
    parked_until_at: float | None = None
    remains: int = 0
    breaches: dict[str, Breach] = field(default_factory=dict)


def figures(history: History, resumed_at: Sequence[float] = ()) -> HostFigures:
    """Return the figures of a host.

    Args:
        resumed_at: when runs after the first began.
    """

    def slack(ended_at: float, next_at: float) -> float:
        return RESUMING if any(ended_at < at <= next_at for at in resumed_at) else ROUNDING

    fetches = history.fetches()
    between = list(gaps(fetches))
    most = most_at_once(fetches)
    return HostFigures(
        host=history.host,
        fetches=len(fetches),
        pages=history.fetched(schema.PAGE),
        robots=history.fetched(schema.ROBOTS),
        media=history.fetched(schema.MEDIA),
        busy=sum(end - start for start, end in fetches),
        share=share(fetches),
        most_at_once=most,
        least_ratio=min((gap.wait / max(gap.duration, 1e-6) for gap in between), default=None),
        least_wait=min((gap.wait for gap in between), default=None),
        waits={reason: WaitSum(*waits) for reason, waits in history.waits.items()},
        capped=history.capped,
        refused=history.refused,
        troubled=history.troubled,
        blocked=history.blocked,
        asked=max((seconds for _, seconds in history.asked), default=0.0),
        crawl_delay=max((seconds for _, _, seconds in history.delays), default=0.0),
        disallowed=history.disallowed,
        unjudged=history.unjudged,
        parked_until_at=history.parked_until_at,
        remains=history.remains,
        breaches=dict(_breaches(history, fetches, between, most, slack)),
    )


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
    busy, seconds = _occupied(fetches)
    return busy / seconds


def _occupied(fetches: Sequence[Span]) -> tuple[float, float]:
    """Return seconds of fetches, and the seconds in which they were; see *share* above."""
    last_at = fetches[-1][0]
    return sum(min(end, last_at) - start for start, end in fetches), last_at - fetches[0][0]


def _breaches(
    history: History, fetches: list[Span], between: list[Gap], most: int, slack: Slack
) -> Iterator[tuple[str, Breach]]:
    if most > 1:
        early = [gap for gap in between if gap.next_at < gap.ended_at]
        at = early[0].next_at if early else fetches[0][0]
        yield AT_ONCE, Breach(max(len(early), 1), at, f"{most} fetches in flight at once")
    if between:
        busy, seconds = _occupied(fetches)
        seconds_at_most = seconds + sum(slack(gap.ended_at, gap.next_at) for gap in between)
        if busy * (FACTOR + 1) > seconds_at_most:
            words = f"occupied for {busy:.3g} of {seconds:.3g} s"
            yield SHARE, Breach(1, fetches[0][0], words)
    yield from _short(TEN_TIMES, between, lambda gap: FACTOR * gap.duration, slack)
    if history.delays:
        in_force = _in_force(history.delays)
        yield from _short(CRAWL_DELAY, between, lambda gap: in_force(gap.next_at), slack)
    yield from _too_early(history, fetches, slack)
    if history.disallowed:
        words = "pages fetched that robots.txt disallows"
        yield DISALLOWED, Breach(history.disallowed, fetches[0][0], words)


def _short(
    promise: str, between: list[Gap], owed: Callable[[Gap], float], slack: Slack
) -> Iterator[tuple[str, Breach]]:
    """Yield the breach when waits are shorter than what is owed."""
    short = [gap for gap in between if gap.wait < owed(gap) - slack(gap.ended_at, gap.next_at)]
    if short:
        gap = short[0]
        words = f"{gap.wait:.3g} s after a fetch of {gap.duration:.3g} s, not {owed(gap):.3g} s"
        yield promise, Breach(len(short), gap.next_at, words)


def _in_force(delays: Sequence[tuple[float, str, float]]) -> Callable[[float], float]:
    """Return what tells the Crawl-delay of a host at an instant: the most of its origins."""
    known: dict[str, float] = {}
    since, most = [], []
    for at, origin, seconds in delays:
        known[origin] = seconds
        since.append(at)
        most.append(max(known.values()))

    def in_force(at: float) -> float:
        number = bisect_left(since, at)
        return most[number - 1] if number else 0.0

    return in_force


def _too_early(
    history: History, fetches: list[Span], slack: Slack
) -> Iterator[tuple[str, Breach]]:
    """Yield the breach when fetches came before a Retry-After was over."""
    starts = [start for start, _ in fetches]
    early = []
    for ended_at, seconds in history.asked:
        number = bisect_left(starts, ended_at)
        if number < len(starts):
            wait = starts[number] - ended_at
            if wait < seconds - slack(ended_at, starts[number]):
                early.append((starts[number], wait, seconds))
    if early:
        at, wait, seconds = early[0]
        words = f"{wait:.3g} s after a Retry-After of {seconds:g} s"
        yield RETRY_AFTER, Breach(len(early), at, words)
