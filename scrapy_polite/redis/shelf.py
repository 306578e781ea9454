"""The requests of all workers on a Redis server, by host; see shelf.lua for how they are kept.

Rules:

- Requests are taken together with their hosts' turns, in one step, in the epoch of the store.
- A request that was taken is remembered until it is done with.  When its worker was not heard of
  for a ttl it is put back; so is one whose worker never heard that he has it.
- What could not be told is told with the next question.
- Here the server is asked without waiting for other things meanwhile, as scrapy-redis does; so
  the time for an answer is short.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from contextlib import suppress
from functools import cache
from importlib.resources import files
from typing import Any, NamedTuple

from scrapy_polite.state import packing
from scrapy_polite.state.protocol import Lease, StoreUnavailable
from scrapy_polite.state.redis import RedisStore
from scrapy_polite.state.redis.client import Script, source
from scrapy_polite.state.redis.wire import Argument

with suppress(ImportError):  # of the extra `redis`
    from redis import Redis
    from redis.backoff import NoBackoff
    from redis.exceptions import NoScriptError, RedisError
    from redis.retry import Retry

TIMEOUT = 2.0  # seconds for an answer


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


def make_impatient(server: Any) -> None:
    """Have a client of scrapy-redis, if any, not repeat questions: it sleeps in between."""
    if server is not None:
        server.set_retry(Retry(NoBackoff(), 0))


@cache
def _bare(name: str) -> Script:
    """Return a script that needs no epoch."""
    return Script(_source(name))


@cache
def _whole(name: str) -> Script:
    """Return a script that runs in an epoch."""
    return Script(source("prelude") + _source("shelf") + _source(name))


def _source(name: str) -> str:
    return files(__package__).joinpath(f"{name}.lua").read_text(encoding="utf-8")


class Shelf:
    """The requests of one queue; see the rules above.

    Args:
        url: of the server that the store is on.
        key: what all keys of the queue begin with.
        timeout: seconds for an answer.
    """

    def __init__(self, url: str, key: str, store: RedisStore, *, timeout: float = TIMEOUT) -> None:
        self._redis = Redis.from_url(
            url,
            socket_timeout=timeout,
            socket_connect_timeout=timeout,
            retry=Retry(NoBackoff(), 0),
        )
        self._key = key
        self._store = store
        self._session = store.session
        self._wire = store.session.wire
        self.channel = f"{key}:wake"
        self._unsent: deque[tuple[str, float, bytes]] = deque()
        self._mine: set[str] = set()  # numbers of the requests that we have
        self._done: set[str] = set()
        self._due: dict[str, float] = {}  # hosts whose turn has ended, by when they are due
        self._missed = False  # an answer, since which there may be requests that we know nothing of

    def __len__(self) -> int:
        """Return how many requests no worker is done with."""
        return int(self._redis.get(f"{self._key}:left") or 0)

    def is_on(self, server: Any) -> bool:
        """Return whether a client of scrapy-redis is for the same database."""
        databases = [
            (client.info("server")["run_id"], client.connection_pool.connection_kwargs.get("db", 0))
            for client in (server, self._redis)
        ]
        return databases[0] == databases[1]

    def push(self, host: str, score: float, request: bytes) -> None:
        """Queue a request, now or as soon as the server is there; lower scores go first."""
        self._unsent.append((host, score, request))
        self.flush()

    def flush(self) -> bool:
        """Queue what could not be queued; return whether nothing is left to be."""
        try:
            while self._unsent:
                self._run(_bare("push"), [self._key], [*self._unsent[0], self.channel])
                self._unsent.popleft()
        except (RedisError, OSError):
            return False
        return True

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
        due, done, asked_at = self._due, self._done, self._wire.clock()
        self._due, self._done = {}, set()
        args = self._take_args(limit, due, done)
        try:
            reply = self._run(
                _whole("pop"), [self._wire.epoch_key, self._key], [*self._wire.common(epoch), *args]
            )
        except (RedisError, OSError) as error:
            self._missed = True
            self._due, self._done = due | self._due, done | self._done
            raise StoreUnavailable(f"{self._session.client.name}: {error}") from error
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
            seconds: until their hosts may be looked at.
        """
        self._mine.difference_update(item.number for item in taken)
        args = [arg for item in taken for arg in (item.number, seconds)]
        common = self._wire.common(self._session.epochs.current or "")
        try:
            self._run(_whole("put_back"), [self._wire.epoch_key, self._key], [*common, *args])
        except (RedisError, OSError):
            self._missed = True

    def leave(self) -> None:
        """All requests that we have are done with, and we go."""
        try:
            self._run(_bare("leave"), [self._key], [self._wire.holder])
        except (RedisError, OSError):
            pass  # they are put back when we were not heard of for a ttl
        finally:
            self._redis.close()

    def clear(self) -> int:
        """Drop all requests, unless others are at it; return how many others are."""
        args = [self._wire.holder, self._wire.terms.ttl]
        return int(self._run(_bare("clear"), [self._key], args))

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

    def _run(self, script: Script, keys: Sequence[str], args: Sequence[Any]) -> Any:
        try:
            return self._redis.evalsha(script.sha, len(keys), *keys, *args)
        except NoScriptError:
            self._redis.script_load(script.text)
            return self._redis.evalsha(script.sha, len(keys), *keys, *args)
