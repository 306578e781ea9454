"""A crawl in a process of its own, as far as a store can see; run by the tests.

By hand: `python crawl_apart.py STATE COMMAND ...`; each answer is one line of JSON.

- `hold HOST`: lease a host; then, for each line of standard input, a number of seconds, release it.
- `fork HOST`: lease a host, and fork a child that sleeps; tell its process id.
- `fetch HOSTS SECONDS TIMES`: for *SECONDS*, lease whatever of *HOSTS* (comma-separated) is due,
  hold it for 10 ms and leave it alone for *TIMES* as long; tell each turn when it begins and ends.
- `reactor NAME`: lease a host under the reactor of that name ("none": asyncio alone) and tell in
  which thread the answer came.
- `full`: lease hosts until the disk is full (a limit of file size), then make room and go on.
- `unwritable`: become nobody and lease a host.
"""

from __future__ import annotations

import asyncio
import importlib
import json
import os
import resource
import sys
import threading
import time
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, TypeVar

from scrapy.utils.reactor import install_reactor
from twisted.internet.defer import Deferred

from scrapy_polite.policy.host import HostState
from scrapy_polite.state.protocol import Lease, StoreUnavailable
from scrapy_polite.state.sqlite import SqliteStore

T = TypeVar("T")
NOBODY = 65534
REACTORS = {
    "asyncio": "twisted.internet.asyncioreactor.AsyncioSelectorReactor",
    "select": "twisted.internet.selectreactor.SelectReactor",
}


def tell(**what: object) -> None:
    print(json.dumps(what), flush=True)


def waited(coroutine: Coroutine[Deferred[Any], Any, T]) -> Awaitable[T]:
    return Deferred.fromCoroutine(coroutine).asFuture(asyncio.get_running_loop())


async def lease(store: SqliteStore, host: str) -> Lease:
    acquired = await waited(store.acquire([host], limit=1))
    return acquired.leases[0]


async def hold(store: SqliteStore, host: str) -> None:
    held = await lease(store, host)
    tell(host=host)
    while line := await asyncio.to_thread(sys.stdin.readline):
        released = store.release(held, delay=float(line), state=HostState())
        tell(released=await waited(released))


async def fork(store: SqliteStore, host: str) -> None:
    await lease(store, host)
    child = os.fork()
    if not child:
        time.sleep(60.0)
        os._exit(0)
    tell(child=child)
    await asyncio.sleep(60.0)


async def fetch(store: SqliteStore, hosts: str, seconds: str, times: str) -> None:
    end_at = time.monotonic() + float(seconds)
    while time.monotonic() < end_at:
        acquired = await waited(store.acquire(hosts.split(","), limit=2))
        for turn in acquired.leases:
            began_at = time.monotonic()
            tell(host=turn.host, began_at=began_at)
            await asyncio.sleep(0.01)
            ended_at = time.monotonic()
            delay = float(times) * (ended_at - began_at)
            tell(host=turn.host, ended_at=ended_at, delay=delay)
            await waited(store.release(turn, delay=delay, state=HostState(delay=delay)))
        await asyncio.sleep(0.002)


async def full(store: SqliteStore) -> None:
    kept = []
    resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, resource.RLIM_INFINITY))
    try:
        for number in range(10_000):
            kept.append(await lease(store, f"{number:0200}.test"))
    except StoreUnavailable as error:
        tell(kept=len(kept), error=str(error))
    resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    tell(lost=sum(found is None for found in await waited(store.renew(kept))))
    tell(host=(await lease(store, "last.test")).host)


async def unwritable(store: SqliteStore) -> None:
    if os.getuid() == 0:
        os.setgroups([])
        os.setgid(NOBODY)
        os.setuid(NOBODY)
    try:
        tell(host=(await lease(store, "a.test")).host)
    except StoreUnavailable as error:
        tell(error=str(error))


def under_reactor(store: SqliteStore, name: str) -> None:
    install_reactor(REACTORS[name])
    reactor: Any = importlib.import_module("twisted.internet.reactor")

    async def ask() -> None:
        try:
            acquired = await store.acquire(["a.test"], limit=1)
            tell(host=acquired.leases[0].host, thread=threading.current_thread().name)
            await store.close()
        finally:
            reactor.stop()

    reactor.callWhenRunning(lambda: Deferred.fromCoroutine(ask()))
    reactor.run()


async def without_reactor(store: SqliteStore) -> None:
    tell(
        host=(await lease(store, "a.test")).host,
        thread=threading.current_thread().name,
        reactor="twisted.internet.reactor" in sys.modules,
    )


async def run(command: Callable[..., Coroutine[Any, Any, None]], *arguments: Any) -> None:
    store: SqliteStore = arguments[0]
    await command(*arguments)
    await waited(store.close())


def main(state: str, command: str, *arguments: str) -> None:
    store = SqliteStore(state)
    if command == "reactor" and arguments != ("none",):
        under_reactor(store, *arguments)
    elif command == "reactor":
        asyncio.run(run(without_reactor, store))
    else:
        asyncio.run(run(COMMANDS[command], store, *arguments))


COMMANDS: dict[str, Callable[..., Coroutine[Any, Any, None]]] = {
    "hold": hold,
    "fork": fork,
    "fetch": fetch,
    "full": full,
    "unwritable": unwritable,
}

if __name__ == "__main__":
    main(*sys.argv[1:])
