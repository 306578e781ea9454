"""The one object that the components of a crawler share.

Middlewares, extensions, the queue and the downloader never import one another; they meet here.  It
is made once per crawler, by whichever component comes first, with or without the add-on.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from scrapy import signals
from scrapy.utils.asyncio import AsyncioLoopingCall, create_looping_call
from scrapy.utils.job import job_dir
from twisted.internet.task import LoopingCall

from scrapy_polite import config, engine
from scrapy_polite.report.paths import Paths, paths
from scrapy_polite.runtime import listing
from scrapy_polite.runtime.grouping import grouping
from scrapy_polite.runtime.lanes import Lanes
from scrapy_polite.runtime.leases import Leases
from scrapy_polite.runtime.outage import Outage
from scrapy_polite.runtime.pages import Pages
from scrapy_polite.runtime.parking import Parking
from scrapy_polite.runtime.robots import Robots
from scrapy_polite.runtime.signing import Signing
from scrapy_polite.runtime.turns import Turns
from scrapy_polite.runtime.undone import Undone
from scrapy_polite.runtime.wire import Wire
from scrapy_polite.signals import polite_host_parked
from scrapy_polite.state.clock import steady
from scrapy_polite.state.factory import make_store
from scrapy_polite.state.protocol import StoreUnavailable

if TYPE_CHECKING:
    from scrapy import Spider
    from scrapy.crawler import Crawler

    from scrapy_polite.config import Config
    from scrapy_polite.state.protocol import Lease, PolitenessStore

logger = logging.getLogger(__name__)
RENEW_EVERY = 60.0  # seconds
LONG_FETCH = 240.0  # seconds; a lease that nobody renews ends after 600
_ATTRIBUTE = "scrapy_polite_runtime"  # of a crawler, so that both are forgotten together


class Runtime:
    """Config, store, turns and robots verdicts of one crawler.

    Args:
        clock: monotonic seconds.
        wall: epoch seconds, for dates in headers only.
    """

    def __init__(
        self,
        crawler: Crawler,
        *,
        clock: Callable[[], float] = steady,
        wall: Callable[[], float] = time.time,
    ) -> None:
        listing.check(crawler.settings)
        self.crawler = crawler
        self.config = _with_spider_floor(config.read(crawler.settings), crawler.spider)
        self.clock = clock
        self.wall = wall
        self.store: PolitenessStore = make_store(
            self.config.state,
            job_dir(crawler.settings),
            clock=clock,
            rules=self.config.rules.delay,
            redis_prefix=self.config.redis_prefix,
        )
        self.lanes = Lanes(obey=self.config.obey_robots, grouping=grouping(self.config.group_by))
        self.robots = Robots(crawler, self.config, self.lanes, self.store, clock=clock, wall=wall)
        rules = self.config.rules
        self.leases = Leases(
            replace(rules, delay=replace(rules.delay, factor=0.0)),  # until somebody learns
            self.robots.verdicts.crawl_delay_of,
            self.config.slot_floors,
        )
        self.turns = Turns(
            crawler,
            self.lanes,
            self.leases,
            self.store,
            judge=self.robots.verdicts.judge,
            on_robots_turn=self.robots.files.on_turn,
            robots_places=self.robots.files.free_places,
            clock=clock,
        )
        self.robots.work_with(self.turns)
        self.undone = Undone(crawler, self.lanes.group)
        self.turns.turned_away.append(self.undone.sent_away)
        self.pages = Pages(crawler, self.lanes, self.turns, clock)
        self.robots.files.next_page = self.pages.next_of
        limit = self.config.rules.backoff.retry_after_max
        self.wire = Wire(crawler.signals)
        self.outage = Outage(crawler, self.turns, clock)
        self.turns.subscribers.append(self.outage.turn_ended)
        self.wire.leaving.append(self.outage.sent)
        self.wire.heard.append(self.outage.heard)
        self.signing = Signing(crawler, self.config.signer, wall)
        self.wire.leaving.append(self.signing.leaves)
        self.event_log: Path | None = None  # once it is open
        self._renewing: AsyncioLoopingCall | LoopingCall | None = None
        self.parking = Parking(crawler, self.turns, self.pages, self.undone, limit, clock)
        crawler.signals.connect(self.robots.host_parked, polite_host_parked)
        crawler.signals.connect(self._spider_opened, signals.spider_opened)
        crawler.signals.connect(self._spider_closed, signals.spider_closed)

    @classmethod
    def of(cls, crawler: Crawler) -> Runtime:
        """Return the runtime of a crawler, made on first use.

        Raises:
            ValueError: a setting is bad, or half of the components are missing.
        """
        runtime: Runtime | None = getattr(crawler, _ATTRIBUTE, None)
        if runtime is None:
            runtime = cls(crawler)
            setattr(crawler, _ATTRIBUTE, runtime)
        return runtime

    def report_paths(self) -> Paths | None:
        """Return where event log and report go, None when neither is wanted.

        Raises:
            ValueError: the report has an ending that is no format.
        """
        crawler = self.crawler
        return paths(
            self.config.timeline,
            self.config.report,
            resumes=bool(crawler.settings["JOBDIR"]),
            spider=crawler.spider.name if crawler.spider is not None else "",
        )

    async def _spider_opened(self) -> None:
        engine.on_closing(self.crawler, self._stop)
        self.undone.watch()
        try:
            await engine.wait_for(self.store.open())
        except ValueError as error:  # a file of a newer version: nothing can be fetched with it
            logger.error("%s", error)
            engine.spawn(self.crawler.engine.close_spider_async(reason="polite_state"))
        except StoreUnavailable:
            pass  # the pump says so and waits
        # Leases outlast ordinary fetches by themselves, but any request may have a time of its own.
        if self.store.shared:
            self._renewing = create_looping_call(self._renew)
            self._renewing.start(RENEW_EVERY, now=False)

    def _renew(self) -> None:
        """Tell the store that leases long in hand are still in use, however long a fetch takes."""
        held = self.leases.in_hand(since_at=self.clock() - LONG_FETCH)
        if held:
            engine.spawn(self._renew_held(held))

    async def _renew_held(self, held: list[Lease]) -> None:
        with suppress(StoreUnavailable):  # the pump says so
            await engine.wait_for(self.store.renew(held))

    async def _spider_closed(self) -> None:
        if self._renewing is not None and self._renewing.running:
            self._renewing.stop()
        with suppress(StoreUnavailable):
            await engine.wait_for(self.store.close())

    def _stop(self) -> None:
        self.outage.stop()
        self.turns.stop()
        self.robots.stop()


def _with_spider_floor(read: Config, spider: Spider | None) -> Config:
    """Heed a spider's ``download_delay``, which Scrapy before 2.17 keeps out of the settings."""
    delay = read.rules.delay
    floor = max(delay.floor, float(getattr(spider, "download_delay", 0.0) or 0.0))
    return replace(read, rules=replace(read.rules, delay=replace(delay, floor=floor)))
