"""Pages: what the scheduler's queues hold, and which of it comes out with its host's turn.

The queues keep the requests, the frontier counts them by lane.  `pop` gives the next page of the
host that has been ready longest; inside a host the best priority goes first, whichever origin.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from scrapy_polite import engine
from scrapy_polite.frontier.hosts import Want
from scrapy_polite.runtime.lanes import Lanes
from scrapy_polite.runtime.turns import Turns

if TYPE_CHECKING:
    from typing import Protocol

    from scrapy import Request
    from scrapy.crawler import Crawler

    class LaneQueue(Protocol):
        """What a scheduler's queue does for us; it keeps requests by lane."""

        def __len__(self) -> int:
            """Return how many requests there are."""

        @property
        def lanes(self) -> Mapping[str, object]:
            """Lanes with requests."""

        def pop_lane(self, lane: str) -> Request | None:
            """Take the next request of a lane out; None when it could not be read."""

        def peek_lane(self, lane: str) -> Request | None:
            """Return the next request of a lane; None when it, or the queue, cannot be read."""

        def priority_of(self, lane: str) -> int:
            """Return the best priority number in a lane; lower goes first."""


class Pages:
    """Hands pages out with their turns; see above."""

    def __init__(
        self, crawler: Crawler, lanes: Lanes, turns: Turns, clock: Callable[[], float]
    ) -> None:
        self._crawler = crawler
        self._lanes = lanes
        self._turns = turns
        self._frontier = turns.frontier
        self._clock = clock
        self.queues: list[LaneQueue] = []
        self._free_went = False  # whether the last page out needed no turn
        self._unresolved: dict[str, dict[str, int]] = {}  # name -> its lanes, pages queued in each

    def add_queue(self, queue: LaneQueue) -> None:
        """The scheduler has a queue of ours."""
        self.queues.append(queue)
        self._turns.feeds_pages = True

    def pushed(self, host: str, lane: str, count: int = 1) -> None:
        """Pages were queued in a lane; they are in no line before their host key is known."""
        name = self._lanes.unresolved(lane)
        if name is None:
            self._line_up(host, lane, count)
            return
        if name not in self._unresolved:
            self._unresolved[name] = {}
            engine.spawn(self._resolve(name))
        lanes = self._unresolved[name]
        lanes[lane] = lanes.get(lane, 0) + count

    async def _resolve(self, name: str) -> None:
        await self._lanes.grouping.resolve(name)
        for lane, count in self._unresolved.pop(name).items():
            self._line_up(self._lanes.host_of(lane), lane, count)
        self._turns.woken()

    def _line_up(self, host: str, lane: str, count: int) -> None:
        self._frontier.push(host, lane, self._clock(), count)
        if self._frontier.has_ready(Want.ROBOTS):
            self._turns.tick()

    def pop(self, queue: LaneQueue) -> Request | None:
        """Return the next page of a queue with its turn, None while all wait."""
        self._give_back_lost()
        if not self._turns.granted:
            self._turns.pump.fill(Want.PAGE, self._turns.page_places())
        free = self._free_lane(queue)
        if not self._goes_first(queue, free):
            request = self._pop_granted(queue)
            if request is not None:
                self._free_went = False
                return request
        if free is not None and self._goes_first(queue, free):
            self._free_went = True
            return self._pop_lane(queue, *free)
        self._turns.tick()  # for a host that was ready for a page may need a robots.txt by now
        return None

    def _pop_granted(self, queue: LaneQueue) -> Request | None:
        """Return the next page of the hosts whose turns are here."""
        turns = self._turns
        while turns.granted:
            lease = turns.granted[0]
            if self._frontier.want(lease.host, self._clock())[0] is not Want.PAGE:
                turns.dispatch(turns.granted.popleft())
                continue
            best, lane = self._best_lane(lease.host)
            if best is not queue:
                break  # the scheduler asks that one next
            turns.granted.popleft()
            try:
                request = self._pop_lane(queue, lease.host, lane)
            except Exception:  # a disk that is full, for instance
                turns.pump.unusable(lease)
                continue
            if request is not None:
                turns.lend(request, lease)
                return request
            turns.pump.give_back(lease)
        return None

    def peek(self, queue: LaneQueue) -> str | None:
        """Return the lane of a queue that `pop` would take from next, None while all wait."""
        free = self._free_lane(queue)
        if free is not None and self._goes_first(queue, free):
            return free[1]
        host = self._next_host()
        if host is None:
            return None
        best, lane = self._best_lane(host)
        return lane if best is queue else None

    def _next_host(self) -> str | None:
        """Return the host whose page goes next with a turn, None when none is ready."""
        granted = self._turns.granted
        host = granted[0].host if granted else self._frontier.peek(Want.PAGE, self._clock())
        if host is None or self._frontier.want(host, self._clock())[0] is not Want.PAGE:
            return None
        return host

    def _goes_first(self, queue: LaneQueue, free: tuple[str, str] | None) -> bool:
        """Return whether a page that needs no turn goes before those that have one.

        The better priority does; of the same, one and one: nobody waits for the other to end.
        """
        host = self._next_host() if free is not None else None
        if free is None or host is None:
            return free is not None
        best, lane = self._best_lane(host)
        own, other = queue.priority_of(free[1]), best.priority_of(lane)
        return own < other or (own == other and not self._free_went)

    def next_of(self, lane: str) -> Request | None:
        """Return a page of a lane that may be the next one; None when there is none to be seen."""
        seen = (queue.peek_lane(lane) for queue in self.queues if lane in queue.lanes)
        return next((page for page in seen if page is not None), None)

    def _free_lane(self, queue: LaneQueue) -> tuple[str, str] | None:
        free = self._frontier.free_origins()
        if not free:
            return None
        # Whichever are fewer: one of the scheduler's two queues is mostly empty.
        lanes = queue.lanes if len(queue.lanes) < len(free) else free
        lane = next((lane for lane in lanes if lane in free and lane in queue.lanes), None)
        return None if lane is None else (free[lane], lane)

    def _best_lane(self, host: str) -> tuple[LaneQueue, str]:
        found = (
            (queue, lane)
            for lane in self._frontier.open_origins(host)
            for queue in self.queues
            if lane in queue.lanes
        )
        return min(found, key=lambda place: place[0].priority_of(place[1]))

    def _pop_lane(self, queue: LaneQueue, host: str, lane: str) -> Request | None:
        request = queue.pop_lane(lane)
        self._frontier.popped(host, lane, self._clock())
        return request

    def _give_back_lost(self) -> None:
        """With a downloader that is not ours nobody says `done`: look for what is."""
        if engine.has_our_downloader(self._crawler):
            return
        for request in self._turns.leases:
            if not engine.in_progress(self._crawler, request):
                self._turns.yield_turn(request)
