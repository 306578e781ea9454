"""Webs that serve https: HTTP/1.1 or HTTP/2, with a certificate made for the test run.

Rules: an HTTP/2 stream looks to its `Connection` like a connection with one request of HTTP/1.1,
so pages, records and their instants are the same; `Arrival.connection` numbers what the client
opened, and streams share it. Nothing is sent beyond the client's flow control window. Connections
that negotiate no HTTP/2 are closed.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import cache
from typing import Any

import trustme
from h2.config import H2Configuration
from h2.connection import H2Connection
from h2.events import RequestReceived, StreamEnded, StreamReset, WindowUpdated
from h2.exceptions import ProtocolError, StreamClosedError

from harness.connection import Connection
from harness.pages import Site
from harness.server import Web

_HOP_BY_HOP = {"connection", "transfer-encoding"}


@cache
def context(protocol: str) -> ssl.SSLContext:
    """Return a server's context that offers one protocol, "http/1.1" or "h2"."""
    offered = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    trustme.CA().issue_cert("localhost", "127.0.0.1").configure_cert(offered)
    offered.set_alpn_protocols([protocol])
    return offered


class _Closing(Connection):
    """A connection that ends both ways at once, else Python 3.10 warns of its TLS transport."""

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        self.transport.close()


class SecureWeb(Web):
    """A web whose sites speak HTTP/1.1 over TLS."""

    kind = _Closing

    def __init__(self) -> None:
        super().__init__(tls=context("http/1.1"))


class Http2Web(Web):
    """A web whose sites speak HTTP/2, and nothing else."""

    def __init__(self) -> None:
        super().__init__(tls=context("h2"))

    def _accept(self, site: Site) -> asyncio.BaseProtocol:
        number = next(self._numbers)
        return _Http2(lambda: self._connection(site, number), self._connections)


class _Http2(asyncio.Protocol):
    """The server's end of an HTTP/2 connection."""

    transport: asyncio.Transport

    def __init__(self, make: Callable[[], Connection], everyone: set[Any]) -> None:
        self._make, self._everyone = make, everyone
        self._streams: dict[int, _Stream] = {}
        self._heads: dict[int, bytes] = {}
        self.h2 = H2Connection(H2Configuration(client_side=False, header_encoding="latin-1"))

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport
        if transport.get_extra_info("ssl_object").selected_alpn_protocol() != "h2":
            transport.close()
            return
        self._everyone.add(self)
        self.h2.initiate_connection()
        self.flush()

    def data_received(self, data: bytes) -> None:
        try:
            events = self.h2.receive_data(data)
        except ProtocolError:
            self.transport.abort()
            return
        for event in events:
            if isinstance(event, RequestReceived):
                self._heads[event.stream_id] = _head(event.headers)
            elif isinstance(event, StreamEnded):
                self._begin(event.stream_id)
            elif isinstance(event, StreamReset) and event.stream_id in self._streams:
                self._streams.pop(event.stream_id).leave()
            elif isinstance(event, WindowUpdated):
                for stream in list(self._streams.values()):
                    stream.write(b"")  # there may be room again
        self.flush()

    def connection_lost(self, exc: Exception | None) -> None:
        self._everyone.discard(self)
        self.transport.close()
        for stream in self._streams.values():
            stream.leave()

    def flush(self) -> None:
        """Write what the protocol has to say."""
        self.transport.write(self.h2.data_to_send())

    def ended(self, number: int) -> None:
        """A stream is fully answered: forget it once its connection has recorded that."""
        stream = self._streams.pop(number, None)
        if stream is not None:
            asyncio.get_running_loop().call_soon(stream.leave)

    def _begin(self, number: int) -> None:
        connection = self._make()
        self._streams[number] = _Stream(self, number, connection)
        connection.connection_made(self._streams[number])
        connection.data_received(self._heads.pop(number))


class _Stream(asyncio.Transport):
    """A stream as the transport of a connection that has one request."""

    def __init__(self, whole: _Http2, number: int, connection: Connection) -> None:
        super().__init__()
        self._whole, self._number, self._connection = whole, number, connection
        self._unsent = b""
        self._left = -1  # octets of the body to come; -1 before the head

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        """Do nothing: the writer is always paused until all is sent."""

    def is_closing(self) -> bool:
        return self._left == 0

    def write(self, data: Any) -> None:
        self._unsent += data
        with suppress(StreamClosedError):  # the client has left, and we are about to hear it
            if self._left < 0 and b"\r\n\r\n" in self._unsent:
                head, _, self._unsent = self._unsent.partition(b"\r\n\r\n")
                self._send_head(head.decode("latin-1").split("\r\n"))
            if self._left >= 0:
                self.pump()

    def pump(self) -> None:
        """Send what the window has room for, and end the stream after the last octet."""
        h2, number = self._whole.h2, self._number
        while self._unsent:
            room = min(h2.local_flow_control_window(number), h2.max_outbound_frame_size)
            piece, self._unsent = self._unsent[:room], self._unsent[room:]
            if not piece:
                self._connection.pause_writing()
                break
            self._left -= len(piece)
            h2.send_data(number, piece, end_stream=not self._left)
        else:
            self._connection.resume_writing()
        self._whole.flush()
        if not self._left and not self._unsent:
            self._whole.ended(number)

    def leave(self) -> None:
        """Nothing more goes either way."""
        self._connection.connection_lost(None)

    def _send_head(self, lines: list[str]) -> None:
        fields = [line.partition(": ")[::2] for line in lines[1:]]
        headers = [(name.lower(), value) for name, value in fields]
        self._left = int(dict(headers).get("content-length", 0))
        kept = [(name, value) for name, value in headers if name not in _HOP_BY_HOP]
        status = (":status", lines[0].split(" ")[1])
        self._whole.h2.send_headers(self._number, [status, *kept], end_stream=not self._left)

    def close(self) -> None:
        """End the connection that the stream is part of."""
        self._whole.h2.close_connection()
        self._whole.flush()
        self._whole.transport.close()

    def abort(self) -> None:
        """Reset the connection."""
        self._whole.transport.abort()


def _head(headers: Iterable[tuple[Any, Any]]) -> bytes:
    """Return the headers of a request as the head of one of HTTP/1.1."""
    fields = dict(headers)
    method, path, host = (fields.pop(f":{name}") for name in ("method", "path", "authority"))
    lines = [f"{name}: {value}" for name, value in fields.items() if name != ":scheme"]
    head = [f"{method} {path} HTTP/2", f"host: {host}", *lines, "", ""]
    return "\r\n".join(head).encode("latin-1")
