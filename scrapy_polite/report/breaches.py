"""Where a host was not treated as promised.

A wait may be `ROUNDING` short.  Where a resumed run went on with the wall clock it may be
`RESUMING` short.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from scrapy_polite.report.spans import Gap, Span, most_at_once, occupied
from scrapy_polite.report.tally import History

FACTOR = 10.0  # promised: a wait of so many times the fetch before
ROUNDING = 0.001  # seconds
RESUMING = 1.0  # seconds
AT_ONCE, SHARE, TEN_TIMES = "one-at-a-time", "share", "ten-times"
CRAWL_DELAY, RETRY_AFTER, DISALLOWED = "crawl-delay", "retry-after", "disallowed"

Slack = Callable[[float, float], float]
"""(end of a fetch, start of the next) -> seconds that the wait may be short."""


@dataclass(frozen=True, slots=True)
class Breach:
    """How often a host was not treated as promised, and the first time in words."""

    count: int
    at: float
    first: str


def breaches(
    history: History,
    fetches: Sequence[Span],
    between: Sequence[Gap],
    resumed_at: Sequence[float] = (),
) -> dict[str, Breach]:
    """Return what was not kept, by promise.

    Args:
        fetches: those of the history by start.
        between: the gaps between them.
        resumed_at: when runs after the first began, in order.
    """

    def slack(ended_at: float, next_at: float) -> float:
        resumed = bisect_right(resumed_at, next_at) > bisect_right(resumed_at, ended_at)
        return RESUMING if resumed else ROUNDING

    usual: Slack = slack if resumed_at else lambda ended_at, next_at: ROUNDING
    return dict(_breaches(history, fetches, between, usual))


def _breaches(
    history: History, fetches: Sequence[Span], between: Sequence[Gap], slack: Slack
) -> Iterator[tuple[str, Breach]]:
    most = most_at_once(fetches)
    if most > 1:
        early = [gap for gap in between if gap.next_at < gap.ended_at]
        at = early[0].next_at if early else fetches[0][0]
        yield AT_ONCE, Breach(max(len(early), 1), at, f"{most} fetches in flight at once")
    if between:
        busy, seconds = occupied(fetches)
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
    promise: str, between: Sequence[Gap], owed: Callable[[Gap], float], slack: Slack
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
    since, most = list[float](), [0.0]
    for at, origin, seconds in delays:
        falls = seconds < known.get(origin, 0.0)
        known[origin] = seconds
        since.append(at)
        most.append(max(known.values()) if falls else max(most[-1], seconds))

    def in_force(at: float) -> float:
        return most[bisect_left(since, at)]

    return in_force


def _too_early(
    history: History, fetches: Sequence[Span], slack: Slack
) -> Iterator[tuple[str, Breach]]:
    """Yield the breach when fetches came before a Retry-After was over."""
    early = []
    for ended_at, seconds in history.asked:
        # Not the refusal itself, which starts then too when it took no time.
        number = bisect_right(fetches, (ended_at, ended_at))
        if number < len(fetches):
            start = fetches[number][0]
            wait = start - ended_at
            if wait < seconds - slack(ended_at, start):
                early.append((start, wait, seconds))
    if early:
        at, wait, seconds = early[0]
        words = f"{wait:.3g} s after a Retry-After of {seconds:g} s"
        yield RETRY_AFTER, Breach(len(early), at, words)
