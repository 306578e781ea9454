"""Signs each request as late as it leaves, when no middleware can change it any more.

Rules:

- What is signed is what the server will read: a download handler may write a URL's path in its own
  way, and HTTP/2 has the authority of the URL where others have that of the Host header.
- The headers are there while the download lasts.  So they are not in a cache, in a queue on disk,
  or on a copy of the request that goes somewhere else.
- What cannot be signed does not leave: its download fails.
"""

from __future__ import annotations

import re
import secrets
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from scrapy.utils.httpobj import urlparse_cached
from scrapy.utils.python import to_bytes
from twisted.web.client import URI

from scrapy_polite import engine
from scrapy_polite.identity.signature import HEADERS, Signer, Target, authority_of
from scrapy_polite.runtime import handlers

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.crawler import Crawler

_NONCE_BYTES = 18
_PLAIN = re.compile(r"(?!//)(?:/(?!\.)[A-Za-z0-9._~-]*)*")
"""Every client writes such a path as it is; of two slashes at its start a client may make more."""


class Signing:
    """Signs the requests of a crawl.

    Args:
        signer: None where no key is set; then nothing is done.
        wall: epoch seconds.
    """

    def __init__(self, crawler: Crawler, signer: Signer | None, wall: Callable[[], float]) -> None:
        self._crawler = crawler
        self._signer = signer
        self._wall = wall

    @contextmanager
    def signed(self, request: Request) -> Iterator[None]:
        """Have a request signed as long as the block lasts.

        Raises:
            ValueError: it has characters that no request can carry.
        """
        if self._signer is None or not request.url.startswith(("http:", "https:")):
            yield
            return
        self._sign(request, self._signer)
        try:
            yield
        finally:
            for name in HEADERS:
                request.headers.pop(name, None)

    def leaves(self, request: Request) -> None:
        """Sign a request for a downloader that is not ours, as it enters its download slot."""
        if self._signer is not None and not engine.has_our_downloader(self._crawler):
            self._sign(request, self._signer)

    def _sign(self, request: Request, signer: Signer) -> None:
        target = target_of(self._crawler, request)
        nonce = secrets.token_urlsafe(_NONCE_BYTES)
        for name, value in signer.headers(target, now=self._wall(), nonce=nonce).items():
            request.headers[name] = value


def target_of(crawler: Crawler, request: Request) -> Target:
    """Return what a request will ask for, as its download handler writes it."""
    url = urlsplit(request.url)
    handler, _ = engine.handler_of(crawler, url.scheme)
    host = request.headers.get("Host")
    written, path = host.decode("latin-1") if host is not None else url.netloc, url.path
    if handlers.is_http2(handler):
        written, path = url.netloc, urlparse_cached(request).path  # without what follows a `;`
    elif not _PLAIN.fullmatch(path):
        path = _path_of(handler, request)
    return Target(request.method, authority_of(url.scheme, written), path)


def _path_of(handler: object, request: Request) -> str:
    """Return a request's path as the client behind a handler writes it."""
    module = sys.modules.get(type(handler).__module__)
    httpx = getattr(module, "httpx", None)
    if httpx is not None:
        sent: bytes = httpx.URL(request.url).raw_path
        return sent.partition(b"?")[0].decode("ascii")
    yarl = getattr(module, "yarl", None)
    if yarl is not None:
        return str(yarl.URL(request.url, encoded="verbatim_url" in request.meta).raw_path)
    uri = URI.fromBytes(to_bytes(request.url))  # type: ignore[no-untyped-call]
    form: bytes = uri.originForm
    return form.partition(b"?")[0].decode("ascii")
