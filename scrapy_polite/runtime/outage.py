"""When the fault is ours: nothing goes out but a probe now and then, and no host is blamed.

`policy.outage` tells when; here the turns are frozen and thawed, the hosts' states from before are
put back, and one line says so.

A failed request waits, without turn or place, until it is known whose fault it was (`is_ours`), and
if it was ours, until that is over; but the one that waits for longest goes back with each probe, or
none would be left to probe with.  So an outage spends no retry, and each probe is another request
than the last one.  When nobody has answered for an hour, the run ends with the reason
``polite_outage``: what is queued stays queued.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from scrapy.utils.asyncio import CallLaterResult, call_later
from scrapy.utils.defer import maybe_deferred_to_future
from twisted.internet.defer import Deferred

from scrapy_polite import engine, stats
from scrapy_polite.policy.outage import DOUBT, OutageWatch
from scrapy_polite.runtime.telling import one_line

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.crawler import Crawler

    from scrapy_polite.policy.host import HostState
    from scrapy_polite.runtime.leases import TurnEnded
    from scrapy_polite.runtime.turns import Turns
    from scrapy_polite.state.protocol import Lease

logger = logging.getLogger(__name__)
REASON = "polite_outage"  # of the run's end


class Outage:
    """Tells whose fault failures are, and freezes the turns while nobody can be reached."""

    def __init__(self, crawler: Crawler, turns: Turns, clock: Callable[[], float]) -> None:
        self._crawler = crawler
        self._turns = turns
        self._clock = clock
        self._watch = OutageWatch()
        self._before: dict[str, HostState] = {}  # states of the hosts that failed, from before
        self._cut: WeakKeyDictionary[Request, Lease] = WeakKeyDictionary()  # answers not whole
        self._verdicts: WeakKeyDictionary[Request, Deferred[bool]] = WeakKeyDictionary()
        self._doubts: list[Deferred[bool]] = []  # verdicts that are not out
        self._doubt_timer: CallLaterResult | None = None
        self._probe_timer: CallLaterResult | None = None
        self._stopping = False

    @property
    def is_on(self) -> bool:
        """Whether nothing goes out right now."""
        return self._watch.is_outage

    async def is_ours(self, request: Request) -> bool:
        """Wait until it is known whose fault it was that a request got no answer.

        Returns:
            True when it was ours, so that the request goes back to its queue; False when it was the
            host's, or when the request did not go out at all.
        """
        verdict = self._verdicts.pop(request, None)
        if verdict is None:
            return False
        idle = engine.idle_requests(self._crawler)
        idle.add(request)
        try:
            return await maybe_deferred_to_future(verdict)
        finally:
            idle.discard(request)

    def forgive(self, request: Request) -> None:
        """A request's download was cut by ourselves: its host is not in trouble."""
        lease = self._cut.pop(request, None)
        if lease is not None:
            self._turns.leases.restore({lease.host: lease.state})

    def turn_ended(self, ended: TurnEnded) -> None:
        """Take note of how a fetch ended."""
        host = ended.lease.host
        if ended.heard:
            if ended.response is None:
                self._cut[ended.request] = ended.lease
            self._answered(host)
            return
        verdict: Deferred[bool] = Deferred()
        self._verdicts[ended.request] = verdict
        if not self.is_on and ended.began_at < self._watch.ended_at:
            # It went out during the outage that is just over.
            self._turns.leases.restore({host: ended.lease.state})
            verdict.callback(True)
            return
        self._doubts.append(verdict)
        self._before.setdefault(host, ended.lease.state)
        if self._watch.failed(host, self._clock()):
            self._begin()
        if self._stopping:
            self._decide(ours=True)
        elif self.is_on:
            self._turns.leases.restore(self._before)
        elif not self._watch.is_in_doubt:
            self._decide(ours=False)
        elif self._doubt_timer is None:
            self._doubt_timer = call_later(DOUBT, self._doubt_is_over)

    def stop(self) -> None:
        """Cancel the timers; what waits goes back to its queue."""
        self._stopping = True
        self._decide(ours=True)
        self._stop_probing()

    def heard(self, request: Request) -> None:
        """Take note of a request whose headers arrived."""
        held = self._turns.leases.get(request)
        if held is not None:
            held.heard = True
            self._answered(held.lease.host)

    def sent(self, request: Request) -> None:
        """Take note of a request that goes to the network."""
        if self.is_on and self._turns.leases.get(request) is not None:
            self._crawler.stats.inc_value(stats.OUTAGE_PROBES)

    def _answered(self, host: str) -> None:
        now = self._clock()
        self._before.clear()
        ended = self._watch.answered(host, now)
        if ended:
            self._stop_probing()
            took = now - self._watch.began_at
            logger.info("%s answers after %.0f s of silence: the crawl goes on", host, took)
            self._turns.thaw()
        self._decide(ours=ended)

    def _begin(self) -> None:
        self._crawler.stats.inc_value(stats.OUTAGES)
        logger.warning(
            "No answer from %s, one after the other: the fault seems to be ours (line, resolver, "
            "proxy). Nothing goes out but a probe now and then; no host is blamed, no retry spent",
            one_line(", ".join(sorted(self._watch.streak))),
        )
        self._stop_doubting()
        self._turns.freeze()
        self._probe_later()

    def _decide(self, *, ours: bool) -> None:
        """Tell all that waits for it whose fault it was."""
        self._stop_doubting()
        doubts, self._doubts = self._doubts, []
        for verdict in doubts:
            verdict.callback(ours)

    def _doubt_is_over(self) -> None:
        self._decide(ours=False)

    def _stop_doubting(self) -> None:
        if self._doubt_timer is not None:
            self._doubt_timer.cancel()
        self._doubt_timer = None

    def _probe_later(self) -> None:
        self._probe_timer = call_later(max(self._watch.probe_at - self._clock(), 0.0), self._probe)

    def _probe(self) -> None:
        now = self._clock()
        if self._watch.is_hopeless(now):
            logger.error("Nobody has answered for %.0f s: the run ends", now - self._watch.began_at)
            engine.spawn(self._crawler.engine.close_spider_async(reason=REASON))
            return
        # The next one is due even if this one comes to nothing, for lack of a host that is ready.
        self._watch.probed(now)
        self._probe_later()
        if self._doubts:
            self._doubts.pop(0).callback(True)
        self._turns.probe()

    def _stop_probing(self) -> None:
        if self._probe_timer is not None:
            self._probe_timer.cancel()
        self._probe_timer = None
