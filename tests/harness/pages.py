"""What the sites of a test web answer.

Rules: a site maps paths to pages. The path with its query is looked up first, then without it, then
"*"; what nothing matches is answered 404. A page is one of

- an `Answer`, or short for one: an int (a status), text or bytes (a body), a dict (its fields);
- a list of pages, taken in turn, the last one repeated;
- a function from `Asked` to a page.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any, TypeAlias

Headers: TypeAlias = Mapping[str, str] | Sequence[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class Answer:
    """What the server does with one request.

    Args:
        status: Status code.
        headers: Header names and values, as a dict or as pairs. Content-Type and Content-Length
            are added unless given; `Connection: close` closes after the answer.
        body: Body; text is sent as UTF-8.
        size_bytes: So many filler octets are added to the body.
        delay: Seconds before the headers.
        body_delay: Seconds between the headers and the body.
        drip: Seconds before each octet, from the head to the end of the body.
        drop: Reset the connection, after `delay`, instead of answering.
        hang: Never answer.
    """

    status: int = 200
    headers: Headers = ()
    body: str | bytes = b""
    size_bytes: int = 0
    delay: float = 0.0
    body_delay: float = 0.0
    drip: float = 0.0
    drop: bool = False
    hang: bool = False

    def octets(self, path: str) -> tuple[bytes, bytes]:
        """Return the head and the body as they go over the wire."""
        body = self.body.encode() if isinstance(self.body, str) else self.body
        body += b"x" * self.size_bytes
        bodiless = self.status in (HTTPStatus.NO_CONTENT, HTTPStatus.NOT_MODIFIED)
        headers = list(self.headers.items() if isinstance(self.headers, Mapping) else self.headers)
        given = {name.lower() for name, _ in headers}
        if "content-type" not in given:
            kind = "plain" if path == "/robots.txt" else "html"
            headers.append(("Content-Type", f"text/{kind}; charset=utf-8"))
        if not given & {"content-length", "transfer-encoding"} and not bodiless:
            headers.append(("Content-Length", str(len(body))))
        lines = [f"HTTP/1.1 {self.status} Harness", *(f"{n}: {v}" for n, v in headers)]
        return "\r\n".join([*lines, "", ""]).encode("latin-1"), b"" if bodiless else body

    def closes(self) -> bool:
        """Say whether the connection is closed after this answer."""
        headers = dict(self.headers)
        return any(n.lower() == "connection" and v == "close" for n, v in headers.items())


@dataclass(frozen=True, slots=True)
class Asked:
    """A request, as a page that is a function gets it."""

    host: str
    port: int
    path: str
    method: str
    headers: Mapping[str, str]
    count: int
    """How many requests this page has had before."""


Page: TypeAlias = Answer | int | str | bytes | dict[str, Any] | list[Any] | Callable[[Asked], Any]
Pages: TypeAlias = Mapping[str, Page]


def answer_of(page: Page, asked: Asked) -> Answer:
    """Return the answer that a page gives to a request.

    >>> asked = Asked("127.0.0.1", 80, "/", "GET", {}, count=1)
    >>> answer_of([200, 503], asked).status
    503
    """
    if isinstance(page, Answer):
        return page
    if isinstance(page, int):
        return Answer(page)
    if isinstance(page, (str, bytes)):
        return Answer(body=page)
    if isinstance(page, dict):
        return Answer(**page)
    if isinstance(page, list):
        return answer_of(page[min(asked.count, len(page) - 1)], asked)
    return answer_of(page(asked), asked)


@dataclass(frozen=True, slots=True)
class Site:
    """One host of a web, on one port."""

    host: str
    port: int
    pages: Pages
    counts: dict[str, int] = field(default_factory=dict, compare=False, repr=False)
    scheme: str = "http"

    def url(self, path: str = "/") -> str:
        """Return the absolute URL of a path on this site."""
        return f"{self.scheme}://{self.host}:{self.port}{path}"

    def answer(self, method: str, path: str, headers: Mapping[str, str]) -> Answer:
        """Return the answer to a request, and count it."""
        key = next((k for k in (path, path.partition("?")[0], "*") if k in self.pages), None)
        if key is None:
            return Answer(404)
        count = self.counts.get(key, 0)
        self.counts[key] = count + 1
        asked = Asked(self.host, self.port, path, method, headers, count)
        return answer_of(self.pages[key], asked)
