"""What a turn costs on a Redis server: one host at a time, and in batches as the lease pump asks.

Rules: a redis-server of its own on a free loopback port; the median of several rounds; µs a host.
The echo of a PING is what any question costs at least.

    python benchmarks/redis_store.py
"""

from __future__ import annotations

import asyncio
import statistics
import sys
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

from twisted.internet.defer import Deferred

from scrapy_polite.policy.host import HostState
from scrapy_polite.state.protocol import Lease
from scrapy_polite.state.redis import RedisStore

sys.path.append(str(Path(__file__).parents[1] / "tests"))
from distributed.servers import RedisServer

ROUNDS = 7
HOSTS = 640  # a round
BATCH = 32
STATE = HostState(duration=0.25, delay=2.5)


async def ask(coroutine: object) -> object:
    return await Deferred.fromCoroutine(coroutine).asFuture(asyncio.get_running_loop())


async def acquire_all(store: RedisStore, hosts: list[str], batch: int) -> list[Lease]:
    leases: list[Lease] = []
    for first in range(0, len(hosts), batch):
        acquired = await ask(store.acquire(hosts[first : first + batch], limit=batch))
        leases += acquired.leases
    return leases


async def release_all(store: RedisStore, leases: list[Lease]) -> None:
    for lease in leases:
        await ask(store.release(lease, delay=0.0, state=STATE))


async def release_at_once(store: RedisStore, leases: list[Lease]) -> None:
    ends = [ask(store.release(lease, delay=0.0, state=STATE)) for lease in leases]
    for first in range(0, len(ends), BATCH):
        await asyncio.gather(*ends[first : first + BATCH])


async def per_host(work: Callable[[], Awaitable[object]]) -> tuple[float, object]:
    begun_at = time.perf_counter()
    result = await work()
    return (time.perf_counter() - begun_at) / HOSTS * 1e6, result


async def measure(server: RedisServer) -> dict[str, list[float]]:
    store = RedisStore(server.url, prefix=server.fresh_prefix())
    await ask(store.open())
    hosts = [f"host-{number}.test" for number in range(HOSTS)]
    found: dict[str, list[float]] = {}
    for _ in range(ROUNDS):
        for name, batch, release in (
            ("one at a time", 1, release_all),
            (f"batches of {BATCH}", BATCH, release_at_once),
        ):
            cost, leases = await per_host(lambda batch=batch: acquire_all(store, hosts, batch))
            assert len(leases) == HOSTS
            found.setdefault(f"acquire, {name}", []).append(cost)
            cost, _ = await per_host(lambda release=release, held=leases: release(store, held))
            found.setdefault(f"release, {name}", []).append(cost)
    await ask(store.close())
    return found


def ping(server: RedisServer) -> float:
    begun_at = time.perf_counter()
    for _ in range(HOSTS):
        server.client.ping()
    return (time.perf_counter() - begun_at) / HOSTS * 1e6


def main() -> None:
    with RedisServer() as server:
        print(f"{'PING':<28}{ping(server):7.0f} µs")
        for name, costs in asyncio.run(measure(server)).items():
            print(f"{name:<28}{statistics.median(costs):7.0f} µs a host")


if __name__ == "__main__":
    main()
