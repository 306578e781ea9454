"""Asking a Redis server in an epoch that the holder has entered.

Rules:

- Every question names the epoch in which it is asked.  A server that was restarted, failed over or
  lost its data is in another one: what the holder knows is entered there, and asked again.
- A new epoch grants nothing for one ttl, so that all holders can enter what they hold.
- A run of the server that nobody of ours asked before, that is up for longer than a ttl and was no
  replica, lost nothing: its first epoch grants at once.
- Each change is one line in the log.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
from collections.abc import Sequence
from itertools import islice
from typing import Any

from scrapy_polite.state.protocol import StoreUnavailable
from scrapy_polite.state.redis.book import Book
from scrapy_polite.state.redis.client import Client, Script, refuse_cluster, script, source
from scrapy_polite.state.redis.wire import Argument, Wire

logger = logging.getLogger(__name__)
_ATTEMPTS = 3  # epochs that a question is asked in
_CHUNK = 500  # hosts told at once
_UPTIME_STEP = 1.0  # seconds; a server counts its uptime in these


class Epochs:
    """The epochs of one server, as one holder meets them."""

    def __init__(self, client: Client, wire: Wire, book: Book) -> None:
        self._client = client
        self._wire = wire
        self._book = book
        # What a run of the server has met of ours it has met under our prefix.
        self._enter_script = Script(f"{source('enter')}-- {wire.prefix!r}\n")
        self.current: str | None = None
        self._has_entered = False
        self._entering = asyncio.Lock()

    async def ask(self, script: Script, keys: Sequence[str], args: Sequence[Argument]) -> list[Any]:
        """Run a script in the epoch, which is entered if it was not; return its answers."""
        for _ in range(_ATTEMPTS):
            epoch = await self.entered()
            answers = await self._run(script, epoch, keys, args)
            if answers is not None:
                return answers
            self.left(epoch)
        raise StoreUnavailable(f"{self._client.name}: it loses its data again and again")

    def left(self, epoch: str) -> None:
        """An epoch is over."""
        if self.current == epoch:
            self.current = None

    async def entered(self) -> str:
        """Return the epoch, entered if it was not."""
        async with self._entering:
            if self.current is None:
                self.current = await self._enter()
                self._has_entered = True
            return self.current

    async def _enter(self) -> str:
        if not self._has_entered:
            refuse_cluster(self._client.name, await self._client.info("cluster"))
        mine, asked_at = secrets.token_hex(8), self._wire.clock()
        never_met, reply = await self._client.run_first(
            self._enter_script, self._wire.epoch_key, self._wire.enter(mine)
        )
        epoch, now, closed_until = str(reply[0], "ascii"), float(reply[1]), float(reply[2])
        self._wire.offset.heard(asked_at, now, self._wire.clock())
        closed = max(closed_until - now, 0.0)
        runs_long = int(reply[3]) > self._wire.terms.ttl + _UPTIME_STEP
        was_replica = bool(reply[4])
        if epoch == mine and never_met and runs_long and not was_replica and not self._has_entered:
            await self._tell(script("unlock"), epoch, [], [])
            closed = 0.0
        self._say(closed, await self._register(epoch))
        if not self._has_entered:
            await self._look_at_eviction()
        return epoch

    async def _register(self, epoch: str) -> int:
        """Enter all that we know; return how many turns in hand that were."""
        book, wire = self._book, self._wire
        now = wire.clock()
        hosts = book.hosts_to_tell(now)
        while chunk := list(islice(hosts, _CHUNK)):
            answers = await self._tell(
                script("register"),
                epoch,
                [wire.host_key(host) for host in chunk],
                [arg for host in chunk for arg in wire.register(*book.known_of(host))],
            )
            for host, kept in zip(chunk, answers, strict=True):
                hold = book.known_of(host)[1]
                if hold is not None and kept:
                    book.renewed(hold.lease, now)
                elif hold is not None:
                    book.lose(hold.lease)
        return len(book.holds())

    async def _tell(
        self, script: Script, epoch: str, keys: Sequence[str], args: Sequence[Argument]
    ) -> list[Any]:
        """Run a script in an epoch that is being entered."""
        answers = await self._run(script, epoch, keys, args)
        if answers is None:
            raise StoreUnavailable(f"{self._client.name}: it lost its data meanwhile")
        return answers

    async def _run(
        self, script: Script, epoch: str, keys: Sequence[str], args: Sequence[Argument]
    ) -> list[Any] | None:
        """Run a script; None when the epoch is over."""
        asked_at = self._wire.clock()
        reply = await self._client.run(
            script, [self._wire.epoch_key, *keys], [*self._wire.common(epoch), *args]
        )
        if reply[0] != b"ok":
            return None
        self._wire.offset.heard(asked_at, float(reply[1]), self._wire.clock())
        return reply[2:]

    def _say(self, closed: float, turns: int) -> None:
        name = self._client.name
        if self._has_entered:
            logger.warning(
                "%s was restarted or lost its data: nothing is leased for %.0f s, "
                "and %d turns in hand were entered again",
                name,
                closed,
                turns,
            )
        elif closed:
            logger.info(
                "%s was started or lost its data a moment ago: nothing is leased for %.0f s",
                name,
                closed,
            )

    async def _look_at_eviction(self) -> None:
        told = await self._client.info("memory")
        policy = told.get("maxmemory_policy", "noeviction")
        if policy != "noeviction":
            logger.warning(
                "%s forgets keys when its memory is full (maxmemory-policy %s), and with them how "
                "long hosts are to be left alone: set maxmemory-policy noeviction",
                self._client.name,
                policy,
            )
