"""The frontier as Scrapy's SCHEDULER_PRIORITY_QUEUE.

A priority queue per lane, that is per origin, and under it the memory or disk queues that Scrapy
uses anyway.  `pop` gives the next request of the host that has been ready longest, with its turn,
and None while all hosts wait; the engine is woken when the next one is ready.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

from scrapy.pqueues import ScrapyPriorityQueue

from scrapy_polite.runtime.runtime import Runtime

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.pqueues import QueueProtocol

_LONGEST_NAME = 200  # octets of a directory name that every file system takes


class PolitePriorityQueue:
    """Mercator's back queues; see above.

    Args:
        downstream_queue_cls: class of the queues of one priority.
        key: directory to persist in; empty for memory.
        startprios: what `close` returned in the run before.
        start_queue_cls: class of the queues of start requests, None for no such distinction.
    """

    def __init__(
        self,
        crawler: Crawler,
        downstream_queue_cls: type[QueueProtocol],
        key: str,
        startprios: dict[str, Iterable[int]] | None = None,
        *,
        start_queue_cls: type[QueueProtocol] | None = None,
    ) -> None:
        if startprios and not isinstance(startprios, dict):
            raise ValueError(
                "The JOBDIR was written by another SCHEDULER_PRIORITY_QUEUE: "
                "resume it with that one, or start with an empty JOBDIR."
            )
        self._crawler = crawler
        self._queue_class = downstream_queue_cls
        self._start_queue_class = start_queue_cls
        self._key = key
        self._length = 0
        runtime = Runtime.of(crawler)
        self._lanes = runtime.lanes
        self._pages = runtime.pages
        self._pages.add_queue(self)
        self.lanes: dict[str, ScrapyPriorityQueue] = {}
        for lane, priorities in (startprios or {}).items():
            self._resume(lane, priorities)

    @classmethod
    def from_crawler(
        cls,
        crawler: Crawler,
        downstream_queue_cls: type[QueueProtocol],
        key: str,
        startprios: dict[str, Iterable[int]] | None = None,
        *,
        start_queue_cls: type[QueueProtocol] | None = None,
    ) -> PolitePriorityQueue:
        """Make one as the scheduler does."""
        return cls(crawler, downstream_queue_cls, key, startprios, start_queue_cls=start_queue_cls)

    def push(self, request: Request) -> None:
        """Queue a request in its lane."""
        host, lane = self._lanes.lane_of(request)
        queue = self.lanes.get(lane)
        if queue is None:
            queue = self._lane_queue(lane)
        queue.push(request)  # raises ValueError when it cannot be serialised
        self.lanes[lane] = queue
        self._length += 1
        self._pages.pushed(host, lane)

    def pop(self) -> Request | None:
        """Return the next request with its turn, None while all hosts wait."""
        return self._pages.pop(self)

    def has_lane(self, lane: str) -> bool:
        """Return whether there is a request in a lane."""
        return lane in self.lanes

    def pop_lane(self, lane: str) -> Request | None:
        """Take the next request of a lane out; None when it could not be read."""
        queue = self.lanes[lane]
        request = queue.pop()
        self._length -= 1
        if not queue:
            queue.close()
            del self.lanes[lane]
            if self._key:
                with suppress(OSError):  # somebody's files are left in it
                    Path(queue.key).rmdir()
        return request

    def priority_of(self, lane: str) -> int:
        """Return the best priority number in a lane; lower goes first."""
        best = self.lanes[lane].curprio
        return 0 if best is None else best

    def peek(self) -> Request | None:
        """Return the request that `pop` would give next, None when there is none."""
        lane = self._pages.peek(self)
        return None if lane is None else self.lanes[lane].peek()

    def close(self) -> dict[str, list[int]]:
        """Close all queues and return what is needed to resume."""
        state = {lane: queue.close() for lane, queue in self.lanes.items()}
        self.lanes.clear()
        self._length = 0
        return state

    def __len__(self) -> int:
        return self._length

    def _resume(self, lane: str, priorities: Iterable[int]) -> None:
        queue = self._lane_queue(lane, priorities)
        if not queue:
            queue.close()
            return
        self.lanes[lane] = queue
        self._length += len(queue)
        self._pages.pushed(self._lanes.host_of(lane), lane, len(queue))

    def _lane_queue(self, lane: str, priorities: Iterable[int] = ()) -> ScrapyPriorityQueue:
        key = f"{self._key}/{_directory(lane)}" if self._key else ""
        return ScrapyPriorityQueue(
            self._crawler,
            self._queue_class,
            key,
            priorities,
            start_queue_cls=self._start_queue_class,
        )


def _directory(lane: str) -> str:
    """Return a directory name for a lane.

    >>> _directory("https://site.example:8443")
    'https%3A%2F%2Fsite.example%3A8443'
    """
    name = quote(lane, safe="") or "other"
    if len(name) <= _LONGEST_NAME:
        return name
    return name[: _LONGEST_NAME - 41] + "-" + hashlib.sha1(lane.encode()).hexdigest()
