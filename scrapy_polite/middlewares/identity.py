"""Every request says who asks and whom to contact: User-Agent and From."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from scrapy.exceptions import NotConfigured

from scrapy_polite import config
from scrapy_polite.runtime.robots_fetch import strip_credentials
from scrapy_polite.runtime.runtime import Runtime

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.crawler import Crawler


class PoliteIdentityMiddleware:
    """Sets User-Agent and From to the crawl's identity.

    It comes after the user's default headers and before Scrapy's UserAgentMiddleware, so that no
    request goes without its name.
    """

    def __init__(self, crawler: Crawler) -> None:
        if not config.is_enabled(crawler.settings):
            raise NotConfigured
        self._identity = Runtime.of(crawler).config.identity

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> PoliteIdentityMiddleware:
        """Make one as Scrapy does."""
        return cls(crawler)

    def process_request(self, request: Request, spider: Any = None) -> None:
        """Name the crawler in a request's headers."""
        request.headers["User-Agent"] = self._identity.user_agent
        if self._identity.from_address:
            request.headers["From"] = self._identity.from_address
        strip_credentials(request)
