"""What a page and its headers ask, for callbacks to read, and a page that is not for us kept away.

It sees an answer last, when redirects, repeats and decoding are over: what the spider would get.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from scrapy.exceptions import NotConfigured

from scrapy_polite import config, stats
from scrapy_polite.exceptions import PurposeDisallowed
from scrapy_polite.runtime import wishes
from scrapy_polite.runtime.runtime import Runtime
from scrapy_polite.runtime.wire import tell

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.http import Response

logger = logging.getLogger(__name__)


class PolitePageMiddleware:
    """Fills `usage` and `page` of a response's `meta["polite"]`, and heeds POLITE_PURPOSE."""

    def __init__(self, crawler: Crawler) -> None:
        if not config.is_enabled(crawler.settings):
            raise NotConfigured
        runtime = Runtime.of(crawler)
        self._crawler = crawler
        self._purpose = runtime.config.wishes.purpose
        self._token = runtime.config.identity.product_token
        self._is_robots = runtime.robots.is_robots
        self._turned_away = runtime.turns.turned_away

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> PolitePageMiddleware:
        """Make one as Scrapy does."""
        return cls(crawler)

    def process_request(self, request: Request, spider: Any = None) -> None:
        """Forget what a request's meta says of the page on which it was found."""
        if "polite" in request.meta:
            request.meta["polite"] = {}

    def process_response(
        self, request: Request, response: Response, spider: Any = None
    ) -> Response:
        """Say what the owner wants.

        Raises:
            PurposeDisallowed: a header disallows what the crawl is for.
        """
        if self._is_robots(request):
            return response
        known = request.meta.get("polite") or {}
        usage = wishes.with_headers(known.get("usage"), response)
        page = wishes.of_page(response, self._token)
        request.meta["polite"] = {**known, "usage": usage, "page": page}
        count = self._crawler.stats.inc_value
        for label, told in usage.items():
            if told["says"] != "unknown":
                count(stats.USAGE.format(label=label, preference=told["says"]))
        for directive in page:
            count(stats.PAGE_DIRECTIVE.format(directive=directive))
        why = wishes.forbidden(self._purpose, usage)
        if why is not None:
            self._keep_away(request, why)
        return response

    def _keep_away(self, request: Request, why: str) -> None:
        self._crawler.stats.inc_value(stats.PURPOSE_DROPPED.format(source="header"))
        logger.debug(
            "Kept from the spider, %(why)s: %(request)s",
            {"why": why, "request": request},
            extra={"spider": self._crawler.spider},
        )
        error = PurposeDisallowed(why)
        error.was_fetched = True
        tell(self._turned_away, request, error)
        raise error
