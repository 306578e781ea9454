"""One holder's dealings with a Redis server, in an asyncio loop.

Rules:

- Every question names the epoch in which it is asked.  A server that was restarted, failed over or
  lost its data is in another one: what the holder knows is entered there, and asked again.
- A new epoch grants nothing for one ttl, so that all holders can enter what they hold.  A run of
  the server that was never asked before, and that runs for longer than a ttl, lost nothing.
- Ends of turns that could not be told are owed, and told before anything else.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import Any

from scrapy_polite.policy.host import HostState
from scrapy_polite.policy.robots_cache import RobotsRecord
from scrapy_polite.state import packing
from scrapy_polite.state.packing import Unreadable
from scrapy_polite.state.protocol import Acquired, Lease, StoreUnavailable
from scrapy_polite.state.redis import robots
from scrapy_polite.state.redis.book import Book, End, Told, keep_for
from scrapy_polite.state.redis.client import Argument, Client, Script, script, source
from scrapy_polite.state.redis.offset import Offset
from scrapy_polite.state.redis.terms import Terms

logger = logging.getLogger(__name__)
_ATTEMPTS = 3  # epochs that a question is asked in
_CHUNK = 500  # hosts told at once
_UPTIME_STEP = 1.0  # seconds; the server counts its uptime in these


class Session:
    """See the rules above.

    Args:
        prefix: what all keys begin with.
        clock: the holder's own monotonic clock in seconds.
        server_clock: a clock in place of the server's, in seconds; None for the server's own.
    """

    def __init__(
        self,
        client: Client,
        prefix: str,
        *,
        terms: Terms,
        clock: Callable[[], float],
        server_clock: Callable[[], float] | None = None,
    ) -> None:
        self.client = client
        self.book = Book(terms)
        self.holder = secrets.token_hex(8)
        self._prefix = prefix
        self._terms = terms
        self._clock = clock
        self._server_clock = server_clock
        self._offset = Offset()
        # What a run of the server has met of us, it has met under our prefix.
        self._enter_script = Script(f"{source('enter')}-- {prefix!r}\n")
        self._epoch: str | None = None
        self._entering = asyncio.Lock()
        self._has_entered = False
        self._heart: asyncio.Future[None] | None = None
        self._owed: list[End] = []
        self._asking: set[str] = set()

    # what a store does

    async def open(self) -> None:
        """Enter the epoch."""
        await self._entered()

    async def acquire(self, hosts: Sequence[str], limit: int) -> Acquired:
        """Lease at most *limit* of the hosts that are due."""
        await self._settle()
        unknown = [host for host in dict.fromkeys(hosts) if self._is_unknown(host)]
        self._asking.update(unknown)
        try:
            asked_at = self._clock()
            answers = await self._ask(
                script("acquire"),
                [self.host_key(host) for host in hosts],
                self.acquire_args(limit, [host in unknown for host in _once(hosts)]),
            )
        finally:
            self._asking.difference_update(unknown)
        acquired = Acquired()
        for host, (granted, told, more) in zip(hosts, answers, strict=True):
            if granted:
                acquired.leases.append(self._leased(host, int(told), more, asked_at))
            else:
                acquired.waits[host] = (float(told), more.decode())
        return acquired

    async def renew(self, leases: Sequence[Lease]) -> list[Lease | None]:
        """Prolong leases; None in place of one that is lost."""
        asked_at = self._clock()
        answers = await self._ask(
            script("renew"),
            [self.host_key(lease.host) for lease in leases],
            [str(lease.token) for lease in leases],
        )
        for lease, ours in zip(leases, answers, strict=True):
            if ours:
                self.book.renewed(lease, asked_at)
            elif self.book.hold(lease) is not None:
                self.book.drop(lease)
                logger.warning("The turn of %s was lost: it is another's by now", lease.host)
        return [lease if ours else None for lease, ours in zip(leases, answers, strict=True)]

    async def finish(self, ends: Sequence[End]) -> list[bool]:
        """End turns, now or as soon as the server can be told; False for each stale lease."""
        now = self._clock()
        for end in ends:
            self.book.ending(end, now)
        told, self._owed = [*self._owed, *ends], []
        if not told:
            return []
        try:
            answers = await self._ask(
                script("finish"),
                [self.host_key(end.lease.host) for end in told],
                [argument for end in told for argument in self._end_args(end)],
            )
        except StoreUnavailable:
            self._owed += told
            raise
        for end in told:
            self.book.drop(end.lease)
        return [bool(ours) for ours in answers[len(told) - len(ends) :]]

    async def get_robots(self, origin: str) -> RobotsRecord | None:
        """Return the origin's record, None without one."""
        key = self.robots_key(origin)
        [octets] = await self._ask(script("get_robots"), [key], [robots.KEPT])
        try:
            return None if octets is None else robots.unpack(octets, -self._offset.seconds)
        except Unreadable as error:
            raise StoreUnavailable(f"{self.client.name}: {error}") from error

    async def put_robots(self, record: RobotsRecord) -> None:
        """Keep an origin's record."""
        await self._entered()
        octets = robots.pack(record, self._offset.seconds)
        await self._ask(
            script("put_robots"), [self.robots_key(record.origin)], [octets, robots.KEPT]
        )

    async def close(self) -> None:
        """End all turns as if their fetches had lasted until now, and let go of the server."""
        if self._heart is not None:
            self._heart.cancel()
        now = self._clock()
        ends = [
            End(lease, now + self._terms.charge(now - lease.granted_at), lease.state)
            for lease in (hold.lease for hold in self.book.holds())
        ]
        try:
            if ends or self._owed:
                await self.finish(ends)
        finally:
            await self.client.close()

    # keys and arguments of the scripts

    def host_key(self, host: str) -> str:
        """Return the key of a host."""
        return f"{self._prefix}host:{host}"

    def robots_key(self, origin: str) -> str:
        """Return the key of a robots record."""
        return f"{self._prefix}robots:{origin}"

    @property
    def epoch_key(self) -> str:
        """The key of the epoch."""
        return f"{self._prefix}epoch"

    def common_args(self, epoch: str) -> list[Argument]:
        """Return what every script is told first."""
        terms = self._terms
        return [epoch, self._now(), self.holder, terms.ttl, terms.heartbeat, terms.turn_kept]

    def acquire_args(self, limit: int, unknown: Sequence[bool]) -> list[Argument]:
        """Return what acquire.lua is told of hosts, of which some are known to be free of us."""
        terms = self._terms
        charge = [terms.charge_factor, terms.charge_least, terms.charge_most]
        return [limit, *charge, *map(int, unknown)]

    def _end_args(self, end: End) -> list[Argument]:
        if end.due_at is None:
            return [str(end.lease.token), "", "", 0]
        state = packing.pack(end.state, self._offset.seconds)
        delay = max(end.due_at - self._clock(), 0.0)
        return [str(end.lease.token), delay, state, keep_for(end.state)]

    def _register_args(self, host: str, now: float) -> list[Argument]:
        told = self.book.told.get(host, Told(0.0))
        hold = self.book.turn(host)
        return [
            max(told.due_at - now, 0.0),
            packing.pack(told.state, self._offset.seconds),
            "" if told.told_at is None else now - told.told_at,
            keep_for(told.state),
            "" if hold is None else str(hold.lease.token),
            0 if hold is None else max(now - hold.lease.granted_at, 0.0),
        ]

    def _now(self) -> Argument:
        return "" if self._server_clock is None else self._server_clock()

    # asking in an epoch

    async def _ask(
        self, script: Script, keys: Sequence[str], args: Sequence[Argument]
    ) -> list[Any]:
        for _ in range(_ATTEMPTS):
            epoch, asked_at = await self._entered(), self._clock()
            reply = await self.client.run(
                script, [self.epoch_key, *keys], [*self.common_args(epoch), *args]
            )
            if reply[0] == b"ok":
                self._offset.heard(asked_at, float(reply[1]), self._clock())
                return reply[2:]
            if self._epoch == epoch:
                self._epoch = None
        raise StoreUnavailable(f"{self.client.name}: the server loses its data again and again")

    async def _entered(self) -> str:
        """Return the epoch, entered if it was not."""
        async with self._entering:
            if self._epoch is None:
                self._epoch = await self._enter()
            return self._epoch

    async def _enter(self) -> str:
        mine, asked_at = secrets.token_hex(8), self._clock()
        never_met, reply = await self.client.run_first(
            self._enter_script, self.epoch_key, [mine, self._now(), self._terms.ttl]
        )
        epoch, now, closed_until = reply[0].decode(), float(reply[1]), float(reply[2])
        self._offset.heard(asked_at, now, self._clock())
        closed = max(closed_until - now, 0.0)
        runs_long = int(reply[3]) > self._terms.ttl + _UPTIME_STEP
        lost_nothing = never_met and runs_long and not reply[4] and not self._has_entered
        if epoch == mine and lost_nothing:
            await self._tell(script("unlock"), epoch, [], [])
            closed = 0.0
        entered = await self._register(epoch)
        self._say_entered(closed, entered)
        if not self._has_entered:
            await self._look_at_eviction()
            self._heart = asyncio.ensure_future(self._beat())
        self._has_entered = True
        return epoch

    async def _register(self, epoch: str) -> int:
        """Enter all that we know; return how many turns in hand that were."""
        now = self._clock()
        hosts = self.book.hosts_to_tell(now)
        while chunk := list(islice(hosts, _CHUNK)):
            args = [argument for host in chunk for argument in self._register_args(host, now)]
            keys = [self.host_key(host) for host in chunk]
            answers = await self._tell(script("register"), epoch, keys, args)
            lost = [host for host, kept in zip(chunk, answers, strict=True) if not kept]
            for lease in self.book.lost(lost):
                logger.warning("The turn of %s was lost: it is another's by now", lease.host)
        for hold in self.book.holds():
            self.book.renewed(hold.lease, now)
        return len(self.book.holds())

    async def _tell(
        self, script: Script, epoch: str, keys: Sequence[str], args: Sequence[Argument]
    ) -> list[Any]:
        """Ask in an epoch that is being entered."""
        reply = await self.client.run(
            script, [self.epoch_key, *keys], [*self.common_args(epoch), *args]
        )
        if reply[0] != b"ok":
            raise StoreUnavailable(f"{self.client.name}: the server lost its data meanwhile")
        return reply[2:]

    def _say_entered(self, closed: float, turns: int) -> None:
        if self._has_entered:
            logger.warning(
                "%s was restarted or lost its data: nothing is leased for %.0f s, "
                "and %d turns in hand were entered again",
                self.client.name,
                closed,
                turns,
            )
        elif closed:
            logger.info(
                "%s was started or lost its data a moment ago: nothing is leased for %.0f s",
                self.client.name,
                closed,
            )

    async def _look_at_eviction(self) -> None:
        policy = await self.client.eviction_policy()
        if policy != "noeviction":
            logger.warning(
                "%s forgets keys when its memory is full (maxmemory-policy %s), and with them what "
                "hosts are due: set maxmemory-policy noeviction",
                self.client.name,
                policy,
            )

    # the heart

    async def _beat(self) -> None:
        """Show that we are alive, for as long as we are."""
        while True:
            await asyncio.sleep(self._terms.heartbeat)
            for hold in self.book.grown_old(self._clock()):
                logger.warning(
                    "The turn of %s is %.0f s old and is no longer renewed",
                    hold.lease.host,
                    self._clock() - hold.aged_from_at,
                )
            try:
                await self._settle()
                await self.renew([hold.lease for hold in self.book.holds() if not hold.silent])
            except StoreUnavailable as error:
                logger.debug("No heartbeat: %s", error)

    async def _settle(self) -> None:
        if self._owed:
            await self.finish([])

    def _leased(self, host: str, token: int, state: bytes, asked_at: float) -> Lease:
        try:
            known = packing.unpack(state.decode(), -self._offset.seconds)
        except Unreadable as error:
            raise StoreUnavailable(f"{self.client.name}: {error}") from error
        lease = Lease(host, token, self._clock(), known)
        self.book.granted(lease, asked_at)
        return lease

    def _is_unknown(self, host: str) -> bool:
        return not self.book.has_turn(host) and host not in self._asking


def _once(hosts: Sequence[str]) -> Iterator[str | None]:
    """Yield each host the first time that it is met, None for it after that."""
    seen: set[str] = set()
    for host in hosts:
        yield None if host in seen else host
        seen.add(host)
