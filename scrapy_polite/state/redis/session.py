"""One holder's dealings with a Redis server, in an asyncio loop.

Rules:

- The heart beats for the turns in hand, but not for one that has grown too old.
- Ends of turns and robots records that could not be told are owed, and told before turns are asked
  for.
- A turn whose grant was never heard of is granted again when its host is asked for.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence

from scrapy_polite.policy.robots_cache import RobotsRecord
from scrapy_polite.state import packing
from scrapy_polite.state.packing import Unreadable
from scrapy_polite.state.protocol import Acquired, Lease, StoreUnavailable
from scrapy_polite.state.redis import robots
from scrapy_polite.state.redis.book import Book, End
from scrapy_polite.state.redis.client import Client, script
from scrapy_polite.state.redis.epochs import Epochs
from scrapy_polite.state.redis.wire import Wire

logger = logging.getLogger(__name__)
UNREADABLE = "unreadable"
_UNREADABLE_WAIT = 60.0  # seconds


class Session:
    """See the rules above.

    Args:
        url: of the server.
        timeout: seconds for an answer.
    """

    def __init__(self, url: str, timeout: float, wire: Wire) -> None:
        self.client = Client(url, timeout)
        self.wire = wire
        self.book = Book(wire.terms)
        self.epochs = Epochs(self.client, wire, self.book)
        self._heart: asyncio.Future[None] | None = None
        self._ears: list[asyncio.Future[None]] = []
        self._owed: list[End] = []
        self._owed_records: dict[str, RobotsRecord] = {}
        self._records = robots.Records()
        self._records_told_in: str | None = None  # the epoch
        self._asking: set[str] = set()

    async def open(self) -> None:
        """Enter the epoch."""
        await self.epochs.entered()

    async def acquire(self, hosts: Sequence[str], limit: int) -> Acquired:
        """Lease at most *limit* of the hosts that are due."""
        await self._settle()
        known, unknown = self._asking | self.book.hosts_held(), list[bool]()
        for host in hosts:
            unknown.append(host not in known)
            known.add(host)
        new = {host for host, is_new in zip(hosts, unknown, strict=True) if is_new}
        self._asking |= new
        asked_at = self.wire.clock()
        try:
            answers = await self.epochs.ask(
                script("acquire"),
                [self.wire.host_key(host) for host in hosts],
                self.wire.acquire(limit, unknown),
            )
        finally:
            self._asking -= new
        acquired = Acquired()
        for host, (granted, told, more) in zip(hosts, answers, strict=True):
            if granted:
                self._take(acquired, host, int(told), more, asked_at)
            else:
                acquired.waits[host] = (float(told), more.decode())
        return acquired

    async def renew(self, leases: Sequence[Lease]) -> list[Lease | None]:
        """Prolong leases, their age counted from now on; None in place of one that is lost."""
        self.book.rejuvenate(leases, self.wire.clock())
        return await self._show(leases)

    async def finish(self, ends: Sequence[End]) -> list[bool]:
        """End turns, now or as soon as the server can be told; False for each stale lease."""
        now = self.wire.clock()
        for end in ends:
            self.book.ending(end, now)
        told, self._owed = [*self._owed, *ends], []
        if not told:
            return []
        try:
            answers = await self.epochs.ask(
                script("finish"),
                [self.wire.host_key(end.lease.host) for end in told],
                [arg for end in told for arg in self.wire.finish(end)],
            )
        except StoreUnavailable:
            self._owed += told
            raise
        for end in told:
            self.book.drop(end.lease)
        return [bool(ours) for ours in answers[len(told) - len(ends) :]]

    async def get_robots(self, origin: str) -> RobotsRecord | None:
        """Return the origin's record, None without one."""
        key = self.wire.robots_key(origin)
        [octets] = await self.epochs.ask(script("get_robots"), [key], [robots.KEPT])
        try:
            return None if octets is None else robots.unpack(octets, -self.wire.offset.seconds)
        except Unreadable as error:
            raise StoreUnavailable(f"{self.client.name}: {error}") from error

    async def put_robots(self, record: RobotsRecord) -> None:
        """Keep an origin's record, now or as soon as the server can be told."""
        self._owed_records[record.origin] = record
        self._records.remember(record)
        await self._tell_records()

    async def close(self) -> None:
        """End all turns as if their fetches had lasted until now, and let go of the server."""
        for task in (self._heart, *self._ears):
            if task is not None:
                task.cancel()
        now, charge = self.wire.clock(), self.wire.terms.charge.after
        held = [hold.lease for hold in self.book.holds() if not hold.ending]
        ends = [End(lease, now + charge(now - lease.granted_at), lease.state) for lease in held]
        try:
            if ends or self._owed:
                await self.finish(ends)
        finally:
            await self.client.close()

    def _take(
        self, acquired: Acquired, host: str, token: int, state: bytes, asked_at: float
    ) -> None:
        try:
            known = packing.unpack(state.decode(), -self.wire.offset.seconds)
        except Unreadable as error:
            logger.error("%s is left alone: %s", host, error)
            acquired.waits[host] = (_UNREADABLE_WAIT, UNREADABLE)
            return
        lease = Lease(host, token, self.wire.clock(), known)
        self.hold(lease, asked_at)
        acquired.leases.append(lease)

    def hold(self, lease: Lease, asked_at: float) -> None:
        """Take care of a turn that was granted some time after *asked_at*."""
        self.book.granted(lease, asked_at)
        if self._heart is None:
            self._heart = asyncio.ensure_future(self._beat())

    def listen(self, channel: str, call: Callable[[], object]) -> None:
        """Call back at each message in a channel, until the session is closed."""
        self._ears.append(asyncio.ensure_future(self._listen(channel, call)))

    async def _listen(self, channel: str, call: Callable[[], object]) -> None:
        while True:
            try:
                async for _ in self.client.messages(channel):
                    call()
            except StoreUnavailable as error:
                logger.debug("Nothing is heard of %s: %s", channel, error)
            await asyncio.sleep(self.wire.terms.heartbeat)

    async def _beat(self) -> None:
        """Show that we are alive, for as long as we are."""
        while True:
            await asyncio.sleep(self.wire.terms.heartbeat)
            for hold in self.book.grown_old(self.wire.clock()):
                logger.warning("%s is fetched for too long: its turn lapses", hold.lease.host)
            try:
                await self._settle()
                await self._show([hold.lease for hold in self.book.holds() if not hold.silent])
            except StoreUnavailable as error:
                logger.debug("No heartbeat: %s", error)

    async def _show(self, leases: Sequence[Lease]) -> list[Lease | None]:
        asked_at = self.wire.clock()
        answers = await self.epochs.ask(
            script("renew"),
            [self.wire.host_key(lease.host) for lease in leases],
            [str(lease.token) for lease in leases],
        )
        for lease, ours in zip(leases, answers, strict=True):
            if ours:
                self.book.renewed(lease, asked_at)
            else:
                self.book.lose(lease)
        return [lease if ours else None for lease, ours in zip(leases, answers, strict=True)]

    async def _settle(self) -> None:
        """Tell what is owed."""
        await self._tell_records()
        if self._owed:
            await self.finish([])

    async def _tell_records(self) -> None:
        epoch = await self.epochs.entered()
        for origin, record in list(self._owed_records.items()):
            await self._tell_record(record)
            if self._owed_records.get(origin) is record:
                del self._owed_records[origin]
        if epoch != self._records_told_in:
            for record in self._records:
                await self._tell_record(record, "NX")  # somebody may have told a later one
            self._records_told_in = epoch

    async def _tell_record(self, record: RobotsRecord, *condition: str) -> None:
        octets = robots.pack(record, self.wire.offset.seconds)
        key = self.wire.robots_key(record.origin)
        await self.epochs.ask(script("put_robots"), [key], [octets, robots.KEPT, *condition])
