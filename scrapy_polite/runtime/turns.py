"""Turns: everything that wants to fetch gets its host's turn here, and gives it back.

Pages come out of the scheduler with their turn (`pop`), other requests wait at the gate (`take`),
and a robots.txt borrows the turn of the page that needs it (`on_robots_turn`).  A turn ends with
the fetch (`left`), or unused as soon as the request is done with (`done`), whatever became of it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING

from scrapy.utils.defer import maybe_deferred_to_future

from scrapy_polite import engine, stats
from scrapy_polite.exceptions import CrawlStopping
from scrapy_polite.frontier.hosts import Frontier, Judge, Want
from scrapy_polite.runtime.lanes import CLOCKLESS, ROBOTS_META, Lanes
from scrapy_polite.runtime.leases import Leases, TurnEnded
from scrapy_polite.runtime.pump import Pump
from scrapy_polite.runtime.room import WaitingRoom
from scrapy_polite.state.protocol import Lease, PolitenessStore

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.crawler import Crawler

    from scrapy_polite.queues import PolitePriorityQueue

_MANY = 1_000_000


class Turns:
    """The turns of one crawl; see above.

    Args:
        judge: tells the openness of a lane.
        on_robots_turn: called with (origin, lease) when a turn is for a robots.txt.
        robots_places: how many more robots.txt fetches may be in flight.
    """

    def __init__(
        self,
        crawler: Crawler,
        lanes: Lanes,
        leases: Leases,
        store: PolitenessStore,
        *,
        judge: Judge,
        on_robots_turn: Callable[[str, Lease], None],
        robots_places: Callable[[], int],
        clock: Callable[[], float],
    ) -> None:
        self._crawler = crawler
        self._lanes = lanes
        self.leases = leases
        self.frontier = Frontier(judge)
        self.pump = Pump(
            self.frontier, store, granted=self._dispatch, woken=self._woken, clock=clock
        )
        self.queues: list[PolitePriorityQueue] = []
        self.subscribers: list[Callable[[TurnEnded], None]] = []
        self._on_robots_turn = on_robots_turn
        self._robots_places = robots_places
        self._clock = clock
        self._granted: deque[Lease] = deque()  # turns for pages that the engine did not take yet
        self._room = WaitingRoom()
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
        free = self._free_lane(queue)
        if free is not None:
            return self._pop_lane(queue, *free)
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
                self.lend(request, lease)
                return request
            self.pump.give_back(lease)
        self.pump.arm()
        return None

    def peek(self, queue: PolitePriorityQueue) -> str | None:
        """Return the lane of a queue that `pop` would take from next, None while all wait."""
        free = self._free_lane(queue)
        if free is not None:
            return free[1]
        host = self._granted[0].host if self._granted else None
        host = host or self.frontier.peek(Want.PAGE, self._clock())
        if host is None:
            return None
        best, lane = self._best_lane(host)
        return lane if best is queue else None

    def _free_lane(self, queue: PolitePriorityQueue) -> tuple[str, str] | None:
        for lane, host in self.frontier.free_origins().items():
            if lane in queue.lanes:
                return host, lane
        return None

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
        """Wait for the turn of a request's host; it begins with the return.

        Raises:
            CrawlStopping: the crawl stopped before.
        """
        host = self._lanes.lane_of(request).host
        if host == CLOCKLESS:
            return
        held = self.leases.get(request)
        if held is None or held.lease.host != host:
            self.yield_turn(request)
            await self._wait(request, host)
        if not self.leases.begin(request, self._clock()):
            raise CrawlStopping("No turn was granted")

    async def _wait(self, request: Request, host: str) -> None:
        if self._stopping:
            raise CrawlStopping("The crawl stops")
        hop, now = ROBOTS_META in request.meta, self._clock()
        waiter = self._room.enter(request, host, now, hop=hop)
        if self.queues:
            engine.idle_requests(self._crawler).add(request)
        self.frontier.wait(host, now, hop=hop)
        self.tick()
        await maybe_deferred_to_future(waiter.turn)

    def _admit(self, lease: Lease, *, hop: bool) -> None:
        now, waiter = self._clock(), self._room.next(lease.host, hop=hop)
        self.frontier.waited(lease.host, now, hop=hop)
        if not hop:
            engine.idle_requests(self._crawler).discard(waiter.request)
        self.lend(waiter.request, lease, waiter.asked_at)
        waiter.turn.callback(None)

    def lend(self, request: Request, lease: Lease, asked_at: float | None = None) -> None:
        """Give a request a turn that is in hand."""
        now = self._clock()
        self.leases.attach(request, lease, now, now if asked_at is None else asked_at)
        self._crawler.stats.inc_value(stats.GATE_TURNS)

    def ask_robots(self, host: str, origin: str) -> None:
        """Somebody waits for the verdict of an origin."""
        self.frontier.ask(host, origin, self._clock())
        self.tick()

    # the end of a turn

    def left(self, request: Request) -> None:
        """A request left the network: its host is left alone as the rule says."""
        ended = self.leases.settle(request, self._clock())
        if ended is None:
            return
        self.pump.end(ended.lease, ended.turn.wait, ended.turn.state)
        for subscriber in self.subscribers:
            subscriber(ended)
        self.tick()

    def done(self, request: Request) -> None:
        """A request is done with, whatever became of it."""
        self.yield_turn(request)
        self.tick()

    def yield_turn(self, request: Request) -> None:
        """Give a request's turn back unused, if it has one."""
        held = self.leases.pop(request)
        if held is not None:
            self._crawler.stats.inc_value(stats.GATE_UNUSED)
            self.pump.give_back(held.lease)

    def _give_back_lost(self) -> None:
        """With a downloader that is not ours nobody says `done`: look for what is."""
        if engine.has_our_downloader(self._crawler):
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
        for waiter in self._room.clear():
            self.frontier.waited(waiter.host, self._clock(), hop=waiter.hop)
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
