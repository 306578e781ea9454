"""One connection of a client: reads requests, answers them in order, records each.

Rules: the start of an arrival is read after its request came, and its end before the last octets
leave: so a wait is never shorter in the record than it was for the client, and an answered fetch
never longer. A request is recorded once its answer is fully written or its connection is gone.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

from harness.pages import Answer, Site
from harness.record import Arrival

_PIECE = 65_536  # octets


class Connection(asyncio.Protocol):
    """The server's end of a connection.

    Args:
        site: What the client talks to.
        number: Number of the connection.
        everyone: The open connections; this one enters and leaves by itself.
        record: Called with each arrival.
        complain: Called with the error of a page that is a function.
    """

    transport: asyncio.Transport

    def __init__(
        self,
        site: Site,
        number: int,
        everyone: set[Connection],
        record: Callable[[Arrival], None],
        complain: Callable[[Exception], None],
    ) -> None:
        self._site, self._number = site, number
        self._everyone, self._record, self._complain = everyone, record, complain
        self._unread = b""
        self._requests: asyncio.Queue[tuple[float, bytes]] = asyncio.Queue()
        self._drained = asyncio.Event()
        self._drained.set()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport
        # Drained means: the kernel has every octet, but perhaps one; TLS would stay paused at 0.
        transport.set_write_buffer_limits(high=1, low=0)
        self._everyone.add(self)
        self._task = asyncio.get_running_loop().create_task(self._serve())

    def data_received(self, data: bytes) -> None:
        self._unread += data
        while b"\r\n\r\n" in self._unread:
            head, _, rest = self._unread.partition(b"\r\n\r\n")
            length = int(_headers(head).get("content-length", 0))
            if len(rest) < length:
                return
            self._unread = rest[length:]
            self._requests.put_nowait((time.monotonic(), head))

    def pause_writing(self) -> None:
        self._drained.clear()

    def resume_writing(self) -> None:
        self._drained.set()

    def connection_lost(self, exc: Exception | None) -> None:
        self._everyone.discard(self)
        self._task.cancel()

    async def _serve(self) -> None:
        while not self.transport.is_closing():
            start_at, head = await self._requests.get()
            method, path, _ = head.split(b"\r\n")[0].decode("latin-1").split(" ", 2)
            headers = _headers(head)
            try:
                answer = self._site.answer(method, path, headers)
            except Exception as error:  # what a page function raised
                self._complain(error)
                answer = Answer(500)
            await self._answer(answer, method, path, headers, start_at)
            if answer.closes() or headers.get("connection") == "close":
                self.transport.close()

    async def _answer(
        self, answer: Answer, method: str, path: str, headers: dict[str, str], start_at: float
    ) -> None:
        status, ended, end_at = None, "left", 0.0
        try:
            if answer.hang:
                await asyncio.Event().wait()  # until the connection is lost
            if answer.delay:
                await asyncio.sleep(answer.delay)
            if answer.drop:
                ended, end_at = "dropped", time.monotonic()
                self.transport.abort()
                return
            status = answer.status
            head, body = answer.octets(path)
            if answer.body_delay:
                await self._send(head)
                head = b""
                await asyncio.sleep(answer.body_delay)
            octets = head + (b"" if method == "HEAD" else body)
            while answer.drip and len(octets) > 1:
                await asyncio.sleep(answer.drip)
                await self._send(octets[:1])
                octets = octets[1:]
            end_at = await self._send(octets)
            ended = "answered"
        finally:
            self._record(
                Arrival(
                    host=self._site.host,
                    port=self._site.port,
                    path=path,
                    method=method,
                    start_at=start_at,
                    end_at=end_at or time.monotonic(),
                    status=status,
                    ended=ended,
                    headers=headers,
                    connection=self._number,
                )
            )

    async def _send(self, octets: bytes) -> float:
        """Send, and return the instant before the last piece: no client is done earlier."""
        last = max(len(octets) - 1, 0) // _PIECE * _PIECE
        for begin in range(0, last, _PIECE):
            self.transport.write(octets[begin : begin + _PIECE])
            await self._drained.wait()
            if self.transport.is_closing():
                await asyncio.Event().wait()  # the client has left; we are told, and cancelled
        end_at = time.monotonic()
        self.transport.write(octets[last:])
        await self._drained.wait()
        return end_at


def _headers(head: bytes) -> dict[str, str]:
    """Return the headers of a request, names in lower case, repeated ones joined by ", "."""
    headers: dict[str, str] = {}
    for line in head.decode("latin-1").split("\r\n")[1:]:
        name, _, value = line.partition(":")
        key, value = name.strip().lower(), value.strip()
        headers[key] = f"{headers[key]}, {value}" if key in headers else value
    return headers
