"""Every request says who asks and whom to contact: User-Agent and From.

A middleware that gives requests other names changes nothing, wherever it stands: ours are set again
as a request leaves, and the first time that they were hidden a warning says so.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from scrapy.exceptions import NotConfigured

from scrapy_polite import config
from scrapy_polite.runtime.runtime import Runtime

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.crawler import Crawler

logger = logging.getLogger(__name__)


class PoliteIdentityMiddleware:
    """Sets User-Agent and From to the crawl's identity.

    It comes after the user's default headers and before Scrapy's UserAgentMiddleware, so that no
    request goes without its name.
    """

    def __init__(self, crawler: Crawler) -> None:
        if not config.is_enabled(crawler.settings):
            raise NotConfigured
        runtime = Runtime.of(crawler)
        self._identity = runtime.config.identity
        self._user_agent = self._identity.user_agent.encode()
        self._told = False
        runtime.wire.leaving.append(self._leaves)

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> PoliteIdentityMiddleware:
        """Make one as Scrapy does."""
        return cls(crawler)

    def process_request(self, request: Request, spider: Any = None) -> None:
        """Name the crawler in a request's headers."""
        request.headers["User-Agent"] = self._user_agent
        if self._identity.from_address:
            request.headers["From"] = self._identity.from_address

    def _leaves(self, request: Request) -> None:
        hidden = request.headers.get("User-Agent")
        if hidden == self._user_agent:
            return
        self.process_request(request)
        if self._told:
            return
        self._told = True
        logger.warning(
            "A downloader middleware set User-Agent to %r: it has no effect, %s is sent; "
            "take that middleware out",
            (hidden or b"").decode("latin-1"),
            self._identity.user_agent,
        )
