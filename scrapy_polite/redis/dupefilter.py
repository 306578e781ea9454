"""scrapy-redis' duplicate filter, which loses no request while Redis is not there."""

from __future__ import annotations

from typing import Any

from redis.exceptions import RedisError
from scrapy import Request
from scrapy_redis.dupefilter import RFPDupeFilter

from scrapy_polite.redis.shelf import make_impatient


class PoliteDupeFilter(RFPDupeFilter):  # type: ignore[misc]
    """Lets a request pass that cannot be looked up: better twice than never."""

    def __init__(self, server: Any, key: str, debug: bool = False) -> None:
        super().__init__(server, key, debug)
        make_impatient(server)

    def request_seen(self, request: Request) -> bool:
        """Return whether the request was seen before, by any worker."""
        try:
            return bool(super().request_seen(request))
        except (RedisError, OSError):
            return False
