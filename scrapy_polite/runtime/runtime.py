"""The one object that the components of a crawler share.

Middlewares, extensions, the queue and the downloader never import one another; they meet here.  It
is made once per crawler, by whichever component comes first, with or without the add-on.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from scrapy import signals
from scrapy.utils.job import job_dir

from scrapy_polite import config, engine
from scrapy_polite.runtime import listing
from scrapy_polite.runtime.grouping import grouping
from scrapy_polite.runtime.lanes import Lanes
from scrapy_polite.runtime.leases import Leases
from scrapy_polite.runtime.outage import Outage
from scrapy_polite.runtime.pages import Pages
from scrapy_polite.runtime.parking import Parking
from scrapy_polite.runtime.robots import Robots
from scrapy_polite.runtime.turns import Turns
from scrapy_polite.state.factory import make_store
from scrapy_polite.state.protocol import StoreUnavailable

if TYPE_CHECKING:
    from scrapy import Spider
    from scrapy.crawler import Crawler

    from scrapy_polite.config import Config
    from scrapy_polite.state.protocol import PolitenessStore

_runtimes: WeakKeyDictionary[Crawler, Runtime] = WeakKeyDictionary()


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
        clock: Callable[[], float] = time.monotonic,
        wall: Callable[[], float] = time.time,
    ) -> None:
        listing.check(crawler.settings)
        self.crawler = crawler
        self.config = _with_spider_floor(config.read(crawler.settings), crawler.spider)
        self.clock = clock
        self.wall = wall
        self.store: PolitenessStore = make_store(
            self.config.state, job_dir(crawler.settings), clock, self.config.redis_prefix
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
            on_robots_turn=self.robots.on_turn,
            robots_places=self.robots.free_places,
            clock=clock,
        )
        self.robots.turns = self.turns
        self.pages = Pages(crawler, self.lanes, self.turns, clock)
        limit = self.config.rules.backoff.retry_after_max
        self.outage = Outage(crawler, self.turns, clock)
        self.turns.subscribers.append(self.outage.turn_ended)
        self.parking = Parking(crawler, self.turns, self.pages, limit, clock)
        crawler.signals.connect(self._spider_opened, signals.spider_opened)
        crawler.signals.connect(self._spider_closed, signals.spider_closed)

    @classmethod
    def of(cls, crawler: Crawler) -> Runtime:
        """Return the runtime of a crawler, made on first use.

        Raises:
            ValueError: a setting is bad, or half of the components are missing.
        """
        runtime = _runtimes.get(crawler)
        if runtime is None:
            runtime = _runtimes[crawler] = cls(crawler)
        return runtime

    def _spider_opened(self) -> None:
        engine.on_closing(self.crawler, self._stop)

    async def _spider_closed(self) -> None:
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
