"""What a turn costs: acquire and release in memory and in SQLite, alone and with four processes.

Rules: a number is microseconds per host from the call to its answer, so with SQLite the way to the
store's thread and back is part of it. `× 32` acquires 32 hosts in one call and releases them one
by one, all at once, as a crawl does. The file lies in a temporary folder. Numbers are the best of
three rounds.

By hand: `python benchmarks/stores.py [SECONDS]`.
"""

from __future__ import annotations

import asyncio
import multiprocessing
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Coroutine
from pathlib import Path
from typing import Any, TypeVar

from twisted.internet.defer import Deferred

from scrapy_polite.policy.host import HostState
from scrapy_polite.state.memory import MemoryStore
from scrapy_polite.state.protocol import PolitenessStore
from scrapy_polite.state.sqlite import SqliteStore

T = TypeVar("T")
BATCH, PROCESSES, ROUNDS = 32, 4, 3
STATE = HostState(duration=0.25, delay=2.5)


def waited(coroutine: Coroutine[Deferred[Any], Any, T]) -> Awaitable[T]:
    return Deferred.fromCoroutine(coroutine).asFuture(asyncio.get_running_loop())


async def turns(store: PolitenessStore, hosts: list[str], batch: int) -> tuple[float, float]:
    """Give each host a turn; return microseconds per host to acquire and to release it."""
    acquiring = releasing = 0.0
    for begin in range(0, len(hosts), batch):
        asked = hosts[begin : begin + batch]
        began_at = time.perf_counter()
        acquired = await waited(store.acquire(asked, limit=batch))
        answered_at = time.perf_counter()
        assert len(acquired.leases) == len(asked)
        await asyncio.gather(
            *(waited(store.release(turn, delay=2.5, state=STATE)) for turn in acquired.leases)
        )
        acquiring += answered_at - began_at
        releasing += time.perf_counter() - answered_at
    return acquiring / len(hosts) * 1e6, releasing / len(hosts) * 1e6


async def alone(make: Callable[[], PolitenessStore], batch: int, count: int) -> tuple[float, float]:
    store = make()
    await waited(store.open())
    hosts = [f"host{number}.test" for number in range(count)]
    measured = await turns(store, hosts, batch)
    await waited(store.close())
    return measured


async def contend(path: Path, name: int, seconds: float) -> int:
    """Take turns for some seconds; return how many."""
    store, done = SqliteStore(path), 0
    await waited(store.open())
    end_at = time.monotonic() + seconds
    while time.monotonic() < end_at:
        await turns(store, [f"{name}-{done + number}.test" for number in range(BATCH)], BATCH)
        done += BATCH
    await waited(store.close())
    return done


def contender(path: Path, name: int, seconds: float) -> int:
    return asyncio.run(contend(path, name, seconds))


def main(seconds: float) -> None:
    with tempfile.TemporaryDirectory() as folder:
        stores: dict[str, Callable[[], PolitenessStore]] = {
            "memory": MemoryStore,
            "sqlite": lambda: SqliteStore(Path(tempfile.mkdtemp(dir=folder), "polite.db")),
        }
        print(f"{'µs per host':12}{'acquire':>10}{'release':>10}")
        for label, make in stores.items():
            for batch in (1, BATCH):
                runs = [asyncio.run(alone(make, batch, 2048)) for _ in range(ROUNDS)]
                acquire, release = (min(times) for times in zip(*runs, strict=True))
                print(f"{label} × {batch:<4}{acquire:>10.1f}{release:>10.1f}")
        path = Path(folder, "shared.db")
        for processes in (1, PROCESSES):
            with multiprocessing.get_context("spawn").Pool(processes) as pool:
                done = pool.starmap(contender, [(path, n, seconds) for n in range(processes)])
            print(
                f"sqlite, {processes} processes: {sum(done) / seconds:.0f} turns/s together, "
                f"{min(done) / seconds:.0f} for the slowest"
            )


if __name__ == "__main__":
    main(float(sys.argv[1]) if len(sys.argv) > 1 else 2.0)
