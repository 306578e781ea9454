"""Components that users bring along; crawls name them by path, so that any process can load them.

What they do to which host or path is in the setting USERS_PARTS.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from scrapy import Request, signals
from scrapy.core.downloader import Downloader
from scrapy.exceptions import DontCloseSpider, IgnoreRequest
from scrapy.http import HtmlResponse, Response

from scrapy_polite.downloader import PoliteDownloader
from scrapy_polite.runtime.runtime import Runtime

if TYPE_CHECKING:
    from scrapy.crawler import Crawler

DONE = "users_part_done"  # in the meta of requests that were returned


class Middleware:
    """A downloader middleware that answers, drops, repeats or rewrites requests.

    USERS_PARTS maps hosts, or hosts with a path, to what is done to their requests.
    """

    setting = "USERS_PARTS"

    def __init__(self, crawler: Crawler) -> None:
        self._tricks: dict[str, str] = crawler.settings.getdict(self.setting)

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Middleware:
        return cls(crawler)

    def process_request(self, request: Request) -> Request | Response | None:
        parts = urlsplit(request.url)
        trick = self._tricks.get(f"{parts.hostname}{parts.path}")
        trick = trick or self._tricks.get(parts.hostname or "")
        return getattr(self, f"_{trick}")(request) if trick else None

    def _answer(self, request: Request) -> Response:
        return HtmlResponse(request.url, body=b"mine")

    def _answer_for_another(self, request: Request) -> Response:
        return HtmlResponse(request.url + "?other", body=b"User-agent: *\nAllow: /\n")

    def _drop(self, request: Request) -> None:
        raise IgnoreRequest("I do not want it")

    def _fail(self, request: Request) -> None:
        raise ValueError("I am broken")

    def _repeat(self, request: Request) -> Request | None:
        if request.meta.get(DONE):
            return None
        return request.replace(meta={**request.meta, DONE: True}, dont_filter=True)

    def _rewrite(self, request: Request) -> Request | None:
        if request.meta.get(DONE):
            return None
        url = request.url.replace("/robots.txt", "/mine").replace("/page", "/instead")
        return request.replace(url=url, meta={**request.meta, DONE: True}, dont_filter=True)

    def _make_new(self, request: Request) -> Request | None:
        if request.url.endswith("/mine"):
            return None
        return Request(request.url.replace("/robots.txt", "/mine"), dont_filter=True)


class LateMiddleware(Middleware):
    """Another one, for a place of its own."""

    setting = "USERS_LATE_PARTS"


class _Fetching:
    """A downloader middleware that fetches another page of the same host for each one."""

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> _Fetching:
        return cls(crawler)

    async def fetch(self, request: Request, path: str) -> None:
        if path not in request.url and "/robots.txt" not in request.url:
            other = Request(request.url.replace("/page", path), dont_filter=True)
            await self._crawler.engine.download_async(other)


class Login(_Fetching):
    """One that fetches it before the request."""

    async def process_request(self, request: Request) -> None:
        await self.fetch(request, "/login")


class Logout(_Fetching):
    """One that fetches it after the answer."""

    async def process_response(self, request: Request, response: Response) -> Response:
        await self.fetch(request, "/logout")
        return response


class Broken:
    """An extension that raises whenever it is told something of a request on the wire."""

    def __init__(self, crawler: Crawler) -> None:
        runtime = Runtime.of(crawler)
        wire = runtime.wire
        for parts in (wire.leaving, wire.heard, wire.answered, runtime.turns.subscribers):
            parts.insert(0, self._fail)

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Broken:
        return cls(crawler)

    @staticmethod
    def _fail(*news: object) -> None:
        raise RuntimeError("I am broken")


class Listener:
    """An extension that counts the robots_parsed signals whose parser it can use."""

    def __init__(self, crawler: Crawler) -> None:
        self._stats = crawler.stats
        if hasattr(signals, "robots_parsed"):
            crawler.signals.connect(self._parsed, signals.robots_parsed)

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Listener:
        return cls(crawler)

    def _parsed(self, robotparser: object, request: Request) -> None:
        allowed = robotparser.allowed(  # type: ignore[attr-defined]
            request.url.replace("/robots.txt", "/private/page"), "HarnessBot"
        )
        self._stats.inc_value(f"heard/{'allowed' if allowed else 'forbidden'}")


class Idler:
    """An extension that finds more to do three times when the spider is idle.

    USERS_PARTS["idle"] is the URL of a site.
    """

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler
        self._url = crawler.settings.getdict("USERS_PARTS")["idle"]
        self._more = ["/idle1", "/idle2", "/idle3"]
        crawler.signals.connect(self._idle, signals.spider_idle)

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Idler:
        return cls(crawler)

    def _idle(self) -> None:
        if self._more:
            url = self._url + self._more.pop(0)
            self._crawler.engine.crawl(Request(url, cb_kwargs={"asked_url": url}))
            raise DontCloseSpider


class OwnDownloader(Downloader):
    """A user's downloader that knows nothing of ours."""


class OwnPoliteDownloader(PoliteDownloader):
    """A user's downloader on top of ours."""
