"""A Redis server that is asked without waiting for other things meanwhile, as scrapy-redis does.

So the time for an answer is short, and nothing is repeated: the client would sleep in between.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from functools import cache
from importlib.resources import files
from typing import Any

from scrapy_polite.state.protocol import StoreUnavailable
from scrapy_polite.state.redis.client import Script, source

with suppress(ImportError):  # of the extra `redis`
    from redis import Redis
    from redis.backoff import NoBackoff
    from redis.exceptions import NoScriptError, RedisError
    from redis.retry import Retry

TIMEOUT = 2.0  # seconds for an answer


def make_impatient(server: Any) -> None:
    """Have a client of scrapy-redis, if any, not repeat questions."""
    if server is not None:
        server.set_retry(Retry(NoBackoff(), 0))


@cache
def bare(name: str) -> Script:
    """Return a script of this package that needs no epoch."""
    return Script(_source(name))


@cache
def whole(name: str) -> Script:
    """Return a script of this package that runs in an epoch, on a shelf."""
    return Script(source("prelude") + _source("shelf") + _source(name))


def _source(name: str) -> str:
    return files(__package__).joinpath(f"{name}.lua").read_text(encoding="utf-8")


class Server:
    """See above.

    Args:
        url: of the server.
        name: what it is called in messages.
        timeout: seconds for an answer.
    """

    def __init__(self, url: str, name: str, timeout: float) -> None:
        self.name = name
        self._redis = Redis.from_url(
            url,
            socket_timeout=timeout,
            socket_connect_timeout=timeout,
            retry=Retry(NoBackoff(), 0),
        )

    def run(self, script: Script, keys: Sequence[str], args: Sequence[Any]) -> Any:
        """Run a script and return its answer.

        Raises:
            StoreUnavailable: there was none; the script may have been run.
        """
        try:
            try:
                return self._redis.evalsha(script.sha, len(keys), *keys, *args)
            except NoScriptError:
                self._redis.script_load(script.text)
                return self._redis.evalsha(script.sha, len(keys), *keys, *args)
        except (RedisError, OSError) as error:
            raise StoreUnavailable(f"{self.name}: {error}") from error

    def is_same_as(self, client: Any) -> bool:
        """Return whether a client of scrapy-redis is for the same database."""
        databases = [
            (one.info("server")["run_id"], one.connection_pool.connection_kwargs.get("db", 0))
            for one in (client, self._redis)
        ]
        return databases[0] == databases[1]

    def close(self) -> None:
        """Let go of the server."""
        self._redis.close()
