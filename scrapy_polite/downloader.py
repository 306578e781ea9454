"""A downloader whose waiting requests and robots.txt fetches hold no place of CONCURRENT_REQUESTS.

`idle` is the set of requests in progress that hold no place.  The runtime is told when a request
has left for good, so that a turn which a middleware left unused goes back at once.  With the pack
switched off it is Scrapy's downloader.
Derive your own downloader from `PoliteDownloader` to keep both.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from scrapy.core.downloader import Downloader
from twisted.internet.defer import Deferred

from scrapy_polite import config
from scrapy_polite.runtime import handlers, nobody
from scrapy_polite.runtime.robots_fetch import checked
from scrapy_polite.runtime.runtime import Runtime

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.http import Response


class PoliteDownloader(Downloader):
    """Scrapy's downloader, but what waits for a turn is not counted."""

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        self.idle: set[Request] = set()
        self._runtime = Runtime.of(crawler) if config.is_enabled(crawler.settings) else None
        if self._runtime is not None:
            self._watch = handlers.Watch(crawler)
            self._download_request = self.handlers.download_request_async
            self.handlers.download_request_async = partial(  # type: ignore[method-assign]
                self._depart, self._runtime
            )

    def fetch(self, request: Request, *args: Any) -> Deferred[Any]:
        """Download a request; afterwards its turn and place are free whatever became of it."""
        runtime = self._runtime
        if runtime is not None and runtime.robots.is_robots(request):
            self.idle.add(request)
        done: Deferred[Any] = super().fetch(request, *args)
        return done if runtime is None else done.addBoth(self._left, request, runtime)

    def needs_backout(self) -> bool:
        """Return whether all places are taken by requests that do not wait."""
        return 0 < self.total_concurrency <= len(self.active) - len(self.idle)

    async def _depart(self, runtime: Runtime, request: Request) -> Response:
        """Hand a request to the network: signed, with a turn that is good as it leaves its slot."""
        await runtime.turns.depart(request)
        with runtime.signing.signed(request):
            try:
                return await self._watch.over(self._download_request(request), request)
            except Exception as error:
                if nobody.is_nameless(error):
                    runtime.leases.nameless(request)
                raise

    def _left(self, result: Any, request: Request, runtime: Runtime) -> Any:
        self.idle.discard(request)
        runtime.turns.done(request)
        # A request in the place of ours would wait for the very verdict that waits for it.
        return checked(request, result) if runtime.robots.is_robots(request) else result
