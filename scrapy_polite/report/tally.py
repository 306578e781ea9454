"""What an event log adds up to: events go in one by one, in any number, and figures come out.

Per fetch and wait three numbers are kept, per host and origin a few; the lists of URLs are cut at
`LISTED`.  So a million events cost some tens of megabytes.
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from scrapy_polite.report import schema
from scrapy_polite.report.schema import Event

LISTED = 200  # URLs of a list
AGENTS_LISTED = 50  # User-Agents told apart
OTHER_AGENTS = "(others)"
SPANS = (
    schema.PAGE,
    schema.ROBOTS,
    schema.MEDIA,
    "wait",
    "crawl-delay",
    "backoff",
    "held",  # pages wait for a robots.txt that cannot be read
    "parked",
)
"""What a span of time can be; the first three are fetches.  Kept by number."""

FETCHES = SPANS[:3]
_CODES = {name: float(code) for code, name in enumerate(SPANS)}


@dataclass(slots=True)
class Listing:
    """How many there were, and the first `LISTED` of them."""

    count: int = 0
    urls: list[str] = field(default_factory=list)

    def add(self, url: str, count: int = 1) -> None:
        """Count something, and list it while there is room."""
        self.count += count
        if url and len(self.urls) < LISTED:
            self.urls.append(url)


@dataclass(slots=True)
class History:
    """What happened to one host.

    Args:
        spans: start, end and number of `SPANS`, one after the other.
        asked: (when the refusal ended, seconds) of each Retry-After.
        delays: (since when, origin, seconds) of each Crawl-delay that was heard or taken back.
        waits: by reason how many and how many seconds.
        capped: waits that the ceiling cut.
        parked_at: since when it is parked; None: it is not.
        parked_until_at: until when it asked to be left alone; None: it is not parked.
        remains: requests that were queued at the end.
    """

    host: str
    spans: array[float] = field(default_factory=lambda: array("d"))
    asked: list[tuple[float, float]] = field(default_factory=list)
    delays: list[tuple[float, str, float]] = field(default_factory=list)
    waits: dict[str, tuple[int, float]] = field(default_factory=dict)
    capped: int = 0
    refused: int = 0
    troubled: int = 0
    disallowed: int = 0
    unjudged: int = 0
    blocked: int = 0
    released: int = 0
    parked_at: float | None = None
    parked_until_at: float | None = None
    remains: int = 0

    def add(self, start_at: float, end_at: float, what: str) -> None:
        """Add a span of time."""
        self.spans.extend((start_at, end_at, _CODES.get(what, _CODES["wait"])))

    def wait(self, since_at: float, until_at: float, reason: str) -> None:
        """Add a wait that was set, and why."""
        count, seconds = self.waits.get(reason, (0, 0.0))
        self.waits[reason] = count + 1, seconds + until_at - since_at
        self.add(since_at, until_at, reason)

    def every_span(self) -> Iterator[tuple[float, float, int]]:
        """Yield (start, end, number of `SPANS`) in the order of the log."""
        numbers = iter(self.spans)
        for start_at, end_at, code in zip(numbers, numbers, numbers, strict=True):
            yield start_at, end_at, int(code)

    def fetches(self) -> list[tuple[float, float]]:
        """Return (start, end) of all fetches by start."""
        return sorted((start, end) for start, end, code in self.every_span() if code < len(FETCHES))

    def fetched(self, what: str) -> int:
        """Return how many fetches were for pages, robots or media."""
        return self.spans[2::3].count(_CODES[what])


class Tally:
    """The sums of an event log."""

    def __init__(self) -> None:
        self.hosts: dict[str, History] = {}
        self.runs: list[schema.Began] = []
        self.ended: schema.Ended | None = None
        self.cut_off = 0  # runs before the last whose end is not told
        self.overlapping = 0  # runs that begin before the end of those above them
        self.full_at: float | None = None
        self.last_at = 0.0
        self.agents: Counter[tuple[str, str]] = Counter()  # (User-Agent, From)
        self.robots: dict[str, schema.RobotsRead] = {}
        self.dropped: dict[str, Listing] = {}
        self.trespasses = Listing()  # disallowed pages that were fetched

    def add_all(self, events: Iterable[Event]) -> Tally:
        """Add many events; return self."""
        for event in events:
            self.add(event)
        return self

    def add(self, event: Event) -> None:
        """Add an event."""
        self.last_at = max(self.last_at, event.at)
        _WAYS[type(event)](self, event)

    def host(self, name: str) -> History:
        """Return the history of a host."""
        history = self.hosts.get(name)
        if history is None:
            history = self.hosts[name] = History(name)
        return history

    def _began(self, event: schema.Began) -> None:
        self.cut_off += bool(self.runs) and self.ended is None
        self.overlapping += event.at < self.last_at
        self.runs.append(event)
        self.ended = None
        self.dropped.pop(schema.LEFT, None)
        for host in self.hosts.values():  # a new run asks again, and has what was left
            host.parked_at = host.parked_until_at = None
            host.remains = 0

    def _fetched(self, event: schema.Fetched) -> None:
        host = self.host(event.host)
        host.add(event.start_at, event.at, event.what)
        if event.until_at is not None:
            host.wait(event.at, event.until_at, event.reason)
            host.capped += event.capped
        host.refused += event.outcome == "refused"
        host.troubled += event.outcome == "troubled"
        if event.retry_after is not None:
            host.asked.append((event.at, event.retry_after))
        if event.what != schema.ROBOTS:
            host.unjudged += event.verdict is None
            host.disallowed += event.verdict == schema.DISALLOWED
            if event.verdict == schema.DISALLOWED:
                self.trespasses.add(event.url)
        self._count_agent(event)

    def _blocked(self, event: schema.Blocked) -> None:
        host = self.host(event.host)
        host.blocked += 1
        host.add(event.at, event.until_at, "backoff")

    def _released(self, event: schema.Released) -> None:
        self.host(event.host).released += 1

    def _parked(self, event: schema.Parked) -> None:
        host = self.host(event.host)
        host.parked_at, host.parked_until_at = event.at, event.until_at

    def _robots(self, event: schema.RobotsRead) -> None:
        before, host = self.robots.get(event.origin), self.host(event.host)
        self.robots[event.origin] = event
        known = before.crawl_delay if before and before.host == event.host else 0.0
        if event.crawl_delay != known:
            host.delays.append((event.at, event.origin, event.crawl_delay))
            host.add(event.at, event.at + event.crawl_delay, "crawl-delay")
        if event.standing == schema.UNREACHABLE:
            host.add(event.at, event.until_at, "held")

    def _dropped(self, event: schema.Dropped) -> None:
        self.dropped.setdefault(event.reason, Listing()).add(event.url)

    def _remains(self, event: schema.Remains) -> None:
        self.host(event.host).remains = event.count

    def _is_full(self, event: schema.Full) -> None:
        self.full_at = event.at

    def _has_ended(self, event: schema.Ended) -> None:
        self.ended = event

    def _count_agent(self, event: schema.Fetched) -> None:
        run = self.runs[-1] if self.runs else None
        agent, sender = event.user_agent, event.from_address
        if agent is None:
            agent = run.user_agent if run else None
        if sender is None:
            sender = run.from_address if run else None
        key = agent or "", sender or ""
        if key not in self.agents and len(self.agents) >= AGENTS_LISTED:
            key = OTHER_AGENTS, ""
        self.agents[key] += 1


_WAYS: dict[type[Event], Callable[[Tally, Any], None]] = {
    schema.Began: Tally._began,
    schema.Fetched: Tally._fetched,
    schema.Blocked: Tally._blocked,
    schema.Released: Tally._released,
    schema.Parked: Tally._parked,
    schema.RobotsRead: Tally._robots,
    schema.Dropped: Tally._dropped,
    schema.Remains: Tally._remains,
    schema.Full: Tally._is_full,
    schema.Ended: Tally._has_ended,
}
