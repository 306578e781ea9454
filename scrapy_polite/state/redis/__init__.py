"""The store of several machines: a Redis server."""

from __future__ import annotations

from scrapy_polite.state.redis.store import RedisStore
from scrapy_polite.state.redis.terms import Terms

__all__ = ["RedisStore", "Terms"]
