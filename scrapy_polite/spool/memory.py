"""Memory queues that are small while they are short, for crawls of many hosts.

An empty deque takes 760 octets, an empty list 56; most hosts have a handful of requests.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.crawler import Crawler
    from typing_extensions import Self

_LONG = 64  # requests from which taking the first out of a list begins to cost


class LeanLifoQueue:
    """Last in, first out, for SCHEDULER_MEMORY_QUEUE."""

    __slots__ = ("_requests",)

    def __init__(self) -> None:
        self._requests: list[Request] | deque[Request] = []

    @classmethod
    def from_crawler(cls, crawler: Crawler, key: str) -> Self:
        """Make one as the scheduler does."""
        return cls()

    def push(self, request: Request) -> None:
        """Add a request."""
        self._requests.append(request)

    def pop(self) -> Request | None:
        """Take the next request out; None when there is none."""
        return self._requests.pop() if self._requests else None

    def peek(self) -> Request | None:
        """Return the next request and leave it there; None when there is none."""
        return self._requests[-1] if self._requests else None

    def close(self) -> None:
        """Nothing to do."""

    def __len__(self) -> int:
        return len(self._requests)


class LeanFifoQueue(LeanLifoQueue):
    """First in, first out, for SCHEDULER_START_MEMORY_QUEUE."""

    __slots__ = ()

    def push(self, request: Request) -> None:
        """Add a request."""
        self._requests.append(request)
        if len(self._requests) == _LONG and isinstance(self._requests, list):
            self._requests = deque(self._requests)

    def pop(self) -> Request | None:
        """Take the next request out; None when there is none."""
        if isinstance(self._requests, deque):
            return self._requests.popleft() if self._requests else None
        return self._requests.pop(0) if self._requests else None

    def peek(self) -> Request | None:
        """Return the next request and leave it there; None when there is none."""
        return self._requests[0] if self._requests else None
