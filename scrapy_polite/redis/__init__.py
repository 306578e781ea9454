"""Politeness for scrapy-redis: the workers of several machines crawl from one queue as one guest.

In settings.py, beside the add-on:

    SCHEDULER = "scrapy_redis.scheduler.Scheduler"
    SCHEDULER_PERSIST = True  # a worker that goes must not take the queue with it
    SCHEDULER_QUEUE_CLASS = "scrapy_polite.redis.PoliteQueue"
    DUPEFILTER_CLASS = "scrapy_polite.redis.PoliteDupeFilter"
    POLITE_STATE = REDIS_URL = "redis://localhost:6379/0"

What is shared: turns and waits of hosts, refusals, robots.txt copies, and the requests.
"""

from __future__ import annotations

from scrapy_polite.redis.dupefilter import PoliteDupeFilter
from scrapy_polite.redis.queue import PoliteQueue

__all__ = ["PoliteDupeFilter", "PoliteQueue"]
