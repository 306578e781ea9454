"""What is known of each origin's robots.txt, and what that means for its pages right now.

It decides and never waits.  Bodies stay in the store; parsed files are kept for the origins in use
and parsed again when one comes back.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from scrapy_polite.frontier.hosts import NEVER, Openness
from scrapy_polite.policy import absence
from scrapy_polite.policy import robots_cache as cache
from scrapy_polite.policy.absence import Absence
from scrapy_polite.policy.robots_cache import Ages, RobotsRecord, Standing
from scrapy_polite.runtime.lanes import CLOCKLESS, Lanes

if TYPE_CHECKING:
    from typing import TypeAlias

    from scrapy import Request
    from scrapy.robotstxt import RobotParser
    from twisted.internet.defer import Deferred

    Waiter: TypeAlias = tuple[Request, Deferred[None]]

PARSERS_KEPT = 4096  # parsed files; the least used go first
PARSED_BYTES = 33_554_432  # of those files together; parsed, a file takes up to ten times its size
_SAYS_MORE_FOR = 3600.0  # seconds for which a Crawl-delay, or a hold, outlasts its record
_SWEEP_LEAST = 4096  # origins; with more, those whose word has lapsed are forgotten now and then


@dataclass(slots=True)
class Entry:
    """What we know of one origin.

    Args:
        host: host key of the origin.
        record: the last word, without its body; None before the first.
        fetching: whether robots.txt is being fetched.
        held_until_at: until when pages are held while the file is unreachable.
        unused: whether nobody went by the record yet; then it counts once, fresh or not.
        crawl_delay: what the file asks for in seconds.
        absence: set while nobody serves the origin and no copy of its file is at hand.
        waiting: the requests that wait, each with what fires when the verdict changes.
    """

    host: str
    record: RobotsRecord | None = None
    fetching: bool = False
    held_until_at: float = NEVER
    unused: bool = False
    crawl_delay: float = 0.0
    absence: Absence | None = None
    waiting: list[Waiter] = field(default_factory=list)


class Verdicts:
    """Entries by origin, and parsed files.

    Args:
        hold: how long pages wait for an unreachable file, in seconds.
        offline: whether HttpCache answers for the pages, and most of them never go out.
    """

    def __init__(self, lanes: Lanes, ages: Ages, hold: float, *, offline: bool = False) -> None:
        self._lanes = lanes
        self._ages = ages
        self._hold = hold
        self._offline = offline
        self._entries: dict[str, Entry] = {}
        self._asking: dict[str, set[str]] = {}  # host key -> its origins with a crawl delay
        self._sweep_at = _SWEEP_LEAST
        self._parsers: OrderedDict[str, tuple[Any, int]] = OrderedDict()  # and octets of the file
        self._parsed_bytes = 0
        self._awaited: set[str] = set()  # origins whose verdict somebody waits for

    def judge(self, lane: str, now: float) -> tuple[Openness, float]:
        """Return whether pages of a lane may leave their queue, and until when that stands.

        Offline they may, unless something that goes out waits for the verdict: then it is needed.
        """
        if lane == CLOCKLESS:
            return Openness.FREE, NEVER
        if self._lanes.needs_no_verdict(lane) or (self._offline and lane not in self._awaited):
            return Openness.OPEN, NEVER
        return self.judge_origin(lane, now)

    def judge_origin(self, origin: str, now: float) -> tuple[Openness, float]:
        """Return whether an origin may be asked for pages, and until when that stands."""
        entry = self._entries.get(origin)
        if entry is None:
            return Openness.NEEDS_ROBOTS, NEVER
        if entry.fetching:
            return Openness.HELD, NEVER
        if entry.absence is not None:
            again_at = entry.absence.again_at
            return (Openness.FREE, again_at) if now < again_at else (Openness.NEEDS_ROBOTS, NEVER)
        record = entry.record
        if record is None:
            return Openness.NEEDS_ROBOTS, NEVER
        if cache.standing(record, now, self._ages) is Standing.UNREACHABLE:
            return _judge_unreachable(record, entry.held_until_at, now)
        if not cache.is_due(record, now):
            return Openness.OPEN, record.fresh_until_at
        # A delay longer than the freshness must not have the file fetched for ever.
        return (Openness.OPEN, now) if entry.unused else (Openness.NEEDS_ROBOTS, NEVER)

    def entry(self, origin: str, host: str, now: float) -> Entry:
        """Return what is known of an origin, to add to it."""
        entry = self._entries.get(origin)
        if entry is None:
            if len(self._entries) >= self._sweep_at:
                self._sweep(now)
            entry = self._entries[origin] = Entry(host)
        return entry

    def standing(self, origin: str, now: float) -> Standing:
        """Return what stands for an origin, fresh or not."""
        entry = self._entries.get(origin)
        return cache.standing(entry.record if entry else None, now, self._ages)

    def adopt(self, origin: str, entry: Entry, record: RobotsRecord, now: float) -> None:
        """Take a record as the last word on an origin."""
        entry.record = replace(record, body=b"")
        entry.absence = None
        entry.unused = True
        if record.unreachable_since_at is None:
            entry.held_until_at = NEVER
        elif entry.held_until_at == NEVER:
            entry.held_until_at = now + self._hold

    def found_nobody(self, entry: Entry, error: Exception, now: float, retries: int) -> None:
        """Nobody serves an origin; so many tries may follow the first one at once."""
        entry.absence = absence.tried(entry.absence, error, now=now, retries=retries)

    def absence(self, origin: str) -> Absence | None:
        """Return what is known of an origin that nobody serves, None of any other."""
        entry = self._entries.get(origin)
        return None if entry is None else entry.absence

    def last_answer(self, origin: str) -> str:
        """Return in words what came of an origin's robots.txt the last time."""
        record = self._entries[origin].record
        status = record.status if record is not None else None
        return "no answer" if status is None else f"status {status}"

    def used(self, origin: str) -> None:
        """Somebody goes by the record of an origin."""
        self._entries[origin].unused = False

    def hear_crawl_delay(self, origin: str, entry: Entry, delay: float) -> None:
        """Keep what an origin's file asks for in seconds; 0 when it asks for nothing."""
        entry.crawl_delay = delay
        origins = self._asking.setdefault(entry.host, set())
        (origins.add if delay > 0 else origins.discard)(origin)
        if not origins:
            del self._asking[entry.host]

    def crawl_delay_of(self, host: str) -> float:
        """Return the most that the files of a host ask for, in seconds."""
        origins = self._asking.get(host, ())
        return max((self._entries[origin].crawl_delay for origin in origins), default=0.0)

    def parser(self, origin: str) -> RobotParser | None:
        """Return an origin's parsed file, None when it is not kept."""
        if origin not in self._parsers:
            return None
        self._parsers.move_to_end(origin)
        parser: RobotParser = self._parsers[origin][0]
        return parser

    def keep_parser(self, origin: str, parser: RobotParser, size_bytes: int) -> None:
        """Keep a parsed file, which has so many octets."""
        self._parsed_bytes += size_bytes - self._parsers.pop(origin, (None, 0))[1]
        self._parsers[origin] = parser, size_bytes
        while len(self._parsers) > PARSERS_KEPT or self._parsed_bytes > PARSED_BYTES:
            self._parsed_bytes -= self._parsers.popitem(last=False)[1][1]

    def lost(self, origin: str) -> None:
        """The store keeps an origin's file no longer: it is to be asked for again."""
        entry = self._entries.get(origin)
        if entry is not None:  # else it was forgotten while the store was asked
            entry.record = None

    def wait(self, origin: str, host: str, now: float, waiter: Waiter) -> None:
        """Somebody waits for the verdict of an origin."""
        self.entry(origin, host, now).waiting.append(waiter)
        self._awaited.add(origin)

    def gives_up(self, origin: str, waiter: Waiter) -> None:
        """One of those who wait for a verdict waits no more, if it still does."""
        entry = self._entries.get(origin)
        if entry is None or waiter not in entry.waiting:
            return
        entry.waiting.remove(waiter)
        if not entry.waiting:
            self._awaited.discard(origin)

    def no_longer_waiting(self, origin: str) -> list[Waiter]:
        """Return who waits for the verdict of an origin, and waits no more."""
        self._awaited.discard(origin)
        entry = self._entries.get(origin)
        if entry is None:
            return []
        waiting, entry.waiting = entry.waiting, []
        return waiting

    def awaited(self, host: str) -> list[str]:
        """Return the origins of a host whose verdict somebody waits for."""
        return [origin for origin in self._awaited if self._entries[origin].host == host]

    def clear_waiting(self) -> list[Deferred[None]]:
        """Return all that waits for a verdict; it waits no more."""
        origins = list(self._awaited)
        return [told for origin in origins for _, told in self.no_longer_waiting(origin)]

    def _sweep(self, now: float) -> None:
        lapsed = [origin for origin, entry in self._entries.items() if _is_lapsed(entry, now)]
        for origin in lapsed:
            self.hear_crawl_delay(origin, self._entries[origin], 0.0)
            del self._entries[origin]
        self._sweep_at = max(_SWEEP_LEAST, 2 * len(self._entries))


def _is_lapsed(entry: Entry, now: float) -> bool:
    """Return whether nobody has wanted an origin since its record ran out."""
    if entry.fetching or entry.waiting:
        return False
    if entry.absence is not None:
        return now - entry.absence.again_at >= _SAYS_MORE_FOR
    record = entry.record
    if record is None:
        return True
    says_more = entry.crawl_delay > 0 or record.unreachable_since_at is not None
    return now - record.fresh_until_at >= (_SAYS_MORE_FOR if says_more else 0.0)


def _judge_unreachable(
    record: RobotsRecord, held_until_at: float, now: float
) -> tuple[Openness, float]:
    retry_at = record.fresh_until_at
    if now < held_until_at:
        if now >= retry_at:
            return Openness.NEEDS_ROBOTS, held_until_at
        return Openness.HELD, min(retry_at, held_until_at)
    drop_until_at = max(retry_at, held_until_at + cache.RETRY_FIRST)
    return (Openness.FREE, drop_until_at) if now < drop_until_at else (Openness.NEEDS_ROBOTS, NEVER)
