"""The figures of one host."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from scrapy_polite.report import schema
from scrapy_polite.report.breaches import Breach, breaches
from scrapy_polite.report.spans import gaps, most_at_once, share
from scrapy_polite.report.tally import History


@dataclass(frozen=True, slots=True)
class WaitSum:
    """Waits of one reason."""

    count: int
    seconds: float


@dataclass(frozen=True, slots=True)
class HostFigures:
    """One host in figures; see `spans` for how they are measured.

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
    fetches = history.fetches()
    between = list(gaps(fetches))
    return HostFigures(
        host=history.host,
        fetches=len(fetches),
        pages=history.fetched(schema.PAGE),
        robots=history.fetched(schema.ROBOTS),
        media=history.fetched(schema.MEDIA),
        busy=sum(end - start for start, end in fetches),
        share=share(fetches),
        most_at_once=most_at_once(fetches),
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
        breaches=breaches(history, fetches, between, resumed_at),
    )
