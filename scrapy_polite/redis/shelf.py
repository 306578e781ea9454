"""The requests of all workers on a Redis server, by host; see shelf.lua for how they are kept.

Rules:

- Requests are taken together with their hosts' turns, in one step, in the epoch of the store.
- A request that was taken is remembered until it is done with.  When its worker was not heard of
  for a ttl it is put back; so is one whose worker never heard that he has it.
- What could not be told is told with the next question; what came of a request is queued before
  the request is done with.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import NamedTuple

from scrapy_polite.redis.outbox import Outbox
from scrapy_polite.redis.server import TIMEOUT, Server, bare, whole
from scrapy_polite.state import packing
from scrapy_polite.state.protocol import Lease, StoreUnavailable
from scrapy_polite.state.redis import RedisStore
from scrapy_polite.state.redis.wire import Argument


class Taken(NamedTuple):
    """A request that was taken.

    Args:
        number: tells it from all others.
        lease: the turn of its host; None for a host without clock.
    """

    number: str
    host: str
    lease: Lease | None
    request: bytes


class Answer(NamedTuple):
    """What the shelf has.

    Args:
        left: requests that no worker is done with.
        next_look: seconds until one may be ready; None when nothing is queued.
        back: requests of a dead worker that were put back.
    """

    left: int
    next_look: float | None
    back: int
    taken: list[Taken]


class Parked(NamedTuple):
    """What is left when nothing else is: hosts that are left alone for long, and their requests.

    Args:
        wait: seconds until the first of them is due.
    """

    hosts: int
    requests: int
    wait: float


class Shelf:
    """The requests of one queue; see the rules above.

    Args:
        url: of the server that the store is on.
        key: what all keys of the queue begin with.
        timeout: seconds for an answer.
    """

    def __init__(self, url: str, key: str, store: RedisStore, *, timeout: float = TIMEOUT) -> None:
        self._session = store.session
        self.server = Server(url, self._session.client.name, timeout)
        self._key = key
        self._wire = store.session.wire
        self.outbox = Outbox(self.server, key)
        self._mine: set[str] = set()  # numbers of the requests that we have
        self._done: set[str] = set()
        self._due: dict[str, float] = {}  # hosts whose turn has ended, by when they are due
        self._missed = False  # an answer, since which there may be requests that we know nothing of

    def __len__(self) -> int:
        """Return how many requests no worker is done with."""
        return int(self.server.run(bare("left"), [self._key], []))

    def turn_ended(self, host: str, wait: float) -> None:
        """A host's turn has ended; it is due in so many seconds."""
        self._due[host] = self._wire.clock() + wait

    def done(self, numbers: Iterable[str]) -> None:
        """These requests are done with."""
        self._done.update(numbers)

    def take(self, limit: int) -> Answer | None:
        """Take at most so many requests, with the turns of their hosts; with 0 only show that we
        are alive.

        Returns:
            None when the server has to be entered first.

        Raises:
            StoreUnavailable: it does not answer.
        """
        epoch = self._session.epochs.current
        if epoch is None:
            return None
        self.outbox.send()
        due, done, asked_at = self._due, self._done, self._wire.clock()
        self._due, self._done = {}, set()
        args = self._take_args(limit, due, done)
        try:
            reply = self.server.run(
                whole("pop"), [self._wire.epoch_key, self._key], [*self._wire.common(epoch), *args]
            )
        except StoreUnavailable:
            self._missed = True
            self._due, self._done = due | self._due, done | self._done
            raise
        if reply[0] != b"ok":
            self._due, self._done = due | self._due, done | self._done
            self._session.epochs.left(epoch)
            return None
        self._missed = False
        self._mine -= done
        self._wire.offset.heard(asked_at, float(reply[1]), self._wire.clock())
        next_look = float(reply[3])
        taken = [self._taken(*item, asked_at=asked_at) for item in reply[5:]]
        return Answer(int(reply[2]), None if next_look < 0 else next_look, int(reply[4]), taken)

    def put_back(self, taken: Sequence[Taken], seconds: float = 0.0) -> None:
        """Put requests back, now or as soon as the server is there.

        Args:
            seconds: for which their lanes are held; other lanes of their hosts are not.
        """
        self._mine.difference_update(item.number for item in taken)
        args = [arg for item in taken for arg in (item.number, seconds)]
        common = self._wire.common(self._session.epochs.current or "")
        try:
            keys = [self._wire.epoch_key, self._key]
            self.server.run(whole("put_back"), keys, [*common, *args])
        except StoreUnavailable:
            self._missed = True

    def keep(self, numbers: Sequence[str]) -> None:
        """Keep requests that we have for a next run; nobody waits for them in this one.

        Raises:
            StoreUnavailable: not now.
        """
        self.server.run(bare("keep"), [self._key], [self._wire.holder, *numbers])
        self._mine.difference_update(numbers)

    def restore(self) -> int:
        """Queue what an earlier run kept, unless others are at it; return how many that is."""
        with suppress(StoreUnavailable):  # then the next run does
            args = [self._wire.holder, self._wire.terms.ttl]
            return int(self.server.run(bare("restore"), [self._key], args))
        return 0

    def queued(self, host: str) -> int:
        """Return how many requests of a host are queued; 0 while the server is not there."""
        with suppress(StoreUnavailable):
            return int(self.server.run(bare("queued"), [self._key], [host]))
        return 0

    def only_parked(self, long: float, parked: Iterable[str]) -> Parked | None:
        """Return what is left when that is only parked hosts' requests; None when there is more.

        Args:
            long: seconds; a host that is left alone for longer is parked.
            parked: hosts that this worker asks no more, however long they are left alone.
        """
        with suppress(StoreUnavailable):
            found = self.server.run(bare("parked"), [self._key], [long, *parked])
            if found:
                hosts, requests, wait = found
                return Parked(int(hosts), int(requests), float(wait))
        return None

    def leave(self) -> None:
        """All requests that we have are done with, and we go."""
        # Else they are put back when we were not heard of for a ttl.
        with suppress(StoreUnavailable):
            self.server.run(bare("leave"), [self._key], [self._wire.holder])
        self.server.close()

    def clear(self) -> int:
        """Drop all requests, unless others are at it; return how many others are."""
        args = [self._wire.holder, self._wire.terms.ttl]
        return int(self.server.run(bare("clear"), [self._key], args))

    def _take_args(self, limit: int, due: dict[str, float], done: set[str]) -> list[Argument]:
        now = self._wire.clock()
        ended = [arg for host, at in due.items() for arg in (host, max(at - now, 0.0))]
        known: list[Argument] = [len(self._mine), *self._mine] if self._missed else [""]
        return [self._wire.host_key(""), limit, len(due), *ended, len(done), *done, *known]

    def _taken(
        self,
        number: bytes,
        host: bytes,
        token: bytes,
        state: bytes,
        request: bytes,
        *,
        asked_at: float,
    ) -> Taken:
        name, lease = host.decode(), None
        if token:
            known = packing.unpack(state.decode(), -self._wire.offset.seconds)
            lease = Lease(name, int(token), self._wire.clock(), known)
            self._session.hold(lease, asked_at)
        self._mine.add(number.decode())
        return Taken(number.decode(), name, lease, request)
