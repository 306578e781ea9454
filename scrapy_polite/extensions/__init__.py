"""Extensions: they listen to signals, and leave deciding to the runtime."""

from __future__ import annotations

from scrapy_polite.extensions.backoff import PoliteBackoff
from scrapy_polite.extensions.progress import PoliteProgress
from scrapy_polite.extensions.report import PoliteReport
from scrapy_polite.extensions.throttle import PoliteThrottle
from scrapy_polite.extensions.timeline import PoliteTimeline

__all__ = ["PoliteBackoff", "PoliteProgress", "PoliteReport", "PoliteThrottle", "PoliteTimeline"]
