"""robots.txt verdicts with the semantics of RFC 9309, in place of Scrapy's RobotsTxtMiddleware.

The verdict is taken when a request is released.  A request whose origin is not judged yet waits and
holds no place.  Offline, where HttpCache answers, it is taken at the gate instead: only for what
really goes out.  Statistics, log line and exception of a forbidden request are Scrapy's own.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from scrapy.downloadermiddlewares.robotstxt import RobotsTxtMiddleware
from scrapy.exceptions import IgnoreRequest

from scrapy_polite import config, stats
from scrapy_polite.exceptions import PurposeDisallowed
from scrapy_polite.runtime import wishes
from scrapy_polite.runtime.runtime import Runtime

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.robotstxt import RobotParser

logger = logging.getLogger(__name__)


class PoliteRobotsTxtMiddleware(RobotsTxtMiddleware):
    """Lets a request pass when its origin's robots.txt allows it."""

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)  # raises NotConfigured when ROBOTSTXT_OBEY is False
        runtime = Runtime.of(crawler)
        self._robots = runtime.robots
        self._purpose = runtime.config.wishes.purpose
        self._product_token = runtime.config.identity.product_token
        if self._robots.offline:
            self._robots.at_gate = self._judge

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> RobotsTxtMiddleware:  # type: ignore[override]
        """Make one as Scrapy does; Scrapy's own, whose place it has, when the pack is off."""
        return cls(crawler) if config.is_enabled(crawler.settings) else RobotsTxtMiddleware(crawler)

    async def process_request(self, request: Request, spider: Any = None) -> None:
        """Wait for the verdict of the request's origin, unless the gate does.

        Raises:
            IgnoreRequest: the rules forbid it, or (RobotsUnreachable) they cannot be read, or
                (PurposeDisallowed) its owner disallows what the crawl is for.
        """
        if self._robots.offline:
            request.meta["polite"] = {}  # not what the page says on which it was found
        else:
            await self._judge(request)

    async def _judge(self, request: Request) -> None:
        why = request.meta["polite"] = {"robots": "unreachable"}
        parser = await self._robots.parser_for(request)
        why["robots"] = "disallowed"
        self.process_request_2(parser, request)
        why["robots"] = "allowed"
        why["usage"] = usage = wishes.of_robots(parser, request.url, self._product_token)
        disallowed = wishes.forbidden(self._purpose, usage)
        if disallowed is not None:
            self._drop(request, disallowed)

    def _drop(self, request: Request, why: str) -> None:
        self.crawler.stats.inc_value(stats.PURPOSE_DROPPED.format(source="robots"))
        logger.debug(
            "Not fetched, %(why)s: %(request)s",
            {"why": why, "request": request},
            extra={"spider": self.crawler.spider},
        )
        raise PurposeDisallowed(why)

    def process_request_2(self, rp: RobotParser | None, request: Request) -> None:
        """Stop a request that the rules forbid; groups are matched with our product token.

        Args:
            rp: None when everything is allowed.
        """
        if rp is None or rp.allowed(request.url, self._product_token):
            return
        logger.debug(
            "Forbidden by robots.txt: %(request)s",
            {"request": request},
            extra={"spider": self.crawler.spider},
        )
        self.crawler.stats.inc_value("robotstxt/forbidden")
        raise IgnoreRequest("Forbidden by robots.txt")
