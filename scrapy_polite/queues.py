"""The frontier as Scrapy's SCHEDULER_PRIORITY_QUEUE.

A priority queue per lane, that is per origin, and under it the memory or disk queues that Scrapy
uses anyway.  `pop` gives the next request of the host that has been ready longest, with its turn,
and None while all hosts wait; the engine is woken when the next one is ready.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from scrapy.pqueues import DownloaderAwarePriorityQueue, ScrapyPriorityQueue
from scrapy.utils.job import job_dir

from scrapy_polite import config, engine
from scrapy_polite.runtime.lanes import is_lane
from scrapy_polite.runtime.runtime import Runtime
from scrapy_polite.spool.claim import Claim
from scrapy_polite.spool.folders import (
    drop_broken_index,
    folder_of,
    lanes_on_disk,
    remove_folder,
)
from scrapy_polite.spool.journal import Journal

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.pqueues import QueueProtocol

logger = logging.getLogger(__name__)
_NAMED = 10  # requests that cannot be serialised are named, up to so many


class PolitePriorityQueue:
    """Mercator's back queues; see above.

    Args:
        downstream_queue_cls: class of the queues of one priority.
        key: directory to persist in; empty for memory.
        startprios: of the run before; only tells whether the JOBDIR is one of ours.
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
        _refuse_foreign(startprios)
        self._crawler = crawler
        self._queue_class = downstream_queue_cls
        self._start_queue_class = start_queue_cls
        self._key = key
        self._length = 0
        self._unserialisable = 0
        runtime = Runtime.of(crawler)
        self._lanes = runtime.lanes
        self._undone = runtime.undone
        self._pages = runtime.pages
        self._pages.add_queue(self)
        self.lanes: dict[str, ScrapyPriorityQueue] = {}
        self._journal: Journal | None = None
        self._claim = Claim(Path(key)) if key else None
        if key:
            self._resume_all()
        elif jobdir := job_dir(crawler.settings):  # Scrapy makes the one in memory first
            drop_broken_index(Path(jobdir, "requests.queue"))

    @classmethod
    def from_crawler(
        cls,
        crawler: Crawler,
        downstream_queue_cls: type[QueueProtocol],
        key: str,
        startprios: dict[str, Iterable[int]] | None = None,
        *,
        start_queue_cls: type[QueueProtocol] | None = None,
    ) -> PolitePriorityQueue | DownloaderAwarePriorityQueue:
        """Make one as the scheduler does; Scrapy's own when the pack is switched off."""
        made = cls if config.is_enabled(crawler.settings) else DownloaderAwarePriorityQueue
        return made(crawler, downstream_queue_cls, key, startprios, start_queue_cls=start_queue_cls)

    def push(self, request: Request) -> None:
        """Queue a request in its lane."""
        host, lane = self._lanes.lane_of(request)
        try:
            queue = self.lanes[lane] if lane in self.lanes else self._lane_queue(lane)
            queue.push(request)
        except (OSError, ValueError) as error:
            self._tell_unserialisable(request, error)
            raise ValueError(str(error)) from error  # the scheduler keeps it in memory
        self.lanes[lane] = queue
        self._length += 1
        if self._key:  # after the request itself: what is twice is better than what is lost
            engine.flush_seen(self._crawler)
        self._pages.pushed(host, lane)

    def pop(self) -> Request | None:
        """Return the next request with its turn, None while all hosts wait."""
        self._undone.between_pages()
        self._close_journal_entries()
        return self._pages.pop(self)

    def pop_lane(self, lane: str) -> Request | None:
        """Take the next request of a lane out; None when it could not be read."""
        queue = self.lanes[lane]
        request = queue.pop()
        engine.refresh_priority(queue)
        self._length -= 1
        if not queue:
            queue.close()
            del self.lanes[lane]
            if self._key:
                remove_folder(Path(queue.key))
        return request

    def peek_lane(self, lane: str) -> Request | None:
        """Return the next request of a lane; None when it, or the user's queue, cannot be read."""
        try:
            return self.lanes[lane].peek()
        except Exception:  # not every queue can, and what is broken shows when it is popped
            return None

    def priority_of(self, lane: str) -> int:
        """Return the best priority number in a lane; lower goes first."""
        best = self.lanes[lane].curprio
        return 0 if best is None else best

    def peek(self) -> Request | None:
        """Return the request that `pop` would give next, None when there is none."""
        lane = self._pages.peek(self)
        return None if lane is None else self.lanes[lane].peek()

    def close(self) -> dict[str, list[int]]:
        """Close all queues; return nothing, for what is on disk tells what to resume.

        A kill while Scrapy writes a long index would leave one that cannot be read.
        """
        if self._journal is not None:
            self._close_journal_entries()
            self._journal.close()
        for queue in self.lanes.values():
            queue.close()
        if self._claim is not None:
            self._claim.give_up()
        self.lanes.clear()
        self._length = 0
        return {}

    def __len__(self) -> int:
        return self._length

    def _tell_unserialisable(self, request: Request, error: Exception) -> None:
        self._unserialisable += 1
        if self._unserialisable <= _NAMED:
            logger.warning("%s cannot be kept on disk, a stop loses it: %s", request, error)
        if self._unserialisable == _NAMED:
            logger.warning("Further such requests are counted as scheduler/unserializable only")

    def _resume_all(self) -> None:
        """Queue what an earlier run left, however it ended: what is on disk counts, no index."""
        for lane, priorities in lanes_on_disk(Path(self._key)).items():
            queue = self._lane_queue(lane, priorities)
            if queue:
                self.lanes[lane] = queue
                self._length += len(queue)
                self._pages.pushed(self._lanes.host_of(lane), lane, len(queue))
            else:
                queue.close()
        self._journal = Journal.of(self._crawler, Path(self._key))
        self._undone.keepers.append(self._journal.has)
        again = self._journal.recover(self.push)
        if again:
            logger.info("%d requests were in progress when the last run ended: again", again)

    def _close_journal_entries(self) -> None:
        """A request is done with when the engine has scraped what came of it, and all of it."""
        journal = self._journal
        if journal is None:
            return
        for request in journal:
            if engine.in_progress(self._crawler, request):
                continue
            if self._undone.is_kept(request):
                journal.keep(request)
            else:
                journal.done(request)

    def _lane_queue(self, lane: str, priorities: Iterable[int] = ()) -> ScrapyPriorityQueue:
        key = str(folder_of(Path(self._key), lane)) if self._key else ""
        return ScrapyPriorityQueue(
            self._crawler,
            self._queue_class,
            key,
            priorities,
            start_queue_cls=self._start_queue_class,
        )


def _refuse_foreign(startprios: object) -> None:
    """Refuse the state of another priority queue, whose requests would be left behind."""
    known = isinstance(startprios, dict) and all(map(is_lane, startprios))
    if startprios and not known:
        raise ValueError(
            "The JOBDIR was written by another SCHEDULER_PRIORITY_QUEUE: "
            "resume it with that one, or start with an empty JOBDIR."
        )
