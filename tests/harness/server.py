"""A recording HTTP/1.1 server for many loopback hosts, in a thread of the test process.

Rules: it listens in 127.0.0.0/8 only, and only on hosts that it was asked for, so that any other
address of its block refuses connections. All sites of a `Web` share one free port unless they ask
for another. Each test takes a block of its own, so tests share no host.
"""

from __future__ import annotations

import asyncio
import itertools
import os
import socket
import ssl
import threading
from collections.abc import Callable, Coroutine
from ipaddress import IPv4Network
from typing import Any, TypeVar

from harness.connection import Connection
from harness.pages import Pages, Site
from harness.record import Arrival

T = TypeVar("T")

_blocks = itertools.count(os.getpid() * 1009)  # runs side by side start far from each other


def loopback_block() -> IPv4Network:
    """Return a block of 254 loopback hosts that no other test of this run gets."""
    high, low = divmod(next(_blocks) % (200 * 256), 256)
    return IPv4Network(f"127.{16 + high}.{low}.0/24")


class Web:
    """A set of sites that answer as told and record who asked; use it in a `with` statement.

    Args:
        on_arrival: Called in the server's thread with each arrival as it is recorded.
        tls: What it serves https with; None serves http.
    """

    kind = Connection

    def __init__(
        self,
        on_arrival: Callable[[Arrival], object] | None = None,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        self._tls = tls
        self._scheme = "https" if tls else "http"
        self.block = loopback_block()
        self.port = 0
        self._free_hosts = self.block.hosts()
        self._on_arrival = on_arrival
        self._log: list[Arrival] = []
        self._errors: list[Exception] = []
        self._numbers = itertools.count(1)
        self._connections: set[Connection] = set()
        self._servers: list[asyncio.Server] = []
        self._ready = threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._run()), daemon=True)

    def __enter__(self) -> Web:
        self._thread.start()
        self._ready.wait()
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join()
        if self._errors and kind is None:
            raise self._errors[0]

    def site(self, pages: Pages, host: str | None = None, port: int | None = None) -> Site:
        """Start a site.

        Args:
            pages: What it answers, by path (see `pages`).
            host: A loopback address or a name of one; None takes the next free one of the block.
            port: None for the web's port, 0 for another free one.
        """
        host = host or str(next(self._free_hosts))
        site = self._call(self._listen(host, self.port if port is None else port, pages))
        if port is None:
            self.port = site.port
        return site

    def deserted(self) -> Site:
        """Return a site that nobody serves: its connections are refused."""
        return Site(str(next(self._free_hosts)), self.port or 9, {}, scheme=self._scheme)

    def arrivals(self, host: str | None = None) -> list[Arrival]:
        """Return what was recorded so far, in order of start, of one host or (None) of all."""
        log = self._call(self._settled())
        return sorted((a for a in log if host in (None, a.host)), key=lambda a: a.start_at)

    def _call(self, work: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(10)

    async def _run(self) -> None:
        self._loop, self._stop = asyncio.get_running_loop(), asyncio.Event()
        self._ready.set()
        await self._stop.wait()
        for server in self._servers:
            server.close()
        for connection in list(self._connections):
            connection.transport.abort()
        await asyncio.sleep(0)  # lets the transports say goodbye, which records open requests

    async def _listen(self, host: str, port: int, pages: Pages) -> Site:
        if not socket.gethostbyname(host).startswith("127."):
            raise ValueError(f"{host} is no loopback host")
        sites: list[Site] = []  # the port is known only once the socket is bound
        server = await asyncio.get_running_loop().create_server(
            lambda: self._accept(sites[0]),
            host,
            port,
            family=socket.AF_INET,
            backlog=1024,
            ssl=self._tls,
        )
        self._servers.append(server)
        port = server.sockets[0].getsockname()[1]
        sites.append(Site(host, port, pages, scheme=self._scheme))
        return sites[0]

    def _accept(self, site: Site) -> asyncio.BaseProtocol:
        """Return our end of a new connection."""
        return self._connection(site, next(self._numbers))

    def _connection(self, site: Site, number: int) -> Connection:
        return self.kind(site, number, self._connections, self._record, self._errors.append)

    async def _settled(self) -> list[Arrival]:
        for _ in range(3):  # lets requests whose last octet has just left write their records
            await asyncio.sleep(0)
        return list(self._log)

    def _record(self, arrival: Arrival) -> None:
        self._log.append(arrival)
        if self._on_arrival:
            self._on_arrival(arrival)
