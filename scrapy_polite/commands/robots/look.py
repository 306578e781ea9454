"""A polite look at a page, to see whether it says noindex.

Rules: a page is asked for once, on its host's turn: no redirect is followed, no retry made.  What
is no web page says so in its header, and of the others the head will do, so no more is downloaded.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from scrapy import Request, signals
from scrapy.crawler import Crawler
from scrapy.exceptions import StopDownload
from scrapy.http import Headers, Response, TextResponse
from scrapy.http.request import NO_CALLBACK

from scrapy_polite.commands.robots.noindex import Noindex, in_headers, in_html
from scrapy_polite.commands.robots.patience import Patience
from scrapy_polite.commands.robots.trouble import what_went_wrong
from scrapy_polite.policy.page import NOINDEX
from scrapy_polite.robots.lines import printable
from scrapy_polite.runtime.wishes import of_page, with_headers

PAGE_MAX_BYTES = 1_000_000
_LOOK_META = "polite_look"
_META: dict[str, Any] = {
    _LOOK_META: True,
    "dont_obey_robotstxt": True,  # the verdict is known
    "dont_redirect": True,
    "dont_retry": True,
    "dont_cache": True,
    "dont_merge_cookies": True,
    "allow_offsite": True,
    "handle_httpstatus_all": True,
}


@dataclass(frozen=True, slots=True)
class Look:
    """What became of the look at one page.

    Attributes:
        status: of the answer; None without one.
        found: where it asks not to be listed.
        page: what else it asks of the crawler, by directive.
        usage: what its headers say of its use, by label.
        why_not: why nobody could look, in a few words; None when somebody did.
    """

    status: int | None = None
    found: tuple[Noindex, ...] = ()
    why_not: str | None = None
    page: Mapping[str, dict[str, Any]] = field(default_factory=dict)
    usage: Mapping[str, dict[str, Any]] = field(default_factory=dict)


class Looker:
    """Looks at pages of one site.

    Args:
        token: the crawler whose name meta elements may have.
        timeout: seconds on the wire for a page.
    """

    def __init__(self, crawler: Crawler, token: str, timeout: float, patience: Patience) -> None:
        self._crawler = crawler
        self._token = token
        self._timeout = timeout
        self._patience = patience
        self._got = 0  # octets of the page that is looked at
        crawler.signals.connect(self._head_came, signals.headers_received)
        crawler.signals.connect(self._octets_came, signals.bytes_received)

    async def look(self, url: str) -> Look:
        """Look at a page that is allowed."""
        self._got = 0
        meta = {**_META, "download_timeout": self._timeout}
        request = Request(url, meta=meta, dont_filter=True, callback=NO_CALLBACK)
        try:
            with self._patience.wait():
                response = await self._crawler.engine.download_async(request)
        except Exception as error:
            return Look(why_not=what_went_wrong(error, self._timeout))
        return _seen(response, self._token)

    def _head_came(self, headers: Headers, request: Request) -> None:
        kind = headers.get("Content-Type") or b"html"
        if _LOOK_META in request.meta and b"html" not in kind.lower():
            raise StopDownload(fail=False)

    def _octets_came(self, data: bytes, request: Request) -> None:
        if _LOOK_META in request.meta:
            self._got += len(data)
            if self._got > PAGE_MAX_BYTES:
                raise StopDownload(fail=False)


def _seen(response: Response, token: str) -> Look:
    if not 200 <= response.status <= 299:
        onward = (response.headers.get("Location") or b"").decode("latin-1")
        to = f", which leads to {printable(onward)}" if onward else ""
        return Look(response.status, why_not=f"it answered {response.status}{to}")
    values = [value.decode("latin-1") for value in response.headers.getlist("X-Robots-Tag")]
    found = [*in_headers(values)]
    if isinstance(response, TextResponse):
        found += in_html(response.text, token)
    asked = of_page(response, token)
    asked.pop(NOINDEX, None)
    usage = {label: told for label, told in with_headers(None, response).items() if "by" in told}
    return Look(response.status, tuple(found), page=asked, usage=usage)
