"""The lease pump: hosts that are ready become leases, ahead of need and in batches.

It asks the store for as many hosts as there is capacity for, and hands on what is granted.  A host
that the store denies is put back for as long as the store says; while the store does not answer,
nothing is leased and the pump tries again.  One timer wakes it at the earliest ready time.
"""

from __future__ import annotations

import logging
from collections.abc import Callable

from scrapy.utils.asyncio import CallLaterResult, call_later
from twisted.python.failure import Failure

from scrapy_polite.frontier.hosts import NEVER, Frontier, Want
from scrapy_polite.policy.host import HostState
from scrapy_polite.runtime.running import run
from scrapy_polite.state.protocol import Acquired, Lease, PolitenessStore, StoreUnavailable

logger = logging.getLogger(__name__)
STORE_RETRY = 1.0  # seconds between attempts while the store does not answer
TROUBLE_RETRY = 60.0  # seconds until a host's next turn after one that could not be used
_NOBODY = 0  # the token of a lease that never was: it may only push a turn back


class Pump:
    """Leases ready hosts; see above.

    Args:
        granted: called with each lease.
        woken: called when a host became ready, or the store answered.
        clock: our monotonic clock in seconds.
    """

    def __init__(
        self,
        frontier: Frontier,
        store: PolitenessStore,
        *,
        granted: Callable[[Lease], None],
        woken: Callable[[], None],
        clock: Callable[[], float],
    ) -> None:
        self.frontier = frontier
        self._store = store
        self._granted = granted
        self._woken = woken
        self._clock = clock
        self._timer: CallLaterResult | None = None
        self._timer_at = NEVER
        self._failing = False
        self.store_failed: Callable[[], object] = lambda: None
        self.denied: Callable[[str, float], None] = lambda host, seconds: None
        self.asking: dict[Want, int] = dict.fromkeys(Want, 0)

    def fill(self, want: Want, limit: int) -> None:
        """Lease at most *limit* hosts that are ready for this."""
        if limit <= 0:
            return
        now, hosts = self._clock(), list[str]()
        while len(hosts) < limit and (host := self.frontier.take(want, now)) is not None:
            hosts.append(host)
        if not hosts:
            return
        self.asking[want] += len(hosts)
        run(
            self._store.acquire(hosts, limit=len(hosts)),
            lambda result: self._answered(result, want, hosts),
        )

    def end(self, lease: Lease, delay: float, state: HostState) -> None:
        """End a turn; the host is due *delay* seconds from now."""
        run(
            self._store.release(lease, delay=delay, state=state),
            lambda result: self._ended(result, lease.host, delay),
        )

    def give_back(self, lease: Lease) -> None:
        """End a turn that was not used."""
        run(self._store.give_back([lease]), lambda result: self._ended(result, lease.host, 0.0))

    def unusable(self, lease: Lease) -> None:
        """End a turn that an error kept from being used; to be called where it is handled."""
        logger.exception("The turn of %s could not be used", lease.host)
        self.end(lease, TROUBLE_RETRY, lease.state)

    def push_back(self, host: str, delay: float) -> None:
        """Leave a host alone for *delay* seconds from now at the least, whoever has its turn."""
        now = self._clock()
        self.frontier.postpone(host, now + delay, now)
        nobody = Lease(host, _NOBODY, 0.0, HostState())
        run(self._store.release(nobody, delay=delay, state=nobody.state), self._noted)

    def arm(self) -> None:
        """Set the timer for the earliest ready time."""
        now = self._clock()
        at = self.frontier.next_at(now)
        if at < self._timer_at:
            self._set_timer(at, at - now)

    def stop(self) -> None:
        """Cancel the timer."""
        if self._timer is not None:
            self._timer.cancel()
        self._timer, self._timer_at = None, NEVER

    def _set_timer(self, at: float, delay: float) -> None:
        self.stop()
        self._timer_at = at
        self._timer = call_later(max(delay, 0.0), self._fire)

    def _fire(self) -> None:
        self._timer, self._timer_at = None, NEVER
        self._woken()

    def _answered(self, result: Acquired | Failure, want: Want, hosts: list[str]) -> None:
        self.asking[want] -= len(hosts)
        now = self._clock()
        if isinstance(result, Failure):
            for host in hosts:
                self.frontier.put_back(host, now + STORE_RETRY, now)
            self.arm()
            self._noted(result)  # raises what a store should not
            return
        self._noted(None)
        for host, (wait, _) in result.waits.items():
            self.frontier.put_back(host, now + wait, now)
            self.denied(host, wait)
        for lease in result.leases:
            self._hand_on(lease)
        if self._store.shared:
            self._woken()

    def _hand_on(self, lease: Lease) -> None:
        """Hand a lease on; what goes wrong there costs its host a wait, and the others nothing."""
        try:
            self._granted(lease)
        except Exception:
            self.unusable(lease)

    def _ended(self, result: bool | Failure | None, host: str, delay: float) -> None:
        now = self._clock()
        self.frontier.put_back(host, now + delay, now)
        self._noted(result if isinstance(result, Failure) else None)
        if self._store.shared:
            self._woken()

    def _noted(self, result: object) -> None:
        """Say once when the store stops answering, and once when it answers again."""
        failure = result if isinstance(result, Failure) else None
        if failure is not None and not isinstance(failure.value, StoreUnavailable):
            failure.raiseException()
        if (failure is not None) is self._failing:
            return
        self._failing = failure is not None
        if failure is not None:
            self.store_failed()
            logger.error("No fetch until the state store answers: %s", failure.getErrorMessage())
        else:
            logger.info("The state store answers again")
