"""Classes that users put in Scrapy's settings; crawls name them by path."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

from scrapy.core.scheduler import BaseScheduler
from scrapy.dupefilters import BaseDupeFilter
from scrapy.extensions.memusage import MemoryUsage
from scrapy.statscollectors import StatsCollector
from scrapy.utils.asyncio import call_later

if TYPE_CHECKING:
    from typing import Any

    from scrapy import Request, Spider


class ListScheduler(BaseScheduler):
    """A scheduler that knows no queue class of Scrapy's: first in, first out."""

    def __init__(self) -> None:
        self._requests: deque[Request] = deque()

    @classmethod
    def from_crawler(cls, crawler: object) -> ListScheduler:
        return cls()

    def has_pending_requests(self) -> bool:
        return bool(self._requests)

    def enqueue_request(self, request: Request) -> bool:
        self._requests.append(request)
        return True

    def next_request(self) -> Request | None:
        return self._requests.popleft() if self._requests else None


class PathDupeFilter(BaseDupeFilter):
    """A dupe filter to which URLs that differ in their query only are one."""

    def __init__(self) -> None:
        self._seen: set[str] = set()

    def request_seen(self, request: Request) -> bool:
        path = request.url.partition("?")[0]
        seen = path in self._seen
        self._seen.add(path)
        return seen

    def log(self, request: Request, spider: Spider) -> None:
        pass


class ForgetfulStats(StatsCollector):
    """Stats that keep nothing, as those of a user who sends them elsewhere."""

    def get_value(self, key: str, default: Any = None, spider: Spider | None = None) -> Any:
        return default

    def get_stats(self, spider: Spider | None = None) -> dict[str, Any]:
        return {}

    def set_value(self, key: str, value: Any, spider: Spider | None = None) -> None:
        pass

    def set_stats(self, stats: dict[str, Any], spider: Spider | None = None) -> None:
        pass

    def inc_value(
        self, key: str, count: int = 1, start: int = 0, spider: Spider | None = None
    ) -> None:
        pass

    def max_value(self, key: str, value: Any, spider: Spider | None = None) -> None:
        pass

    def min_value(self, key: str, value: Any, spider: Spider | None = None) -> None:
        pass

    def clear_stats(self, spider: Spider | None = None) -> None:
        pass


class LaterMemoryUsage(MemoryUsage):
    """Looks when the engine runs.  Scrapy's own, if it ends the crawl at its first look, goes on
    looking for as long as the process lasts."""

    def engine_started(self) -> None:
        call_later(0, super().engine_started)
