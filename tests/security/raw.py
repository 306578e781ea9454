"""A server that sends the octets it is told to, good HTTP or not.

Rules: it listens on one loopback address of its own; each connection has a thread.  A site maps
paths to scripts; a script is octets to send and seconds to pause, in turn, and the connection is
closed at its end.  A generator may go on for ever: it ends when the client leaves.
"""

from __future__ import annotations

import socketserver
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from typing import TypeAlias

from harness.server import loopback_block

Script: TypeAlias = Iterable[bytes | float]
Scripts: TypeAlias = Mapping[str, Callable[[], Script]]
NOT_FOUND = b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"


def ok(body: bytes = b"", *headers: bytes) -> Callable[[], Script]:
    """Return a script that answers with a body and more header lines."""
    head = [b"HTTP/1.1 200 OK", b"Content-Length: %d" % len(body), b"Connection: close", *headers]
    return lambda: [b"\r\n".join([*head, b"", body])]


class Raw:
    """One site; use it in a `with` statement. `asked` has the requests' first lines, in order."""

    def __init__(self, scripts: Scripts) -> None:
        self.asked: list[str] = []
        site = self

        class Handler(socketserver.BaseRequestHandler):
            def handle(self) -> None:
                site._serve(self.request.makefile("rb"), self.request.sendall)

        self._scripts = scripts
        self.host = str(next(loopback_block().hosts()))
        self._server = _Server((self.host, 0), Handler)
        self.port = self._server.server_address[1]

    def __enter__(self) -> Raw:
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    def url(self, path: str = "/") -> str:
        """Return the absolute URL of a path on this site."""
        return f"http://{self.host}:{self.port}{path}"

    def _serve(self, lines: Iterable[bytes], send: Callable[[bytes], object]) -> None:
        try:
            head = iter(lines)
            first = next(head, b"").decode("latin-1").strip()
            for line in head:
                if not line.strip():
                    break
            if not first:
                return
            self.asked.append(first)
            script = self._scripts.get(first.split(" ")[1]) or self._scripts.get("*")
            for part in script() if script else [NOT_FOUND]:
                if isinstance(part, bytes):
                    send(part)
                else:
                    time.sleep(part)
        except OSError:  # the client left
            pass


class _Server(socketserver.ThreadingTCPServer):
    daemon_threads = True
    block_on_close = False
    request_queue_size = 128
    allow_reuse_address = True
