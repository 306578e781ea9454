"""Turns: everything that wants to fetch gets its host's turn here, and gives it back.

Pages come out of the scheduler with their turn (`pop`), other requests wait at the gate (`take`), and
robots.txt files borrow the turn of the page that needs them (`on_robots_turn`).  A turn ends with the
fetch (`left`), or unused as soon as the request is done (`done`), whatever became of it.
"""

from __future__ import annotations

import random
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from scrapy.utils.defer import maybe_deferred_to_future
from twisted.internet.defer import Deferred

from scrapy_polite import engine, stats
from scrapy_polite.exceptions import CrawlStopping
from scrapy_polite.frontier.hosts import Frontier, Judge, Want
from scrapy_polite.policy.host import Fetch, HostRules, Turn, after_fetch
from scrapy_polite.runtime.lanes import CLOCKLESS, ROBOTS_META, Lanes
from scrapy_polite.runtime.leases import Held, Leases, TurnEnded
from scrapy_polite.runtime.pump import Pump
from scrapy_polite.state.protocol import Lease, PolitenessStore

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.http import Response

    from scrapy_polite.queues import PolitePriorityQueue

_MANY = 1_000_000


@dataclass(slots=True, eq=False)
class _Waiter:
    request: Request
    asked_at: float
    turn: Deferred[None]


class Turns:
    """The turns of one crawl; see above.

    Args:
        rules: the numbers of the rule; replaced by who learns delays.
        on_robots_turn: called with (origin, lease) when a turn is for a robots.txt.
        crawl_delay_of: host key -> what its robots.txt files ask for in seconds.
    """

    def __init__(
        self,
        crawler: Crawler,
        lanes: Lanes,
        store: PolitenessStore,
        rules: HostRules,
        *,
        judge: Judge,
        on_robots_turn: Callable[[str, Lease], None],
        robots_places: Callable[[], int],
        crawl_delay_of: Callable[[str], float],
        slot_floors: dict[str, float],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._crawler = crawler
        self._lanes = lanes
        self.rules = rules
        self.leases = Leases()
        self.frontier = Frontier(judge)
        self.pump = Pump(
            self.frontier, store, granted=self._dispatch, woken=self._woken, clock=clock
        )
        self.queues: list[PolitePriorityQueue] = []
        self.subscribers: list[Callable[[TurnEnded], None]] = []
        self._on_robots_turn = on_robots_turn
        self._robots_places = robots_places
        self._crawl_delay_of = crawl_delay_of
        self._slot_floors = slot_floors
        self._clock = clock
        self._granted: deque[Lease] = deque()
        self._waiters: dict[tuple[str, bool], deque[_Waiter]] = {}
        self._stopping = False

    # pages from the scheduler

    def pushed(self, host: str, lane: str, count: int = 1) -> None:
        """Pages were queued in a lane."""
        self.frontier.push(host, lane, self._clock(), count)
        if self.frontier.has_ready(Want.ROBOTS) and self._robots_places() > 0:
            self.tick()

    def pop(self, queue: PolitePriorityQueue) -> Request | None:
        """Return the next page of a queue with its turn, None while all wait."""
        self._give_back_lost()
        for lane, host in self.frontier.free_origins().items():
            if lane in queue.lanes:
                return self._pop_lane(queue, host, lane)
        if not self._granted:
            self.pump.fill(Want.PAGE, self._free_places())
        while self._granted:
            lease = self._granted[0]
            if self.frontier.want(lease.host, self._clock())[0] is not Want.PAGE:
                self._dispatch(self._granted.popleft())
                continue
            best, lane = self._best_lane(lease.host)
            if best is not queue:
                break  # the scheduler asks that one next
            self._granted.popleft()
            request = self._pop_lane(queue, lease.host, lane)
            if request is not None:
                self._attach(request, lease, self._clock())
                return request
            self.pump.give_back(lease)
        self.pump.arm()
        return None

    def peek(self, queue: PolitePriorityQueue) -> str | None:
        """Return the lane of a queue that `pop` would take from next, None while all wait."""
        for lane in self.frontier.free_origins():
            if lane in queue.lanes:
                return lane
        host = self._granted[0].host if self._granted else None
        host = host or self.frontier.peek(Want.PAGE, self._clock())
        if host is None:
            return None
        best, lane = self._best_lane(host)
        return lane if best is queue else None

    def _best_lane(self, host: str) -> tuple[PolitePriorityQueue, str]:
        return min(
            (
                (queue, lane)
                for lane in self.frontier.open_origins(host)
                for queue in self.queues
                if lane in queue.lanes
            ),
            key=lambda found: found[0].priority_of(found[1]),
        )

    def _pop_lane(self, queue: PolitePriorityQueue, host: str, lane: str) -> Request | None:
        request = queue.pop_lane(lane)
        self.frontier.popped(host, lane, self._clock())
        return request

    # requests at the gate

    async def take(self, request: Request) -> None:
        """Wait for the turn of a request's host.

        Raises:
            CrawlStopping: the crawl stopped before.
        """
        host = self._lanes.lane_of(request).host
        if host == CLOCKLESS:
            return
        held = self.leases.get(request)
        if held is None or held.lease.host != host:
            self.yield_turn(request)
            await self._wait(request, host, hop=ROBOTS_META in request.meta)
            held = self.leases.get(request)
        if held is None:
            raise CrawlStopping("No turn was granted")
        now = self._clock()
        held.began_at = now
        request.meta["polite"] = {"waited": now - held.asked_at}

    async def _wait(self, request: Request, host: str, *, hop: bool) -> None:
        if self._stopping:
            raise CrawlStopping("The crawl stops")
        now = self._clock()
        waiter = _Waiter(request, now, Deferred())
        queue = self._waiters.setdefault((host, hop), deque())
        queue.append(waiter)
        if self.queues:
            engine.idle_requests(self._crawler).add(request)
        self.frontier.wait(host, now, hop=hop)
        self.tick()
        await maybe_deferred_to_future(waiter.turn)

    def _admit(self, lease: Lease, *, hop: bool) -> None:
        waiter = self._waiters[lease.host, hop].popleft()
        self._forget_waiter(lease.host, waiter, hop=hop)
        self._attach(waiter.request, lease, waiter.asked_at)
        waiter.turn.callback(None)

    def _forget_waiter(self, host: str, waiter: _Waiter, *, hop: bool) -> None:
        if not self._waiters[host, hop]:
            del self._waiters[host, hop]
        if not hop:
            engine.idle_requests(self._crawler).discard(waiter.request)
        self.frontier.waited(host, self._clock(), hop=hop)

    def yield_turn(self, request: Request) -> None:
        """Give a request's turn back unused, if it has one."""
        held = self.leases.pop(request)
        if held is not None:
            self._crawler.stats.inc_value(stats.GATE_UNUSED)
            self.pump.give_back(held.lease)

    # robots.txt

    def ask_robots(self, host: str, origin: str) -> None:
        """Somebody waits for the verdict of an origin."""
        self.frontier.ask(host, origin, self._clock())
        self.tick()

    def lend(self, request: Request, lease: Lease) -> None:
        """Give a robots.txt request the turn of the page that needs it."""
        self._attach(request, lease, self._clock())

    # the end of a turn

    def answered(self, request: Request, response: Response) -> None:
        """A request's answer arrived."""
        held = self.leases.get(request)
        if held is not None:
            held.response = response

    def refused(self, request: Request, retry_after: float | None) -> None:
        """A request's answer is a refusal; *retry_after* in seconds, None without a usable one."""
        held = self.leases.get(request)
        if held is not None:
            held.refused, held.retry_after = True, retry_after

    def left(self, request: Request) -> None:
        """A request left the network: its host is left alone as the rule says."""
        held = self.leases.pop(request)
        if held is None:
            return
        now, lease = self._clock(), held.lease
        began_at = held.held_at if held.began_at is None else held.began_at
        fetch = self._fetch(request, held, began_at, now)
        turn = after_fetch(lease.state, fetch, self.rules, random.random())
        request.meta.setdefault("polite", {})["duration"] = fetch.duration
        self.pump.end(lease, turn.wait, turn.state)
        self._tell(request, held, turn, began_at, fetch.duration)
        self.tick()

    def _fetch(self, request: Request, held: Held, began_at: float, now: float) -> Fetch:
        lease, slot = held.lease, request.meta.get("download_slot")
        return Fetch(
            started_at=lease.granted_at + began_at - held.held_at,
            ended_at=lease.granted_at + now - held.held_at,
            outcome=held.outcome,
            retry_after=held.retry_after,
            learn=not request.meta.get("autothrottle_dont_adjust_delay"),
            floor=max(self._slot_floors.get(key, 0.0) for key in (lease.host, slot or "")),
            crawl_delay=self._crawl_delay_of(lease.host),
        )

    def _tell(
        self, request: Request, held: Held, turn: Turn, began_at: float, duration: float
    ) -> None:
        previous = held.lease.state.delay
        ended = TurnEnded(
            request,
            held.lease.host,
            held.response,
            held.outcome,
            held.retry_after,
            began_at,
            duration,
            previous,
            turn,
        )
        for subscriber in self.subscribers:
            subscriber(ended)

    def done(self, request: Request) -> None:
        """A request is done with, whatever became of it: an unused turn goes back."""
        self.yield_turn(request)
        self.tick()

    def _give_back_lost(self) -> None:
        """With a downloader that is not ours nobody says `done`: look for what is."""
        if hasattr(self._crawler.engine.downloader, "idle"):
            return
        for request in self.leases:
            if not engine.in_progress(self._crawler, request):
                self.yield_turn(request)

    # who is next

    def tick(self) -> None:
        """Hand out the turns that need no scheduler, and set the timer."""
        if self._stopping:
            return
        self.pump.fill(Want.HOP, _MANY)
        self.pump.fill(Want.ROBOTS, self._robots_places() - self.pump.asking[Want.ROBOTS])
        self.pump.fill(Want.GATE, self._free_places())
        self.pump.arm()

    def judged(self, host: str, origin: str) -> None:
        """The verdict of an origin may have changed."""
        self.frontier.judged(host, origin, self._clock())
        self._woken()

    def stop(self) -> None:
        """Send everything that waits at the gate away; nothing is handed out any more."""
        self._stopping = True
        self.pump.stop()
        for (host, hop), waiters in list(self._waiters.items()):
            while waiters:
                waiter = waiters.popleft()
                self._forget_waiter(host, waiter, hop=hop)
                self._crawler.stats.inc_value(stats.GATE_STOPPED)
                waiter.turn.errback(CrawlStopping("The crawl stops"))
        while self._granted:
            self.pump.give_back(self._granted.popleft())

    def _woken(self) -> None:
        self.tick()
        if self._granted or self.frontier.has_ready(Want.PAGE) or self.frontier.free_origins():
            engine.wake(self._crawler)

    def _free_places(self) -> int:
        asking = self.pump.asking[Want.PAGE] + self.pump.asking[Want.GATE]
        return engine.free_places(self._crawler) - len(self._granted) - asking

    def _dispatch(self, lease: Lease) -> None:
        want, origin = self.frontier.want(lease.host, self._clock())
        if want is None or self._stopping:
            self.pump.give_back(lease)
        elif want is Want.PAGE:
            self._granted.append(lease)
        elif want is Want.ROBOTS:
            self._on_robots_turn(origin, lease)
        else:
            self._admit(lease, hop=want is Want.HOP)

    def _attach(self, request: Request, lease: Lease, asked_at: float) -> None:
        self.leases.attach(request, lease, self._clock(), asked_at)
        self._crawler.stats.inc_value(stats.GATE_TURNS)

