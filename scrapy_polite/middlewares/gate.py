"""The gate: nothing reaches the network without its host's turn.

It is the last middleware before the downloader, after HttpCache, so that a cached answer needs no
turn.  A turn begins here and ends with Scrapy's `request_left_downloader`, after success and
failure alike; a request that ends before it got there gives its turn back.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from scrapy import signals
from scrapy.exceptions import NotConfigured

from scrapy_polite import config, engine
from scrapy_polite.policy.origin import host_of
from scrapy_polite.runtime import handlers
from scrapy_polite.runtime.runtime import Runtime
from scrapy_polite.runtime.wire import tell

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.http import Response


class PoliteGateMiddleware:
    """One request of a host in flight; the next one waits until the host is ready."""

    def __init__(self, crawler: Crawler) -> None:
        if not config.is_enabled(crawler.settings):
            raise NotConfigured
        self._crawler = crawler
        runtime = Runtime.of(crawler)
        self._turns, self._robots = runtime.turns, runtime.robots
        self._shared = runtime.store.shared
        self._floors = runtime.config.slot_floors
        runtime.wire.leaving.append(self._leaves)
        runtime.wire.answered.append(runtime.leases.answered)
        connect = crawler.signals.connect
        connect(self._turns.left, signals.request_left_downloader)
        connect(self._opened, signals.spider_opened)

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> PoliteGateMiddleware:
        """Make one as Scrapy does."""
        return cls(crawler)

    async def process_request(self, request: Request, spider: Any = None) -> None:
        """Wait for the turn of the request's host, and for the verdict where none was taken."""
        if self._robots.at_gate is not None:
            await self._robots.at_gate(request)
        await self._turns.take(request)
        if self._shared:
            # Kept-alive connections of several processes would add up at the host.
            request.headers["Connection"] = "close"

    def process_response(
        self, request: Request, response: Response, spider: Any = None
    ) -> Response:
        """Give back a turn that another middleware's answer left unused, before others see it."""
        self._turns.done(request)
        return response

    def process_exception(self, request: Request, exception: Exception, spider: Any = None) -> None:
        """Give back a turn that another middleware's exception left unused; say what it was."""
        self._turns.done(request)
        tell(self._turns.turned_away, request, exception)

    def _opened(self) -> None:
        handlers.prepare(self._crawler)

    def _leaves(self, request: Request) -> None:
        # While a fetch is under way the slot has the user's own delay only.  With the host's last
        # delay it would set a timer that outlasts a shorter next one.
        slot = engine.slot_of(self._crawler, request)
        if slot is None:
            return
        key, at_once = request.meta["download_slot"], slot.concurrency
        engine.keep_slot(slot, self._floors.get(key, 0.0))
        if key != host_of(request.url):  # hosts may share it, as many at once as the user wants
            slot.concurrency = at_once
