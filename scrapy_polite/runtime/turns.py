"""Turns: everything that wants to fetch gets its host's turn here, and gives it back.

Pages come out of the scheduler with theirs (see `pages`), other requests wait at the gate (`take`),
and a robots.txt borrows the turn of the page that needs it (`on_robots_turn`).  A turn ends with
the fetch (`left`), or unused as soon as the request is done with (`done`), whatever became of it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING

from scrapy.utils.defer import maybe_deferred_to_future

from scrapy_polite import engine, stats
from scrapy_polite.exceptions import CrawlStopping, HostParked
from scrapy_polite.frontier.hosts import NEVER, Frontier, Judge, Want
from scrapy_polite.runtime.lanes import CLOCKLESS, ROBOTS_META, Lanes
from scrapy_polite.runtime.leases import Leases, TurnEnded
from scrapy_polite.runtime.pump import Pump
from scrapy_polite.runtime.room import Waiter, WaitingRoom
from scrapy_polite.runtime.wire import tell
from scrapy_polite.state.protocol import Lease, PolitenessStore

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.crawler import Crawler

_MANY = 1_000_000
LEASED_AHEAD = 64  # turns for pages that are asked for at once, where places have no limit


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
        self._crawler, self._count = crawler, crawler.stats.inc_value
        self._lanes = lanes
        self._store = store
        self.leases = leases
        self.frontier = Frontier(judge)
        self.pump = Pump(self.frontier, store, granted=self.dispatch, woken=self.woken, clock=clock)
        self.pump.store_failed = lambda: self._count(stats.STORE_UNAVAILABLE)
        self.subscribers: list[Callable[[TurnEnded], None]] = []
        self.turned_away: list[Callable[[Request, Exception], None]] = []  # told of what never went
        self._on_robots_turn = on_robots_turn
        self._robots_places = robots_places
        self._clock = clock
        self.granted: deque[Lease] = deque()  # turns for pages that the engine did not take yet
        self.feeds_pages = False  # whether pages come with their turn, so that who waits is extra
        self._room = WaitingRoom()
        self.parked: dict[str, float] = {}  # host key -> until when it asked to be left alone
        self._stopping = False
        self._probes: int | None = None  # turns left while frozen; None while not

    # requests at the gate

    async def take(self, request: Request) -> None:
        """Wait for the turn of a request's host; it begins with the return.

        Raises:
            CrawlStopping: the crawl stopped before.
            HostParked: the host is not asked again in this run.
        """
        await self._lanes.settle(request)
        host = self._lanes.lane_of(request).host
        if host == CLOCKLESS:
            return
        while not self._is_good(request, host):
            self.done(request)
            await self._wait(request, host)
        if not self.leases.begin(request, self._clock()):
            raise CrawlStopping("No turn was granted")

    async def depart(self, request: Request) -> None:
        """A request leaves its download slot: it goes with a turn that is good now, or waits.

        What it waited there is no fetch, and its turn may have been lost meanwhile.

        Raises:
            CrawlStopping, HostParked: as `take`.
        """
        held = self.leases.get(request)
        if held is None or not self._store.holds(held.lease):
            await self.take(request)
        self.leases.depart(request, self._clock())

    def _is_good(self, request: Request, host: str) -> bool:
        """Return whether a request holds its host's turn; a process that was stopped may not."""
        held = self.leases.get(request)
        return held is not None and held.lease.host == host and self._store.holds(held.lease)

    async def _wait(self, request: Request, host: str) -> None:
        self.check(host)
        hop, now = ROBOTS_META in request.meta, self._clock()
        # A middleware of the request that had it may be waiting for us.
        if (lease := self.leases.take_unused(host)) is not None:
            self.leases.attach(request, lease, now, now)  # one turn, and counted already
            return
        waiter = self._room.enter(request, host, now, hop=hop)
        if self.feeds_pages:
            engine.idle_requests(self._crawler).add(request)
        self.frontier.wait(host, now, hop=hop)
        self.tick()
        try:
            await maybe_deferred_to_future(waiter.turn)
        except BaseException:  # cancelled: who awaits the download may give up at any time
            self._gives_up(waiter)
            raise

    def _gives_up(self, waiter: Waiter) -> None:
        """A waiter waits no more: it is out of the room, or what it was lent goes back."""
        if self._room.leave(waiter):
            self.frontier.waited(waiter.host, self._clock(), hop=waiter.hop)
            engine.idle_requests(self._crawler).discard(waiter.request)
        self.done(waiter.request)

    def check(self, host: str) -> None:
        """Raise, and count it, when nothing of a host is fetched any more."""
        if self._stopping or host in self.parked:
            self._count(stats.GATE_STOPPED)
            why = CrawlStopping if self._stopping else HostParked
            raise why(f"{host} is not asked again in this run")

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
        self._count(stats.GATE_TURNS)

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
        tell(self.subscribers, ended)
        self.tick()

    def done(self, request: Request) -> None:
        """A request is done with, whatever became of it."""
        if self.yield_turn(request):
            self.tick()

    def yield_turn(self, request: Request) -> bool:
        """Give a request's turn back unused; False when it has none."""
        held = self.leases.get(request)
        if held is None or held.departed:  # given up, but on the wire: its turn ends when it left
            return False
        self.leases.pop(request)
        self._count(stats.GATE_UNUSED)
        self.pump.give_back(held.lease)
        return True

    # who is next

    def tick(self) -> None:
        """Hand out the turns that need no scheduler, and set the timer."""
        if self._stopping:
            return
        self.frontier.next_at(self._clock())  # what is due becomes ready
        for want in (Want.HOP, Want.ROBOTS):
            if self.frontier.has_ready(want):
                asking = self.pump.asking[Want.HOP] + self.pump.asking[Want.ROBOTS]
                # A hop that waits holds no place, or hosts that redirect to a slow one took all.
                places = self._robots_places() + self._room.hops - asking
                self.pump.fill(want, self._limit(places))
        if self.frontier.has_ready(Want.GATE):
            # As with Scrapy itself, direct downloads need no place: pages that wait may hold all.
            self.pump.fill(Want.GATE, self._limit(_MANY))
        self.pump.arm()

    def judged(self, host: str, origin: str) -> None:
        """The verdict of an origin may have changed."""
        self.frontier.judged(host, origin, self._clock())
        self.woken()

    def park(self, host: str, until_at: float) -> None:
        """Ask a host no more in this run; its pages stay queued, what is at the gate goes."""
        self.parked[host] = until_at
        self.frontier.postpone(host, NEVER, self._clock())
        self._send_away(HostParked(f"{host} is not asked again in this run"), host)

    def stop(self) -> None:
        """Send everything that waits at the gate away; nothing is handed out any more."""
        self._stopping = True
        self.pump.stop()
        self._send_away(CrawlStopping("The crawl stops"))
        self.freeze()

    def _send_away(self, why: Exception, host: str | None = None) -> None:
        for waiter in list(self._room.clear(host)):
            self.frontier.waited(waiter.host, self._clock(), hop=waiter.hop)
            self._count(stats.GATE_STOPPED)
            waiter.turn.errback(why)

    def woken(self) -> None:
        """Something became ready: hand it out, and have the engine ask for pages."""
        self.tick()
        if self.granted or self.frontier.has_ready(Want.PAGE) or self.frontier.free_origins():
            engine.wake(self._crawler)

    def page_places(self) -> int:
        """Return how many more turns may be asked for for pages."""
        coming = len(self.granted) + self.pump.asking[Want.PAGE]
        return self._limit(min(engine.free_places(self._crawler) - coming, LEASED_AHEAD))

    def freeze(self) -> None:
        """Hand out no turns but those of `probe`."""
        self._probes = 0
        while self.granted:
            self.pump.give_back(self.granted.popleft())

    def probe(self) -> None:
        """While frozen: hand out one turn."""
        self._probes = 1
        self.woken()

    def thaw(self) -> None:
        """Hand out turns again."""
        self._probes = None
        self.woken()

    def spend_probe(self) -> None:
        """While frozen: the one turn was handed out."""
        self._probes = self._probes and self._probes - 1

    def _limit(self, places: int) -> int:
        if self._probes is None:
            return places
        return min(places, self._probes - sum(self.pump.asking.values()))

    def dispatch(self, lease: Lease) -> None:
        """Use a granted turn for what its host wants now."""
        want, origin = self.frontier.want(lease.host, self._clock())
        if want is None or self._stopping or self._probes == 0:
            self.pump.give_back(lease)
            return
        self.spend_probe()
        if want is Want.PAGE:
            self.granted.append(lease)
        elif want is Want.ROBOTS:
            self._on_robots_turn(origin, lease)
        else:
            self._admit(lease, hop=want is Want.HOP)
