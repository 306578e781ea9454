"""The default store: one process, in memory.

Nothing here waits, so its coroutines finish at once.  A host is forgotten when its turn is past and
its state has nothing left to tell, so memory is bounded by the hosts that are still waited for.
"""

from __future__ import annotations

import time
import zlib
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from scrapy_polite.policy.backoff import MEMORY, Backoff
from scrapy_polite.policy.host import HostState
from scrapy_polite.policy.robots_cache import RobotsRecord
from scrapy_polite.state.charge import Charge
from scrapy_polite.state.protocol import Acquired, Lease
from scrapy_polite.state.sound import sound

LEASED = "leased"
NOT_DUE = "not due"
ROBOTS_KEPT = 200_000  # records; the oldest go first
ROBOTS_BYTES = 268_435_456  # of their compressed bodies together
_SWEEP_LEAST = 1024  # releases between looks for hosts to forget; with many hosts, as many as they
_FRESH = HostState()
_CALM = Backoff()
_CHARGE = Charge()  # of an end that cannot be kept


@dataclass(slots=True)
class _Host:
    due_at: float = 0.0
    state: HostState = _FRESH
    holder: int = 0  # token of the lease in hand; 0 when there is none


class MemoryStore:
    """Clocks and records of one process; see `PolitenessStore`."""

    shared = False

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._hosts: dict[str, _Host] = {}
        self._robots: OrderedDict[str, RobotsRecord] = OrderedDict()
        self._robots_bytes = 0
        self._tokens = 0
        self._releases = 0

    async def open(self) -> None:
        """Nothing to do."""

    async def close(self) -> None:
        """Nothing to do."""

    async def acquire(self, hosts: Sequence[str], *, limit: int) -> Acquired:
        """Lease at most *limit* of the hosts that are due."""
        now, acquired = self._clock(), Acquired()
        for key in hosts:
            host = self._hosts.get(key)
            if host is None:
                host = self._hosts[key] = _Host()
            if host.holder:
                acquired.waits[key] = (1.0, LEASED)
            elif host.due_at > now:
                acquired.waits[key] = (host.due_at - now, NOT_DUE)
            elif len(acquired.leases) < limit:
                self._tokens += 1
                host.holder = self._tokens
                acquired.leases.append(Lease(key, self._tokens, now, host.state))
            else:
                acquired.waits[key] = (0.0, NOT_DUE)
        return acquired

    def holds(self, lease: Lease) -> bool:
        """Return whether a lease is the one in hand."""
        host = self._hosts.get(lease.host)
        return host is not None and host.holder == lease.token != 0

    async def renew(self, leases: Sequence[Lease]) -> list[Lease | None]:
        """Prolong leases; here they never run out."""
        return [lease if self.holds(lease) else None for lease in leases]

    async def release(self, lease: Lease, *, delay: float, state: HostState) -> bool:
        """End a turn: the host is due *delay* seconds from now."""
        delay, state = sound(lease, delay, state, _CHARGE)
        host = self._hosts.setdefault(lease.host, _Host())
        due_at = self._clock() + delay
        if not self.holds(lease):
            host.due_at = max(host.due_at, due_at)
            return False
        # Somebody may have pushed the host back meanwhile; that stands.
        host.due_at, host.state, host.holder = max(host.due_at, due_at), state, 0
        self._releases += 1
        if self._releases >= max(_SWEEP_LEAST, len(self._hosts)):
            self._sweep()
        return True

    async def give_back(self, leases: Sequence[Lease]) -> None:
        """End turns that were not used."""
        for lease in leases:
            if self.holds(lease):
                self._hosts[lease.host].holder = 0

    async def get_robots(self, origin: str) -> RobotsRecord | None:
        """Return the origin's record, None without one."""
        record = self._robots.get(origin)
        if record is None:
            return None
        return replace(record, body=zlib.decompress(record.body)) if record.body else record

    async def put_robots(self, record: RobotsRecord) -> None:
        """Keep an origin's record, its body compressed."""
        packed = replace(record, body=zlib.compress(record.body)) if record.body else record
        former = self._robots.pop(record.origin, None)
        self._robots_bytes += len(packed.body) - (len(former.body) if former else 0)
        self._robots[record.origin] = packed
        while len(self._robots) > ROBOTS_KEPT or self._robots_bytes > ROBOTS_BYTES:
            self._robots_bytes -= len(self._robots.popitem(last=False)[1].body)

    def __len__(self) -> int:
        return len(self._hosts)

    def _sweep(self) -> None:
        self._releases, now = 0, self._clock()
        past = [key for key, host in self._hosts.items() if _is_past(host, now)]
        for key in past:
            del self._hosts[key]


def _is_past(host: _Host, now: float) -> bool:
    if host.holder or host.due_at > now:
        return False
    return host.state.backoff == _CALM or now - host.due_at > MEMORY
