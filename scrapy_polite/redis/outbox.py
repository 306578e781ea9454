"""Requests on their way to the shelf: many go with one question.

Rules:

- A request that the duplicate filter saw for the first time is marked as seen in the same step that
  queues it.  So a worker that is killed loses none, and of two that found it one queues it.
- What could not be sent is kept, and sent with the next.
"""

from __future__ import annotations

from collections import deque
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple
from weakref import WeakKeyDictionary

from scrapy_polite.redis.server import Server, bare
from scrapy_polite.runtime.lanes import Lane

if TYPE_CHECKING:
    from scrapy import Request

FULL = 100  # requests that are sent at once


class _Letter(NamedTuple):
    host: str
    lane: str
    score: float
    request: bytes
    mark: str  # '' for none


class Outbox:
    """See the rules above.

    Args:
        key: what all keys of the queue begin with.
    """

    def __init__(self, server: Server, key: str) -> None:
        self._server = server
        self._key = key
        self.channel = f"{key}:wake"
        self.seen_key = ""  # of the duplicate filter's set
        self._found: WeakKeyDictionary[Request, str] = WeakKeyDictionary()
        self._letters: deque[_Letter] = deque()
        self._marks: set[str] = set()

    def found(self, request: Request, mark: str) -> None:
        """The duplicate filter did not see a request before; it is known by this mark."""
        self._found[request] = mark

    def mark_of(self, request: Request) -> str:
        """Return what a request is to be marked with as it is queued, '' for nothing."""
        return self._found.pop(request, "")

    def has(self, mark: str) -> bool:
        """Return whether a request with this mark is on its way."""
        return mark in self._marks

    def put(self, lane: Lane, score: float, request: bytes, mark: str = "") -> bool:
        """Have a request queued by the next `send`; return whether there are enough for one."""
        self._letters.append(_Letter(*lane, score, request, mark))
        if mark:
            self._marks.add(mark)
        return len(self._letters) % FULL == 0

    def send(self) -> None:
        """Queue what is on its way.

        Raises:
            StoreUnavailable: not now.
        """
        while self._letters:
            batch = list(islice(self._letters, FULL))
            args = [self.channel, *(part for letter in batch for part in letter)]
            self._server.run(bare("push"), [self._key, self.seen_key], args)
            for letter in batch:
                self._letters.popleft()
                self._marks.discard(letter.mark)
