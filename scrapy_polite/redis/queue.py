"""The queue of scrapy-redis, split by host: requests come out with their hosts' turns.

Rules:

- `pop` gives requests of hosts that are due, for as many as there are free places, and None while
  all wait; the engine is woken when the next one may be ready.
- A page whose origin has no verdict yet goes back, and its turn is used for the robots.txt; so a
  page holds no place while it waits, and of all workers one asks for the file.
- While the server is not there nothing is popped, and what is pushed is kept here until it is.
- There is work left until the last worker is done with the last request.
"""

from __future__ import annotations

import logging
from collections import deque
from typing import TYPE_CHECKING, Any

from redis.exceptions import RedisError
from scrapy import Request, signals
from scrapy.exceptions import DontCloseSpider
from scrapy.utils.asyncio import CallLaterResult, call_later, create_looping_call
from scrapy_redis.queue import Base

from scrapy_polite import engine
from scrapy_polite.frontier.hosts import Openness
from scrapy_polite.redis.shelf import Shelf, Taken, make_impatient
from scrapy_polite.runtime.runtime import Runtime
from scrapy_polite.state.protocol import Lease, StoreUnavailable
from scrapy_polite.state.redis import RedisStore

if TYPE_CHECKING:
    from scrapy import Spider

logger = logging.getLogger(__name__)
_LOOK_MOST = 5.0  # seconds until the next look, when nobody says that there is something
_SEEDS_EVERY = 1.0  # seconds between looks for seeds; nobody says when there are some
_AGAIN = 1.0  # seconds until a server that was not there is asked again


class PoliteQueue(Base):  # type: ignore[misc]
    """SCHEDULER_QUEUE_CLASS of scrapy-redis; see the rules above."""

    def __init__(self, server: Any, spider: Spider, key: str, serializer: Any = None) -> None:
        super().__init__(server, spider, key, serializer)
        self._crawler = spider.crawler
        runtime = Runtime.of(self._crawler)
        self._turns, self._robots, self._lanes = runtime.turns, runtime.robots, runtime.lanes
        self._store, self._clock = _store_of(runtime), runtime.clock
        self._shelf = Shelf(runtime.config.state or "", self.key, self._store)
        if not self._shelf.is_on(server):
            raise ValueError(
                "REDIS_URL and POLITE_STATE are not the same Redis database: "
                "the queue and the turns of its hosts have to be on one."
            )
        self._left = len(self._shelf)
        self._ready: deque[Taken] = deque()
        self._mine: dict[Request, str] = {}
        self._timer: CallLaterResult | None = None
        self._entering = self._closing = self._failing = False
        seeds_server = getattr(spider, "server", None)
        if seeds_server is not None:
            make_impatient(seeds_server)
        self._has_seeds = hasattr(spider, "schedule_next_requests")  # as a RedisSpider has
        self._seeds_at = 0.0
        runtime.pages.add_queue(self)
        self._turns.subscribers.append(
            lambda ended: self._shelf.turn_ended(ended.lease.host, ended.turn.wait)
        )
        self._heart = create_looping_call(self._beat)
        self._crawler.signals.connect(self._opened, signals.spider_opened)
        self._crawler.signals.connect(self._closed, signals.spider_closed)
        self._crawler.signals.connect(self._idle, signals.spider_idle)

    def __len__(self) -> int:
        return self._left

    def push(self, request: Request) -> None:
        """Queue a request at its host."""
        host = self._lanes.lane_of(request).host
        self._shelf.push(host, -request.priority, self._encode_request(request))
        self._left += 1

    def pop(self, timeout: float = 0) -> Request | None:
        """Return the next request with its turn, None while all hosts wait."""
        if self._closing or not self._shelf.flush():
            return None
        while True:
            if not self._ready and not self._take(self._turns.page_places()):
                return None
            while self._ready:
                request = self._hand_out(self._ready.popleft())
                if request is not None:
                    return request

    def clear(self) -> None:
        """Drop all requests, unless other workers are at it."""
        others = self._shelf.clear()
        if others:
            logger.info("%d other workers are at it: the queue stays", others)
        else:
            self._left = 0

    # what `Pages` asks of a queue; ours hands its pages out itself

    def has_lane(self, lane: str) -> bool:
        """Return False: no lane is taken from here."""
        return False

    # asking the server

    def _take(self, limit: int) -> bool:
        """Take requests; return whether there are any."""
        if limit <= 0:
            return False
        self._note_done()
        try:
            answer = self._shelf.take(limit)
        except StoreUnavailable as error:
            self._note(error)
            self._wake_in(_AGAIN)
            return False
        self._note(None)
        if answer is None:
            self._enter()
            return False
        self._left = answer.left
        if answer.back:
            logger.warning("%d requests of a worker that is gone are back", answer.back)
        self._ready.extend(answer.taken)
        if len(answer.taken) < limit:
            look = _LOOK_MOST if answer.next_look is None else answer.next_look
            self._wake_in(min(look, _SEEDS_EVERY if self._has_seeds else _LOOK_MOST))
            self._look_for_seeds()
        return bool(answer.taken)

    def _beat(self) -> None:
        """Show that we are alive, also while there is no free place."""
        if self._closing:
            return
        self._note_done()
        try:
            answer = self._shelf.take(0)
            if answer is None:
                self._enter()
            else:
                self._left = answer.left
        except StoreUnavailable as error:
            self._note(error)

    def _note_done(self) -> None:
        done = [r for r in self._mine if not engine.in_progress(self._crawler, r)]
        self._shelf.done(self._mine.pop(request) for request in done)

    def _note(self, error: StoreUnavailable | None) -> None:
        if (error is not None) is self._failing:
            return
        self._failing = error is not None
        if error is not None:
            logger.error("No request until the queue's server answers: %s", error)
        else:
            logger.info("The queue's server answers again")

    def _enter(self) -> None:
        if not self._entering:
            self._entering = True
            engine.spawn(self._entered())

    async def _entered(self) -> None:
        try:
            await engine.wait_for(self._store.open())
            self._wake_in(0.0)
        except StoreUnavailable as error:
            self._note(error)
            self._wake_in(_AGAIN)
        finally:
            self._entering = False

    # handing out

    def _hand_out(self, taken: Taken) -> Request | None:
        request, lease = self._decode_request(taken.request), taken.lease
        if lease is None:
            return self._given(request, taken)
        if lease.host in self._turns.parked:
            self._put_back(taken, lease, self._turns.parked[lease.host])
            return None
        lane, now = self._lanes.lane_of(request).key, self._clock()
        openness, until_at = Openness.OPEN, now
        if not self._lanes.needs_no_verdict(lane):
            openness, until_at = self._robots.verdicts.judge(lane, now)
        if openness is Openness.OPEN:
            self._turns.lend(request, lease)
            return self._given(request, taken)
        if openness is Openness.FREE:
            self._turns.pump.give_back(lease)
            return self._given(request, taken)
        if openness is Openness.HELD or self._robots.free_places() <= 0:
            self._put_back(taken, lease, min(until_at, now + _AGAIN))
            return None
        self._shelf.put_back([taken])
        self._robots.on_turn(lane, lease)
        return None

    def _given(self, request: Request, taken: Taken) -> Request:
        self._mine[request] = taken.number
        return request

    def _put_back(self, taken: Taken, lease: Lease, until_at: float) -> None:
        self._shelf.put_back([taken], max(until_at - self._clock(), 0.0))
        self._turns.pump.give_back(lease)

    # seeds

    def _look_for_seeds(self) -> None:
        """Have a RedisSpider take seeds while there are free places, not only when it is idle."""
        if self._has_seeds and self._clock() >= self._seeds_at:
            self._seeds_at = self._clock() + _SEEDS_EVERY
            call_later(0.0, self._take_seeds)

    def _take_seeds(self) -> None:
        if self._closing:
            return
        before = self._left
        try:
            self.spider.schedule_next_requests()
        except (RedisError, OSError) as error:
            logger.debug("No seeds: %s", error)
        if self._left > before:
            self._seeds_at = 0.0

    # waking up, and the end

    def _wake_in(self, seconds: float) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = call_later(seconds, self._wake)

    def _wake(self) -> None:
        self._timer = None
        engine.wake(self._crawler)

    def _opened(self) -> None:
        self._heart.start(self._store.session.wire.terms.heartbeat, now=False)
        self._store.session.listen(self._shelf.channel, lambda: engine.wake(self._crawler))
        engine.on_closing(self._crawler, self._stop)

    def _idle(self) -> None:
        if self._failing:
            raise DontCloseSpider("There may be more requests on the queue's server")

    def _stop(self) -> None:
        self._closing = True
        if self._timer is not None:
            self._timer.cancel()
        self._heart.stop()
        ready, self._ready = list(self._ready), deque()
        for taken in ready:
            if taken.lease is not None:
                self._turns.pump.give_back(taken.lease)
        if ready:
            self._shelf.put_back(ready)

    def _closed(self) -> None:
        self._shelf.flush()
        self._shelf.leave()


def _store_of(runtime: Runtime) -> RedisStore:
    store = runtime.store
    if not isinstance(store, RedisStore):
        raise ValueError(
            "SCHEDULER_QUEUE_CLASS is scrapy_polite.redis.PoliteQueue, which needs the turns of "
            "hosts beside the queue: set POLITE_STATE to what REDIS_URL is."
        )
    if runtime.config.group_by == "ip":
        raise ValueError(
            "POLITE_GROUP_BY is 'ip', which scrapy_polite.redis.PoliteQueue cannot do: "
            "write 'host' or 'domain'."
        )
    return store
