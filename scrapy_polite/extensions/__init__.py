"""Extensions: they listen to signals, and leave deciding to the runtime."""

from __future__ import annotations

from scrapy_polite.extensions.backoff import PoliteBackoff
from scrapy_polite.extensions.throttle import PoliteThrottle

__all__ = ["PoliteBackoff", "PoliteThrottle"]
