"""Politeness for scrapy-redis: several machines crawl from one queue.

    SCHEDULER = "scrapy_redis.scheduler.Scheduler"
    SCHEDULER_PERSIST = True
    SCHEDULER_QUEUE_CLASS = "scrapy_polite.redis.PoliteQueue"
    DUPEFILTER_CLASS = "scrapy_polite.redis.PoliteDupeFilter"
    POLITE_STATE = REDIS_URL = "redis://localhost:6379/0"
"""

from __future__ import annotations

from scrapy_polite.redis.dupefilter import PoliteDupeFilter
from scrapy_polite.redis.queue import PoliteQueue

__all__ = ["PoliteDupeFilter", "PoliteQueue"]
