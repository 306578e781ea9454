"""The sockets of the demo web, and its log.

The log has one JSON object a line, written when an answer has gone out or its visitor has left:
`host`, `path`, `start`, `end`, `status`, `user_agent`, `sender` (the From header), `retry_after`.
`start` is the moment a request had arrived and `end` the moment before the last octet leaves, both
in monotonic seconds. Read there, a wait in the log is never shorter than the visitor's own, and a
fetch in the log never longer.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import socket
import time
from collections.abc import AsyncIterator, Sequence
from http import HTTPStatus
from typing import TextIO

from .answers import Answer, SiteAnswers
from .sites import SITES, Site

IDLE_SECONDS = 60.0
HEAD_BYTES = 16_384


async def read_request(reader: asyncio.StreamReader) -> tuple[str, dict[str, str]] | None:
    """The path and the headers (lower-case names) of the next request; None when there is none.

    Raises:
        ValueError: It is not HTTP, or its head is too long.
    """
    try:
        head = await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), IDLE_SECONDS)
    except (asyncio.IncompleteReadError, asyncio.TimeoutError, ConnectionError):
        return None
    except asyncio.LimitOverrunError as error:
        raise ValueError("the head is too long") from error
    request, *lines = head.decode("latin-1").strip().split("\r\n")
    _method, target, _version = request.split(" ")
    fields = (line.partition(":") for line in lines)
    headers = {name.lower(): value.strip() for name, _, value in fields}
    return target.partition("?")[0], headers


def response_head(answer: Answer, size_bytes: int) -> bytes:
    """The status line and the headers of an answer."""
    lines = [
        f"HTTP/1.1 {answer.status} {HTTPStatus(answer.status).phrase}",
        f"Content-Type: {answer.content_type}",
        f"Content-Length: {size_bytes}",
    ]
    if answer.retry_after is not None:
        lines.append(f"Retry-After: {answer.retry_after}")
    if answer.location is not None:
        lines.append(f"Location: {answer.location}")
    return "\r\n".join([*lines, "", ""]).encode("latin-1")


class SiteServer:
    """One site on its socket.

    Args:
        site: Which site.
        port: The port of the whole web.
        log: Where the lines go; None to keep no log.
    """

    def __init__(self, site: Site, port: int, log: TextIO | None = None) -> None:
        self.site = site
        self._answers = SiteAnswers(site, port)
        self._log = log

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer the requests of one connection until the visitor goes."""
        try:
            while (request := await read_request(reader)) is not None:
                await self._respond(writer, *request)
        except (ConnectionError, ValueError):
            pass  # the visitor has gone, or does not speak HTTP
        finally:
            writer.close()

    async def _respond(
        self, writer: asyncio.StreamWriter, path: str, headers: dict[str, str]
    ) -> None:
        start = time.monotonic()
        answer = self._answers.answer(path, start)
        end = None
        try:
            body = answer.body.encode()
            # A third of the time before the headers, the rest before the last octets: whoever
            # measures the headers only takes this site to be three times as fast as it is.
            await asyncio.sleep(self.site.seconds / 3)
            writer.write(response_head(answer, len(body)) + body[:-1])
            await writer.drain()
            await asyncio.sleep(self.site.seconds * 2 / 3)
            end = time.monotonic()
            writer.write(body[-1:])
            await writer.drain()
        finally:
            self._write_log(path, headers, answer, start, end or time.monotonic())

    def _write_log(
        self, path: str, headers: dict[str, str], answer: Answer, start: float, end: float
    ) -> None:
        if self._log is None:
            return
        entry = {
            "host": self.site.address,
            "path": path,
            "start": start,
            "end": end,
            "status": answer.status,
            "user_agent": headers.get("user-agent"),
            "sender": headers.get("from"),
            "retry_after": answer.retry_after,
        }
        self._log.write(json.dumps(entry) + "\n")
        self._log.flush()


def open_sockets(port: int, sites: Sequence[Site]) -> list[socket.socket]:
    """A listening socket for every site, all on one port; 0 takes a free one.

    Raises:
        OSError: An address is not there (macOS knows 127.0.0.1 only) or the port is taken.
    """
    with contextlib.ExitStack() as stack:
        sockets = []
        for site in sites:
            sockets.append(stack.enter_context(socket.create_server((site.address, port))))
            port = sockets[-1].getsockname()[1]
        stack.pop_all()
    return sockets


@contextlib.asynccontextmanager
async def running_web(
    port: int = 0, log: TextIO | None = None, sites: Sequence[Site] = SITES
) -> AsyncIterator[int]:
    """The web, answering for as long as the block runs; the block gets the port.

    Args:
        port: The port of every site; 0 for a free one.
        log: Where the log goes; None to keep none.
        sites: Which sites to open.

    Raises:
        OSError: As `open_sockets`.
    """
    sockets = open_sockets(port, sites)
    port = sockets[0].getsockname()[1]
    async with contextlib.AsyncExitStack() as stack:
        for site, listener in zip(sites, sockets, strict=True):
            serve = SiteServer(site, port, log).serve
            server = await asyncio.start_server(serve, sock=listener, limit=HEAD_BYTES)
            stack.callback(server.close)
        yield port
