"""A forward proxy for http URLs that records what goes through it, in a thread of the test process.

Rules: it listens on loopback; one request per connection to the origin; it forwards nothing that
is meant for itself.  With a login it asks for it as RFC 9110 section 11.7 says.
"""

from __future__ import annotations

import base64
import http.client
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit

_ITS_OWN = {"proxy-authorization", "proxy-connection", "connection", "host"}
_NOT_COPIED = {"connection", "content-length", "transfer-encoding"}


class Proxy(ThreadingHTTPServer):
    """A proxy that is running; `urls` is what went through it, in order.

    Args:
        login: "user:password" that clients have to send; None lets everybody pass.
    """

    daemon_threads = True

    def __init__(self, login: str | None = None) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.urls: list[str] = []
        self.refused: list[str] = []
        self.login = login
        credentials = base64.b64encode(login.encode()).decode() if login else ""
        self.expected = f"Basic {credentials}" if login else None

    def url(self, *, login: bool = True) -> str:
        """Return the proxy's URL, with its login or without."""
        user = f"{self.login}@" if self.login and login else ""
        return f"http://{user}127.0.0.1:{self.server_address[1]}"


@contextmanager
def running(login: str | None = None) -> Iterator[Proxy]:
    """Run a proxy meanwhile."""
    with Proxy(login) as proxy:
        thread = threading.Thread(target=lambda: proxy.serve_forever(poll_interval=0.02))
        thread.start()
        try:
            yield proxy
        finally:
            proxy.shutdown()
            thread.join()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Proxy

    def do_GET(self) -> None:
        if self.server.expected not in (None, self.headers["Proxy-Authorization"]):
            self.server.refused.append(self.path)
            self._answer(407, [("Proxy-Authenticate", "Basic")], b"")
            return
        self.server.urls.append(self.path)
        parts = urlsplit(self.path)
        headers = {k: v for k, v in self.headers.items() if k.lower() not in _ITS_OWN}
        origin = http.client.HTTPConnection(parts.netloc, timeout=20)
        try:
            path = f"{parts.path}?{parts.query}" if parts.query else parts.path
            origin.request(self.command, path, headers=headers)
            answer = origin.getresponse()
            self._answer(answer.status, answer.getheaders(), answer.read())
        finally:
            origin.close()

    def _answer(self, status: int, headers: list[tuple[str, str]], body: bytes) -> None:
        self.send_response_only(status)
        for name, value in headers:
            if name.lower() not in _NOT_COPIED:
                self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
