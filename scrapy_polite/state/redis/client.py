"""Talking to a Redis server: connections, scripts, and what goes wrong there.

Rules:

- What goes wrong is `StoreUnavailable`.  Nothing is repeated here: a command whose answer was lost
  may have been carried out.
- A server that does not answer within the timeout counts as gone; so does one that may not write.
- No password appears in a message.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from functools import cache
from hashlib import sha1
from importlib.resources import files
from typing import Any
from urllib.parse import urlsplit

from scrapy_polite.state.protocol import StoreUnavailable
from scrapy_polite.state.redis.wire import Argument

with suppress(ImportError):  # of the extra `redis`; the store says what to install
    from redis.asyncio import BlockingConnectionPool, Redis
    from redis.asyncio.retry import Retry
    from redis.backoff import NoBackoff
    from redis.exceptions import NoScriptError, RedisError

LISTEN = 5.0  # seconds that one question for messages lasts
CONNECTIONS = 16  # at once; more calls wait for one of them


class ClusterNode(StoreUnavailable, ValueError):
    """The server is one of a cluster."""


@dataclass(frozen=True)
class Script:
    """A Lua script and the name by which a server knows it."""

    text: str = field(repr=False)
    sha: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "sha", sha1(self.text.encode()).hexdigest())


@cache
def script(name: str) -> Script:
    """Return the script of that name, which begins as all do."""
    return Script(source("prelude") + source(name))


def source(name: str) -> str:
    """Return the text of a Lua file of this package."""
    return files(__package__).joinpath(f"{name}.lua").read_text(encoding="utf-8")


class Client:
    """A server that is asked from an asyncio loop.

    Args:
        url: ``redis://``, ``rediss://`` or ``unix://``.
        timeout: seconds for an answer.

    Raises:
        ValueError: the URL is not one of a Redis server.
    """

    def __init__(self, url: str, timeout: float) -> None:
        self.name = _without_password(url)
        try:
            self._pool = BlockingConnectionPool.from_url(
                url,
                max_connections=CONNECTIONS,
                timeout=timeout,
                socket_timeout=timeout,
                socket_connect_timeout=timeout,
                retry=Retry(NoBackoff(), 0),
            )
        except ValueError as error:
            raise ValueError(
                f"{self.name} is no Redis server ({error}): "
                "write redis://host:port/db, rediss://host:port/db or unix:///path?db=0."
            ) from None
        self._redis = Redis(connection_pool=self._pool)

    async def run(self, script: Script, keys: Sequence[str], args: Sequence[Argument]) -> list[Any]:
        """Run a script and return its answer."""
        async with self._answering():
            try:
                reply = await self._redis.evalsha(script.sha, len(keys), *keys, *args)
            except NoScriptError:
                await self._redis.script_load(script.text)
                reply = await self._redis.evalsha(script.sha, len(keys), *keys, *args)
            return list(reply)

    async def run_first(
        self, script: Script, key: str, args: Sequence[Argument]
    ) -> tuple[bool, list[Any]]:
        """Run a script; also return whether this run of the server had not met it before."""
        async with self._answering(), self._redis.pipeline(transaction=True) as pipe:
            pipe.script_exists(script.sha)
            pipe.script_load(script.text)
            pipe.evalsha(script.sha, 1, key, *args)
            [[known], _, reply] = await pipe.execute()
            return not known, list(reply)

    async def messages(self, channel: str) -> AsyncIterator[None]:
        """Yield at each message in a channel."""
        async with self._answering(), self._redis.pubsub() as subscriber:
            await subscriber.subscribe(channel)
            while True:
                message = await subscriber.get_message(
                    ignore_subscribe_messages=True, timeout=LISTEN
                )
                if message is not None:
                    yield

    async def info(self, section: str) -> dict[str, Any]:
        """Return what the server says of itself."""
        async with self._answering():
            return dict(await self._redis.info(section))

    async def close(self) -> None:
        """Close all connections."""
        async with self._answering():
            await self._pool.disconnect()

    @asynccontextmanager
    async def _answering(self) -> AsyncIterator[None]:
        try:
            yield
        except (RedisError, OSError, asyncio.TimeoutError) as error:
            # A connection may lead to a server that is no longer the right one.
            await self._pool.disconnect(inuse_connections=False)
            said = str(error) or type(error).__name__
            raise StoreUnavailable(f"{self.name}: {said}") from error


def refuse_cluster(name: str, info: Mapping[str, Any]) -> None:
    """See what a server says of itself under ``cluster``.

    Raises:
        ClusterNode: it has only some of the keys.
    """
    if info.get("cluster_enabled"):
        raise ClusterNode(
            f"{name} is a node of a Redis Cluster, and what must be done at once needs all keys on "
            "one server: use a Redis that is not clustered (it may have replicas)."
        )


def _without_password(url: str) -> str:
    """Return a URL without user and password.

    >>> _without_password("rediss://crawler:secret@h.example:6380/2")
    'rediss://h.example:6380/2'
    >>> _without_password("unix://:secret@/run/redis.sock?db=1")
    'unix:/run/redis.sock'
    """
    parts = urlsplit(url)
    return parts._replace(netloc=parts.netloc.rpartition("@")[2], query="").geturl()
