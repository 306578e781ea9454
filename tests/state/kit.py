"""What the tests of stores share: a clock that is set by hand, and stores without an event loop.

Rules: `Driven` runs a store's coroutines in an asyncio loop of its own, in a thread of its own, and
returns what they return; so tests of stores read like a history.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine, Sequence
from typing import Any, TypeVar

from twisted.internet.defer import Deferred

from scrapy_polite.policy.host import HostState
from scrapy_polite.policy.robots_cache import RobotsRecord
from scrapy_polite.state.protocol import Acquired, Lease, PolitenessStore
from scrapy_polite.state.sqlite.file_time import Machine

T = TypeVar("T")
PATIENCE = 30.0  # seconds


def done(coroutine: Coroutine[Any, Any, T]) -> T:
    """Return the result of a coroutine that does not wait."""
    try:
        coroutine.send(None)
    except StopIteration as end:
        result: T = end.value
        return result
    raise AssertionError("the store in memory never waits")


class Clock:
    """A clock that stands still until it is moved."""

    def __init__(self, now: float = 1000.0) -> None:
        self.now = now

    def __call__(self) -> float:
        return self.now

    def machine(self, boot: str = "boot") -> Machine:
        """Return a machine on which every clock is this one."""
        return Machine(wall=self, uptime=self, boot_id=lambda: boot)


class Driven:
    """A store whose methods are called and return, without await; use it in a `with` statement."""

    def __init__(self, store: PolitenessStore) -> None:
        self.store = store
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever)

    def __enter__(self) -> Driven:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        try:
            self.close()
        finally:
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join()
            self._loop.close()

    def run(self, coroutine: Coroutine[Deferred[Any], Any, T]) -> T:
        """Run one of the store's coroutines to its end."""

        async def awaited() -> T:
            return await Deferred.fromCoroutine(coroutine).asFuture(self._loop)

        return asyncio.run_coroutine_threadsafe(awaited(), self._loop).result(PATIENCE)

    def open(self) -> None:
        self.run(self.store.open())

    def close(self) -> None:
        self.run(self.store.close())

    def acquire(self, *hosts: str, limit: int = 1000) -> Acquired:
        return self.run(self.store.acquire(hosts, limit=limit))

    def lease(self, host: str) -> Lease:
        """Lease a host that is due."""
        [lease] = self.acquire(host).leases
        return lease

    def wait(self, host: str) -> tuple[float, str]:
        """Ask for a host that is not to be had; return seconds to wait, and why."""
        acquired = self.acquire(host)
        assert acquired.leases == []
        return acquired.waits[host]

    def renew(self, *leases: Lease) -> list[Lease | None]:
        return self.run(self.store.renew(leases))

    def release(self, lease: Lease, delay: float, state: HostState | None = None) -> bool:
        return self.run(self.store.release(lease, delay=delay, state=state or HostState()))

    def push_back(self, host: str, delay: float) -> bool:
        """Leave a host alone, whoever has its turn."""
        return self.release(Lease(host, 0, 0.0, HostState()), delay)

    def give_back(self, leases: Sequence[Lease]) -> None:
        self.run(self.store.give_back(leases))

    def get_robots(self, origin: str) -> RobotsRecord | None:
        return self.run(self.store.get_robots(origin))

    def put_robots(self, record: RobotsRecord) -> None:
        self.run(self.store.put_robots(record))
