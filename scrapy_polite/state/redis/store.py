"""The store of several machines: a Redis server.

Rules:

- A few short scripts do all that must be done at once; the server's clock is the one that counts,
  and instants that go in and out are in the caller's own monotonic clock.
- A turn lapses when its holder was not heard of for a ttl; its host is charged as if the fetch had
  lasted until the heartbeat that did not come, see `terms`.
- A server that restarts or loses its data grants nothing for one ttl, see `session`.
- What goes wrong is `StoreUnavailable`, from each call that it touches: a server that is down,
  slow, full or no longer the primary.  Nothing is leased meanwhile; fetches under way end; the
  store is back when the cause is gone.
- Every key expires.
- It needs an asyncio loop: the asyncio reactor, or Scrapy without a reactor.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from importlib.util import find_spec
from typing import Any, TypeVar

from scrapy.utils.asyncio import is_asyncio_available
from scrapy.utils.defer import deferred_from_coro

from scrapy_polite.policy.host import HostState
from scrapy_polite.policy.robots_cache import RobotsRecord
from scrapy_polite.state.clock import steady
from scrapy_polite.state.protocol import Acquired, Lease, StoreUnavailable
from scrapy_polite.state.redis.book import End
from scrapy_polite.state.redis.session import Session
from scrapy_polite.state.redis.terms import Terms
from scrapy_polite.state.redis.wire import Wire
from scrapy_polite.state.sound import sound

T = TypeVar("T")


class RedisStore:
    """Clocks and records on a server; see `PolitenessStore`.

    Args:
        url: ``redis://[user:password@]host:port/db``, ``rediss://…`` or ``unix:///path?db=0``.
        prefix: what all keys begin with.
        clock: the caller's monotonic clock in seconds, which all instants are in.
        terms: on which turns are held.
        timeout: seconds for an answer before the store is unavailable.
        server_clock: a clock in place of the server's, in seconds; None for the server's own.

    Raises:
        ValueError: there is no asyncio loop, no client library, or the URL is not one of Redis.
    """

    shared = True

    def __init__(
        self,
        url: str,
        *,
        prefix: str = "polite:",
        clock: Callable[[], float] = steady,
        terms: Terms | None = None,
        timeout: float = 5.0,
        server_clock: Callable[[], float] | None = None,
    ) -> None:
        _require_asyncio()
        self.clock = clock
        self._charge = (terms or Terms()).charge
        self._closed = False
        self._calls: set[asyncio.Future[Any]] = set()  # that the server has not answered yet
        self.session = _session(url, timeout, Wire(prefix, terms or Terms(), clock, server_clock))

    async def open(self) -> None:
        """Ask the server whether it lost anything; each other call would do so first."""
        await self._run(self.session.open())

    async def close(self) -> None:
        """Let go of the server; leases in hand end as if their fetches had lasted until now."""
        if not self._closed:
            self._closed = True
            await deferred_from_coro(self._close())

    async def _close(self) -> None:
        if self._calls:  # what was told last counts too
            await asyncio.wait(self._calls)
        await self.session.close()

    async def acquire(self, hosts: Sequence[str], *, limit: int) -> Acquired:
        """Lease at most *limit* of the hosts that are due."""
        return await self._run(self.session.acquire(list(hosts), limit))

    async def renew(self, leases: Sequence[Lease]) -> list[Lease | None]:
        """Prolong leases, their age counted from now on; None in place of one that is lost."""
        return await self._run(self.session.renew(list(leases)))

    async def release(self, lease: Lease, *, delay: float, state: HostState) -> bool:
        """End a turn: the host is due *delay* seconds from now."""
        delay, state = sound(lease, delay, state, self._charge)
        end = End(lease, self.clock() + delay, state)
        [ended] = await self._run(self.session.finish([end]))
        return ended

    async def give_back(self, leases: Sequence[Lease]) -> None:
        """End turns that were not used; the hosts stay due as they were."""
        await self._run(self.session.finish([End(lease) for lease in leases]))

    async def get_robots(self, origin: str) -> RobotsRecord | None:
        """Return the origin's record, None without one."""
        return await self._run(self.session.get_robots(origin))

    async def put_robots(self, record: RobotsRecord) -> None:
        """Keep an origin's record."""
        await self._run(self.session.put_robots(record))

    def holds(self, lease: Lease) -> bool:
        """Return whether a lease is ours beyond doubt right now, without asking the server.

        It is not when the server was not reached for a ttl, for instance because this process was
        stopped: the host may be another's by now.
        """
        return self.session.book.is_good(lease, self.clock())

    async def _run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """Run asyncio code to its end; what is awaited here is a Deferred."""
        if self._closed:
            coroutine.close()
            raise StoreUnavailable(f"{self.session.client.name}: the store is closed")
        call = asyncio.ensure_future(coroutine)
        self._calls.add(call)
        call.add_done_callback(self._calls.discard)
        return await deferred_from_coro(call)


def _session(url: str, timeout: float, wire: Wire) -> Session:
    if find_spec("redis") is None:
        raise ValueError(
            "POLITE_STATE is a Redis server, which needs the redis library: "
            "run pip install 'scrapy-polite[redis]'."
        )
    return Session(url, timeout, wire)


def _require_asyncio() -> None:
    try:
        has_asyncio = is_asyncio_available()
    except RuntimeError:  # there is no reactor yet, nor a loop that runs
        return
    if not has_asyncio:
        raise ValueError(
            "POLITE_STATE is a Redis server, which needs Scrapy's asyncio reactor: set "
            'TWISTED_REACTOR = "twisted.internet.asyncioreactor.AsyncioSelectorReactor".'
        )
