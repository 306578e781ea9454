"""Robots verdicts of one crawl: who waits for one, and what it is.

The middleware awaits `parser_for`; who waits holds neither turn nor place.  The files come from
`robots_files`, what they mean right now from `verdicts`.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import TYPE_CHECKING

from scrapy.utils.asyncio import call_later
from scrapy.utils.defer import maybe_deferred_to_future
from twisted.internet.defer import Deferred

from scrapy_polite import engine, stats
from scrapy_polite.config import Config
from scrapy_polite.exceptions import CrawlStopping, RobotsUnreachable
from scrapy_polite.frontier.hosts import NEVER, Openness
from scrapy_polite.policy.robots_cache import Standing
from scrapy_polite.runtime import nobody
from scrapy_polite.runtime.given_up import GivenUp
from scrapy_polite.runtime.lanes import CLOCKLESS, ROBOTS_META, Lanes
from scrapy_polite.runtime.robots_files import RobotsFiles
from scrapy_polite.runtime.verdicts import Verdicts
from scrapy_polite.state.protocol import PolitenessStore

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.robotstxt import RobotParser

    from scrapy_polite.runtime.turns import Turns

_NOTHING_ALLOWED = b"User-agent: *\nDisallow: /\n"
_OFFLINE = ("HTTPCACHE_ENABLED", "HTTPCACHE_IGNORE_MISSING")


class _Lost(Exception):
    """The file of an origin is not kept any more."""


class Robots:
    """The verdicts of one crawl; see above."""

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
        # Who sits at a terminal wants to know, not to wait.
        at_terminal = engine.is_at_terminal(crawler)
        self._hold = 0.0 if at_terminal else config.robots_hold
        self._given_up = GivenUp(crawler, at_once=at_terminal)
        self._lanes = lanes
        self._store = store
        self._clock = clock
        # Nothing is fetched that HttpCache does not have: the crawl is replayed.
        self.offline = all(map(crawler.settings.getbool, _OFFLINE))
        self.verdicts = Verdicts(lanes, config.ages, self._hold, offline=self.offline)
        self.at_gate: Callable[[Request], Awaitable[None]] | None = None
        """Judges what goes out, where only some does."""
        self.files = RobotsFiles(
            crawler, config, self.verdicts, store, changed=self._tell, clock=clock, wall=wall
        )

    def work_with(self, turns: Turns) -> None:
        """Get to know the turns, which need us to be made."""
        self._turns = self.files.turns = turns

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
            Exception: what it was that showed that no server is there.
        """
        await self._lanes.settle(request)
        host, lane = self._lanes.lane_of(request)
        if lane == CLOCKLESS or self._lanes.needs_no_verdict(lane):
            return None
        while True:
            openness, until_at = self.verdicts.judge_origin(lane, self._clock())
            if openness is Openness.OPEN:
                self.verdicts.used(lane)
                with suppress(_Lost):
                    return await self._parser(lane)
                continue
            if openness is Openness.FREE:
                raise self._gives_up_page(request, lane)
            await self._change(request, host, lane, until_at)

    def _gives_up_page(self, request: Request, origin: str) -> Exception:
        """Return why a page will not be fetched; it is counted, and told once for its origin."""
        absence = self.verdicts.absence(origin)
        if absence is None:
            self._crawler.stats.inc_value(stats.ROBOTS_DROPPED)
            held = f" for {self._hold:g} s" if self._hold else ""
            why = f"could not be read{held} ({self.verdicts.last_answer(origin)})"
            self._given_up.page(origin, f"its robots.txt {why}")
            return RobotsUnreachable(f"robots.txt of {origin} {why}")
        error, times = absence.error, absence.tries
        if not request.meta.get("retry_times"):  # else it was counted before
            self._crawler.stats.inc_value(stats.ROBOTS_NOBODY)
            what = f"{type(error).__name__}: {error}"
            tried = "once" if times == 1 else f"{times} times"
            self._given_up.page(origin, f"no server is there, tried {tried}: {what}")
        return nobody.bare(error)

    async def _change(self, request: Request, host: str, origin: str, until_at: float) -> None:
        """Wait until the verdict of an origin may have changed, without holding turn or place."""
        self._turns.check(host)
        self._turns.yield_turn(request)  # the robots.txt needs it
        told: Deferred[None] = Deferred()
        self.verdicts.wait(origin, host, self._clock(), (request, told))
        idle = engine.idle_requests(self._crawler) if self._turns.feeds_pages else set()
        idle.add(request)
        timer = None
        if until_at < NEVER:
            timer = call_later(max(until_at - self._clock(), 0.0), self._tell, origin, host)
        self._turns.ask_robots(host, origin)
        try:
            await maybe_deferred_to_future(told)
        finally:
            self.verdicts.gives_up(origin, (request, told))
            idle.discard(request)
            if timer is not None:
                timer.cancel()

    async def _parser(self, origin: str) -> RobotParser | None:
        stands = self.verdicts.standing(origin, self._clock())
        if stands is Standing.ALLOWED:
            return None
        if stands is not Standing.RULES:
            return self.files.parse(_NOTHING_ALLOWED)
        parser = self.verdicts.parser(origin)
        if parser is None:
            kept = await engine.wait_for(self._store.get_robots(origin))
            if kept is None:  # there are more files than the store keeps
                self.verdicts.lost(origin)
                raise _Lost
            parser = self.files.parse(kept.body)
            self.verdicts.keep_parser(origin, parser, len(kept.body))
        return parser

    def _tell(self, origin: str, host: str) -> None:
        waiting = self.verdicts.no_longer_waiting(origin)
        try:
            self._turns.judged(host, origin)
        finally:
            for _, told in waiting:
                told.callback(None)

    def host_parked(self, host: str) -> None:
        """A host is not asked again in this run: who waits for its files finds out."""
        for origin in self.verdicts.awaited(host):
            self._tell(origin, host)

    def stop(self) -> None:
        """Send everything that waits for a verdict away."""
        for told in self.verdicts.clear_waiting():
            self._crawler.stats.inc_value(stats.GATE_STOPPED)
            told.errback(CrawlStopping("The crawl stops"))
