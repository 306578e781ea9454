"""Politeness for Scrapy: one line in settings.py makes any crawl a good guest.

    ADDONS = {"scrapy_polite.Addon": 500}

Names are loaded on demand, so that the policies can be used without Scrapy.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

__version__ = "0.1.0"

_PUBLIC = {
    "Addon": "addon",
    "LeanFifoQueue": "spool.memory",
    "LeanLifoQueue": "spool.memory",
    "PoliteBackoff": "extensions.backoff",
    "PoliteBackoffMiddleware": "middlewares.backoff",
    "PoliteDownloader": "downloader",
    "PoliteGateMiddleware": "middlewares.gate",
    "PoliteIdentityMiddleware": "middlewares.identity",
    "PolitePageMiddleware": "middlewares.page",
    "PolitePriorityQueue": "queues",
    "PoliteProgress": "extensions.progress",
    "PoliteReport": "extensions.report",
    "PoliteRobotsTxtMiddleware": "middlewares.robotstxt",
    "PoliteSpiderMiddleware": "middlewares.spider",
    "PoliteThrottle": "extensions.throttle",
    "PoliteTimeline": "extensions.timeline",
    "Rfc9309RobotParser": "robots.parser",
    "HostParked": "exceptions",
    "PurposeDisallowed": "exceptions",
    "RobotsUnreachable": "exceptions",
    "SpoolFifoQueue": "spool.queue",
    "SpoolLifoQueue": "spool.queue",
    "block_host": "hooks",
    "polite_host_blocked": "signals",
    "polite_host_parked": "signals",
    "polite_host_released": "signals",
    "set_floor": "hooks",
}

__all__ = ["__version__", *sorted(_PUBLIC)]  # noqa: PLE0604


def __getattr__(name: str) -> Any:
    if name not in _PUBLIC:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_PUBLIC[name]}"), name)


def __dir__() -> list[str]:
    return list(__all__)
