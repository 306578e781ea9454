"""The queue of scrapy-redis, split by host: requests come out with their hosts' turns.

Rules:

- `pop` gives requests of hosts that are due, for as many as there are free places, and None while
  all wait.
- A page whose origin has no verdict yet goes back, and its turn is used for the robots.txt; so a
  page holds no place while it waits, and of all workers one asks for the file.
- While the server is not there nothing is popped, and what is pushed is kept here until it is.
- There is work left until the last worker is done with the last request, but what is left of
  parked hosts keeps no worker: it is as idle as with an empty queue.
- A RedisSpider takes seeds whenever there are free places, not only when it is idle.
"""

from __future__ import annotations

import logging
import pickle
from collections import deque
from collections.abc import Mapping
from contextlib import suppress
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from scrapy import Request, signals
from scrapy.exceptions import DontCloseSpider
from scrapy.utils.asyncio import call_later
from scrapy.utils.request import request_from_dict

from scrapy_polite import engine, stats
from scrapy_polite.frontier.hosts import Openness
from scrapy_polite.redis.checks import check_database, store_of
from scrapy_polite.redis.seeds import EVERY, Seeds
from scrapy_polite.redis.shelf import Shelf, Taken
from scrapy_polite.redis.supply import Supply
from scrapy_polite.runtime.runtime import Runtime
from scrapy_polite.state.protocol import Lease, StoreUnavailable

if TYPE_CHECKING:
    from scrapy import Spider

    from scrapy_polite.config import Config

logger = logging.getLogger(__name__)
_LOOK_EVERY = 5.0  # seconds between looks at a queue of which nobody says that there is something
_HELD = 1.0  # seconds until a lane that cannot go yet is looked at again
_PARKED = 60.0  # seconds for which others can have a host that we ask no more


class PoliteQueue:
    """SCHEDULER_QUEUE_CLASS of scrapy-redis; see the rules above.

    Args:
        server: the Redis client of scrapy-redis.
        key: what all keys of the queue begin with; ``%(spider)s`` is the spider's name.
        serializer: has `loads` and `dumps` of requests as dicts; None for pickle.

    Raises:
        ValueError: POLITE_STATE is not the Redis database that the queue is on.
    """

    def __init__(self, server: Any, spider: Spider, key: str, serializer: Any = None) -> None:
        self._spider = spider
        self._crawler = spider.crawler
        self._serializer = serializer or pickle
        runtime = Runtime.of(self._crawler)
        store = store_of(runtime)
        self._turns, self._robots, self._lanes = runtime.turns, runtime.robots, runtime.lanes
        self._clock = runtime.clock
        key = key % {"spider": spider.name}
        self._shelf = Shelf(runtime.config.state or "", key, store)
        check_database(self._shelf.server, server)
        self.outbox = self._shelf.outbox
        self._is_sending = False
        self._seeds = Seeds(spider, self.__len__, self._clock)
        look_every = EVERY if self._seeds else _LOOK_EVERY
        self._undone = runtime.undone
        self._supply = Supply(self._crawler, self._shelf, store, look_every, self._undone.is_kept)
        self._undone.keepers.append(self._supply.has)
        self._ready: deque[Taken] = deque()
        self._is_closing = False
        self._is_stuck = False
        self._longest = _longest_wait(runtime.config)
        runtime.pages.add_queue(self)
        runtime.parking.queued = self._shelf.queued
        runtime.parking.nothing_else = self._nothing_else
        self._turns.subscribers.append(
            lambda ended: self._shelf.turn_ended(ended.lease.host, ended.turn.wait)
        )
        connect = self._crawler.signals.connect
        connect(self._opened, signals.spider_opened)
        connect(self._closed, signals.spider_closed)
        connect(self._idle, signals.spider_idle)

    def __len__(self) -> int:
        """Return how many requests no worker is done with."""
        return self._supply.left

    def push(self, request: Request) -> None:
        """Queue a request at its host."""
        octets = self._serializer.dumps(request.to_dict(spider=self._spider))
        lane, mark = self._lanes.lane_of(request), self.outbox.mark_of(request)
        is_full = self.outbox.put(lane, -request.priority, octets, mark)
        self._supply.left += 1
        if is_full:
            self._send()
        elif not self._is_sending:
            self._is_sending = True
            call_later(0.0, self._send)

    def pop(self, timeout: float = 0) -> Request | None:
        """Return the next request with its turn, None while all hosts wait."""
        self._undone.between_pages()
        if self._is_closing:
            return None
        if self._ready and self._turns.page_places() <= 0:  # an outage began
            self._return_ready()
        while True:
            if not self._ready:
                self._ready.extend(self._supply.take(self._turns.page_places()))
            if not self._ready:
                self._seeds.look()
                return None
            request = self._hand_out(self._ready.popleft())
            if request is not None:
                return request

    def clear(self) -> None:
        """Drop all requests, unless other workers are at it."""
        self._send()
        others = self._shelf.clear()
        if others:
            logger.info("%d other workers are at it: the queue stays", others)
        else:
            self._supply.left = 0

    # what `Pages` asks of a queue that keeps its requests by lane; this one hands them out itself

    lanes: Mapping[str, object] = MappingProxyType({})

    def pop_lane(self, lane: str) -> Request | None:
        """Return None."""

    def peek_lane(self, lane: str) -> Request | None:
        """Return None."""

    def priority_of(self, lane: str) -> int:
        """Return 0."""
        return 0

    def _send(self) -> None:
        self._is_sending = False
        with suppress(StoreUnavailable):  # then with the next question
            self.outbox.send()

    # handing out

    def _hand_out(self, taken: Taken) -> Request | None:
        """Return a request if it may go now; else it goes back, or away if it cannot be read."""
        lease = taken.lease
        try:
            told = self._serializer.loads(taken.request)
            request = request_from_dict(told, spider=self._spider)
        except Exception as error:  # a serializer raises whatever it meets
            logger.error("A request of %s cannot be read and is dropped: %s", taken.host, error)
            self._crawler.stats.inc_value(stats.QUEUE_UNREADABLE)
            self._shelf.done([taken.number])
            if lease is not None:
                self._turns.pump.give_back(lease)
            return None
        if lease is not None and not self._may_go(request, taken, lease):
            return None
        self._supply.given(request, taken)
        return request

    def _may_go(self, request: Request, taken: Taken, lease: Lease) -> bool:
        """Give a request its turn, or use the turn otherwise."""
        lane, now = self._lanes.lane_of(request).key, self._clock()
        if lease.host in self._turns.parked:
            again_at = max(self._turns.parked[lease.host], now + _PARKED)
            return self._put_back(taken, lease, again_at)
        openness, until_at = Openness.OPEN, now
        if not self._lanes.needs_no_verdict(lane):
            openness, until_at = self._robots.verdicts.judge(lane, now)
        if openness is Openness.OPEN:
            self._turns.spend_probe()
            self._turns.lend(request, lease)
        elif openness is Openness.FREE:
            self._turns.pump.give_back(lease)
        elif openness is Openness.HELD or self._robots.files.free_places() <= 0:
            return self._put_back(taken, lease, min(until_at, now + _HELD))
        else:
            self._shelf.put_back([taken])
            self._turns.spend_probe()
            self._robots.files.on_turn(lane, lease, request)
            return False
        return True

    def _put_back(self, taken: Taken, lease: Lease, until_at: float) -> bool:
        self._shelf.put_back([taken], max(until_at - self._clock(), 0.0))
        self._turns.pump.give_back(lease)
        return False

    # the life of the crawl

    def _opened(self) -> None:
        self._supply.start()
        engine.on_closing(self._crawler, self._stop)

    def _idle(self) -> None:
        if self._supply.is_failing:
            raise DontCloseSpider("There may be more requests on the queue's server")

    def _nothing_else(self) -> bool:
        """Return whether all that is left is of parked hosts, also of those that others parked."""
        left = self._shelf.only_parked(self._longest, self._turns.parked)
        if left is not None and not self._is_stuck:
            logger.warning(
                "Only parked hosts are left: %d, with %d requests that stay queued; the first may "
                "be asked again in %.0f s",
                *left,
            )
        self._is_stuck = left is not None
        return self._is_stuck

    def _stop(self) -> None:
        self._is_closing = True
        self._supply.stop()
        self._seeds.stop()
        self._return_ready()

    def _return_ready(self) -> None:
        ready, self._ready = list(self._ready), deque()
        for taken in ready:
            if taken.lease is not None:
                self._turns.pump.give_back(taken.lease)
        if ready:
            self._shelf.put_back(ready)

    def _closed(self) -> None:
        self._send()
        self._supply.settle()
        self._shelf.leave()


def _longest_wait(config: Config) -> float:
    """Return the longest that a host can wait which is not parked, in seconds."""
    delay, backoff = config.rules.delay, config.rules.backoff
    longest = max(delay.floor, delay.ceiling, config.crawl_delay_max, backoff.maximum)
    return max((1.0 + delay.jitter) * longest, backoff.retry_after_max)
