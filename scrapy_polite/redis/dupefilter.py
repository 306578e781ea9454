"""scrapy-redis' duplicate filter, which loses no request while Redis is not there."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any

from scrapy_polite.redis.shelf import make_impatient

with suppress(ImportError):  # of the extra `scrapy-redis`
    from redis.exceptions import RedisError
    from scrapy_redis.dupefilter import RFPDupeFilter

if TYPE_CHECKING:
    from scrapy import Request, Spider


class PoliteDupeFilter:
    """DUPEFILTER_CLASS: lets a request pass that cannot be looked up: better twice than never.

    Args:
        inner: the filter of scrapy-redis.
    """

    def __init__(self, inner: Any) -> None:
        self._inner = inner
        make_impatient(inner.server)

    @classmethod
    def from_spider(cls, spider: Spider) -> PoliteDupeFilter:
        """Make one as scrapy-redis does."""
        return cls(RFPDupeFilter.from_spider(spider))

    def request_seen(self, request: Request) -> bool:
        """Return whether the request was seen before, by any worker."""
        try:
            return bool(self._inner.request_seen(request))
        except (RedisError, OSError):
            return False

    def clear(self) -> None:
        """Forget all requests."""
        self._inner.clear()

    def log(self, request: Request, spider: Spider) -> None:
        """Say that a request was seen before."""
        self._inner.log(request, spider)
