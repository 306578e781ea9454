"""Robots verdicts of one crawl: what stands for each origin, and who fetches it when.

The frontier asks `judge`; the middleware awaits `parser_for`.  When a host's turn comes and an origin
needs its file, `on_turn` fetches it.  There is one fetch per origin at a time.  While a file is
unreachable its pages are held, after POLITE_ROBOTS_HOLD they are dropped.
"""

from __future__ import annotations

import logging
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from scrapy import signals
from scrapy.utils.asyncio import call_later
from scrapy.utils.defer import maybe_deferred_to_future
from scrapy.utils.misc import build_from_crawler, load_object
from twisted.internet.defer import Deferred

from scrapy_polite import engine, stats
from scrapy_polite.config import Config
from scrapy_polite.exceptions import CrawlStopping, RobotsUnreachable
from scrapy_polite.frontier.hosts import NEVER, Openness
from scrapy_polite.policy import robots_cache as cache
from scrapy_polite.policy.retry_after import retry_after
from scrapy_polite.policy.robots_access import Access
from scrapy_polite.policy.robots_cache import RobotsRecord, Standing
from scrapy_polite.runtime import robots_fetch
from scrapy_polite.runtime.lanes import CLOCKLESS, ROBOTS_META, Lanes
from scrapy_polite.state.protocol import Lease, PolitenessStore, StoreUnavailable

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.robotstxt import RobotParser

    from scrapy_polite.runtime.turns import Turns

logger = logging.getLogger(__name__)
PARSERS_KEPT = 4096  # parsed files; the least used go first and are parsed again when needed
_NOTHING_ALLOWED = b"User-agent: *\nDisallow: /\n"


@dataclass(slots=True)
class _Entry:
    """What we know of one origin; the body stays in the store."""

    host: str
    record: RobotsRecord | None = None
    fetching: bool = False
    held_until_at: float = NEVER
    waiting: list[Deferred[None]] = field(default_factory=list)


class Robots:
    """The verdicts of one crawl; see above."""

    turns: Turns

    def __init__(
        self,
        crawler: Crawler,
        config: Config,
        lanes: Lanes,
        store: PolitenessStore,
        *,
        clock: Callable[[], float],
        wall: Callable[[], float],
    ) -> None:
        self._crawler = crawler
        self._config = config
        self._lanes = lanes
        self._store = store
        self._clock = clock
        self._wall = wall
        self._parser_class: type[RobotParser] = load_object(crawler.settings["ROBOTSTXT_PARSER"])
        self._entries: dict[str, _Entry] = {}
        self._parsers: OrderedDict[str, RobotParser] = OrderedDict()
        self._crawl_delays: dict[str, dict[str, float]] = {}
        self._fetching = 0
        self.cutter = robots_fetch.Cutter()
        crawler.signals.connect(self.cutter.bytes_received, signals.bytes_received)
        crawler.signals.connect(self.cutter.forget, signals.request_left_downloader)

    # what stands

    def judge(self, lane: str, now: float) -> tuple[Openness, float]:
        """Return whether pages of a lane may go, and until when that stands."""
        if lane == CLOCKLESS:
            return Openness.FREE, NEVER
        if self._lanes.needs_no_verdict(lane):
            return Openness.OPEN, NEVER
        entry = self._entries.get(lane)
        if entry is None or entry.record is None:
            needed = entry is None or not entry.fetching
            return (Openness.NEEDS_ROBOTS if needed else Openness.HELD), NEVER
        if entry.fetching:
            return Openness.HELD, NEVER
        record = entry.record
        if cache.standing(record, now, self._config.ages) is not Standing.UNREACHABLE:
            due = cache.is_due(record, now)
            return (Openness.NEEDS_ROBOTS, NEVER) if due else (Openness.OPEN, record.fresh_until_at)
        return _judge_unreachable(record, entry.held_until_at, now)

    def crawl_delay_of(self, host: str) -> float:
        """Return what the robots.txt files of a host ask for, in seconds."""
        delays = self._crawl_delays.get(host)
        return max(delays.values()) if delays else 0.0

    def free_places(self) -> int:
        """Return how many more robots.txt fetches may be in flight."""
        return self._config.robots_concurrency - self._fetching

    @staticmethod
    def is_robots(request: Request) -> bool:
        """Return whether a request is one of our own for a robots.txt."""
        return ROBOTS_META in request.meta

    async def parser_for(self, request: Request) -> RobotParser | None:
        """Wait for the verdict of a request's origin.

        Returns:
            The parser to ask; None when everything is allowed.

        Raises:
            RobotsUnreachable: the file could not be read for POLITE_ROBOTS_HOLD.
            CrawlStopping: the crawl stopped before.
        """
        lane = self._lanes.lane_of(request)
        if lane.key == CLOCKLESS or self._lanes.needs_no_verdict(lane.key):
            return None
        while True:
            openness, until_at = self.judge(lane.key, self._clock())
            if openness is Openness.OPEN:
                return await self._parser(lane.key)
            if openness is Openness.FREE:
                self._crawler.stats.inc_value(stats.ROBOTS_DROPPED)
                raise RobotsUnreachable(
                    f"robots.txt of {lane.key} could not be read for "
                    f"{self._config.robots_hold:g} s"
                )
            await self._change(request, lane.host, lane.key, until_at)

    async def _change(self, request: Request, host: str, origin: str, until_at: float) -> None:
        self.turns.yield_turn(request)  # the robots.txt needs it
        entry = self._entries.setdefault(origin, _Entry(host))
        told: Deferred[None] = Deferred()
        entry.waiting.append(told)
        idle = engine.idle_requests(self._crawler) if self.turns.queues else set()
        idle.add(request)
        timer = None
        if until_at < NEVER:
            timer = call_later(max(until_at - self._clock(), 0.0), self._tell, origin)
        self.turns.ask_robots(host, origin)
        try:
            await maybe_deferred_to_future(told)
        finally:
            idle.discard(request)
            if timer is not None:
                timer.cancel()

    async def _parser(self, origin: str) -> RobotParser | None:
        record = self._entries[origin].record
        stands = cache.standing(record, self._clock(), self._config.ages)
        if stands is Standing.ALLOWED:
            return None
        if stands is Standing.DISALLOWED:
            return self._parse(_NOTHING_ALLOWED)
        parser = self._parsers.get(origin)
        if parser is None:
            kept = await self._store.get_robots(origin)
            parser = self._keep_parser(origin, self._parse(kept.body if kept else b""))
        else:
            self._parsers.move_to_end(origin)
        return parser

    # fetching

    def on_turn(self, origin: str, lease: Lease) -> None:
        """A host's turn is for this origin's robots.txt."""
        entry = self._entries.setdefault(origin, _Entry(lease.host))
        entry.fetching = True
        self._fetching += 1
        engine.spawn(self._refresh(origin, entry, lease))

    async def _refresh(self, origin: str, entry: _Entry, lease: Lease) -> None:
        try:
            await self._learn(origin, entry, lease)
        except CrawlStopping:
            pass
        except Exception:
            logger.exception("robots.txt of %s counts as unreachable", origin)
            self._adopt(origin, entry, self._failed(entry.record, origin, None, None))
        finally:
            entry.fetching = False
            self._fetching -= 1
            self._tell(origin)

    async def _learn(self, origin: str, entry: _Entry, lease: Lease) -> None:
        now, config = self._clock(), self._config
        known = await self._store.get_robots(origin)
        if known is not None and not cache.is_due(known, now):
            self.turns.pump.give_back(lease)  # another run or process asked already
            await self._use(origin, entry, known, None)
            return
        answer = await robots_fetch.fetch(
            self._crawler,
            known,
            origin,
            timeout=config.robots_timeout,
            forbidden=config.robots_forbidden,
            begin=lambda request: self.turns.lend(request, lease),
        )
        self._count(answer)
        await self._use(origin, entry, self._record(origin, known, answer), answer)

    def _record(
        self, origin: str, known: RobotsRecord | None, answer: robots_fetch.Answer
    ) -> RobotsRecord:
        if answer.access is Access.UNREACHABLE:
            asked = retry_after(
                answer.headers("Retry-After"), date=answer.header("Date"), now=self._wall()
            )
            return self._failed(known, origin, answer.status, asked)
        now = self._clock()
        fresh = cache.fresh_for(answer.header("Cache-Control"), self._config.ages)
        if answer.access is Access.NOT_MODIFIED and known is not None:
            return cache.confirmed(known, now=now, fresh_for=fresh)
        body = answer.response.body[: robots_fetch.LIMIT_BYTES] if answer.response else b""
        return cache.answered(
            origin,
            answer.access,
            now=now,
            fresh_for=fresh,
            status=answer.status or 0,
            body=body,
            # A validator belongs to the resource that sent it, which after a hop is another one.
            etag=answer.header("ETag") if not answer.hops else None,
            last_modified=answer.header("Last-Modified") if not answer.hops else None,
        )

    def _failed(
        self, known: RobotsRecord | None, origin: str, status: int | None, asked: float | None
    ) -> RobotsRecord:
        return cache.unreachable(
            known, origin, now=self._clock(), status=status, retry_after=asked
        )

    async def _use(
        self,
        origin: str,
        entry: _Entry,
        record: RobotsRecord,
        answer: robots_fetch.Answer | None,
    ) -> None:
        """Take a record as the last word on an origin; its parser goes first, for it may fail."""
        if record.unreachable_since_at is None or record.body:
            parser = self._keep_parser(origin, self._parse(record.body))
            self._hear_crawl_delay(entry.host, origin, parser)
            if answer is not None and answer.response is not None:
                await self._crawler.signals.send_catch_log_async(
                    signal=signals.robots_parsed,
                    robotparser=parser,
                    request=answer.response.request,
                )
        try:
            await self._store.put_robots(record)
        except StoreUnavailable as error:
            logger.error("robots.txt of %s was not stored: %s", origin, error)
        self._adopt(origin, entry, record)

    def _adopt(self, origin: str, entry: _Entry, record: RobotsRecord) -> None:
        entry.record = replace(record, body=b"")
        if record.unreachable_since_at is None:
            entry.held_until_at = NEVER
        elif entry.held_until_at == NEVER:
            entry.held_until_at = self._clock() + self._config.robots_hold

    def _hear_crawl_delay(self, host: str, origin: str, parser: RobotParser) -> None:
        ask: Callable[[str], float | None] = getattr(parser, "crawl_delay", lambda _: None)
        delay = ask(self._config.identity.product_token) or 0.0
        limit = self._config.crawl_delay_max
        if delay > limit:
            logger.warning(
                "Crawl-delay of %s is %g s and is cut to %g s (POLITE_CRAWL_DELAY_MAX)",
                origin,
                delay,
                limit,
            )
        delays = self._crawl_delays.setdefault(host, {})
        delays[origin] = min(max(delay, 0.0), limit)
        if not any(delays.values()):
            del self._crawl_delays[host]
        elif delay > 0:
            self.turns.pump.push_back(host, delays[origin])

    def _parse(self, body: bytes) -> RobotParser:
        parser: RobotParser = build_from_crawler(self._parser_class, self._crawler, body)
        return parser

    def _keep_parser(self, origin: str, parser: RobotParser) -> RobotParser:
        self._parsers[origin] = parser
        self._parsers.move_to_end(origin)
        if len(self._parsers) > PARSERS_KEPT:
            self._parsers.popitem(last=False)
        return parser

    def _tell(self, origin: str) -> None:
        entry = self._entries[origin]
        waiting, entry.waiting = entry.waiting, []
        self.turns.judged(entry.host, origin)
        for told in waiting:
            told.callback(None)

    def stop(self) -> None:
        """Send everything that waits for a verdict away."""
        for entry in self._entries.values():
            waiting, entry.waiting = entry.waiting, []
            for told in waiting:
                told.errback(CrawlStopping("The crawl stops"))

    def _count(self, answer: robots_fetch.Answer) -> None:
        count: Callable[[str], Any] = self._crawler.stats.inc_value
        count("robotstxt/request_count")
        count(stats.ROBOTS_ACCESS.format(access=answer.access.value))
        if answer.status is not None:
            count("robotstxt/response_count")
            count(f"robotstxt/response_status_count/{answer.status}")
        elif answer.error is not None:
            count(f"robotstxt/exception_count/{type(answer.error)}")


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
