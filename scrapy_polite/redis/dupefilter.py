"""scrapy-redis' duplicate filter, which loses no request that it let pass.

Rules: a request is looked up here and marked as seen where it is queued, in one step, see `outbox`.
While Redis is not there requests pass unseen: better twice than never.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any

from scrapy_polite.redis.queue import PoliteQueue
from scrapy_polite.redis.server import make_impatient
from scrapy_polite.runtime.runtime import Runtime

with suppress(ImportError):  # of the extra `scrapy-redis`
    from redis.exceptions import RedisError
    from scrapy_redis.dupefilter import RFPDupeFilter

if TYPE_CHECKING:
    from scrapy import Request, Spider

    from scrapy_polite.redis.outbox import Outbox


class PoliteDupeFilter:
    """DUPEFILTER_CLASS beside `PoliteQueue`; see the rules above.

    Args:
        inner: the filter of scrapy-redis.
        outbox: of the queue.
    """

    def __init__(self, inner: Any, outbox: Outbox) -> None:
        self._inner = inner
        self._outbox = outbox
        outbox.seen_key = inner.key
        make_impatient(inner.server)

    @classmethod
    def from_spider(cls, spider: Spider) -> Any:
        """Make one as scrapy-redis does; beside another queue, that of scrapy-redis itself."""
        inner = RFPDupeFilter.from_spider(spider)
        for queue in Runtime.of(spider.crawler).pages.queues:
            if isinstance(queue, PoliteQueue):
                return cls(inner, queue.outbox)
        return inner

    def request_seen(self, request: Request) -> bool:
        """Return whether the request was seen before, by any worker."""
        mark = self._inner.request_fingerprint(request)
        try:
            if self._outbox.has(mark) or self._inner.server.sismember(self._inner.key, mark):
                return True
        except (RedisError, OSError):
            return False
        self._outbox.found(request, mark)
        return False

    def clear(self) -> None:
        """Forget all requests."""
        self._inner.clear()

    def log(self, request: Request, spider: Spider) -> None:
        """Say that a request was seen before."""
        self._inner.log(request, spider)
