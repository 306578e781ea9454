"""A visit to what is published about a crawler: a crawl of a few pages, polite as any.

Rules: each URL is asked for once; no redirect is followed, for the directory may have none.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from typing import Any

from scrapy import Request, Spider
from scrapy.exceptions import IgnoreRequest
from scrapy.http import Response
from scrapy.settings import Settings
from twisted.python.failure import Failure

from scrapy_polite.commands.identity.check import Seen
from scrapy_polite.commands.robots import process, visit_settings
from scrapy_polite.commands.robots.question import CannotTell
from scrapy_polite.commands.robots.trouble import what_went_wrong
from scrapy_polite.exceptions import HostParked, RobotsUnreachable
from scrapy_polite.robots.lines import printable

MAX_BYTES = 2_000_000
_META: dict[str, Any] = {
    "dont_redirect": True,
    "dont_retry": True,
    "dont_cache": True,
    "allow_offsite": True,
    "handle_httpstatus_all": True,
    "download_maxsize": MAX_BYTES,
}


class Visitor(Spider):
    """Asks for each URL once.

    Args:
        seen: gets what was answered, by URL.
        timeout: seconds for each.
    """

    name = "identity"

    def __init__(self, urls: Sequence[str], seen: dict[str, Seen], timeout: float) -> None:
        super().__init__()
        self._urls = urls
        self._seen = seen
        self._timeout = timeout

    async def start(self) -> AsyncIterator[Any]:
        """Ask; robots.txt comes first and waits are kept, as in any crawl."""
        meta = {**_META, "download_timeout": self._timeout}
        for url in self._urls:
            yield Request(
                url,
                meta=dict(meta),
                callback=self.parse,
                errback=self.failed,
                cb_kwargs={"asked": url},
                dont_filter=True,
            )

    def parse(self, response: Response, asked: str) -> None:
        """Note an answer."""
        kind = (response.headers.get("Content-Type") or b"").decode("latin-1")
        location = (response.headers.get("Location") or b"").decode("latin-1")
        media_type = kind.partition(";")[0].strip().lower()
        self._seen[asked] = Seen(response.status, "", media_type, location, response.body)

    def failed(self, failure: Failure) -> None:
        """Note why there is no answer."""
        request: Request = failure.request  # type: ignore[attr-defined]
        assert failure.value is not None
        why_not = _why_not(failure.value, self._timeout)
        self._seen[request.cb_kwargs["asked"]] = Seen(why_not=why_not)


def visit(settings: Settings, urls: Sequence[str]) -> dict[str, Seen]:
    """Return what was answered, by URL; it blocks, and can be called once in a process.

    Args:
        settings: of the crawls whose identity is checked.

    Raises:
        CannotTell: the visit could not start.
    """
    its_own = visit_settings.for_visit(settings)
    seen: dict[str, Seen] = {}
    timeout = its_own.getfloat("POLITE_ROBOTS_TIMEOUT", 30.0)
    error: BaseException | None
    try:
        error = process.run(its_own, Visitor, urls=urls, seen=seen, timeout=timeout)
    except Exception as broken:  # an add-on of the project's, for instance
        error = broken
    if error is not None:
        why = printable(f"{type(error).__name__}: {error}")
        raise CannotTell(f"The visit could not start: {why} (-L ERROR shows more).")
    unheard = Seen(why_not="the visit was broken off before its turn came")
    return {url: seen.get(url, unheard) for url in urls}


def _why_not(error: BaseException, timeout: float) -> str:
    if isinstance(error, RobotsUnreachable):
        return "robots.txt of its site could not be read"
    if isinstance(error, IgnoreRequest) and not isinstance(error, HostParked):
        return "robots.txt of its site forbids it"
    return what_went_wrong(error, timeout)
