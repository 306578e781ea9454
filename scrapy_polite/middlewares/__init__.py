"""Middlewares: they wait, and leave deciding to the runtime."""

from __future__ import annotations

from scrapy_polite.middlewares.backoff import PoliteBackoffMiddleware
from scrapy_polite.middlewares.gate import PoliteGateMiddleware
from scrapy_polite.middlewares.identity import PoliteIdentityMiddleware
from scrapy_polite.middlewares.page import PolitePageMiddleware
from scrapy_polite.middlewares.robotstxt import PoliteRobotsTxtMiddleware
from scrapy_polite.middlewares.spider import PoliteSpiderMiddleware

__all__ = [
    "PoliteBackoffMiddleware",
    "PoliteGateMiddleware",
    "PoliteIdentityMiddleware",
    "PolitePageMiddleware",
    "PoliteRobotsTxtMiddleware",
    "PoliteSpiderMiddleware",
]
