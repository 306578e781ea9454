"""While the network is gone one turn is asked for by each probe, and no other is handed out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from scrapy.utils.test import get_crawler
from twisted.internet.defer import Deferred

from scrapy_polite.frontier.hosts import NEVER, Openness
from scrapy_polite.policy.host import HostRules
from scrapy_polite.runtime.lanes import Lanes
from scrapy_polite.runtime.leases import Leases
from scrapy_polite.runtime.turns import Turns
from scrapy_polite.state.memory import MemoryStore
from scrapy_polite.state.protocol import Acquired, Lease


class SlowStore(MemoryStore):
    """Answers when it is told to, as a store that other processes share."""

    def __init__(self) -> None:
        super().__init__(lambda: 0.0)
        self.asked: list[tuple[list[str], Deferred[None]]] = []
        self.unused: list[str] = []

    async def acquire(self, hosts: Sequence[str], *, limit: int) -> Acquired:
        answer: Deferred[None] = Deferred()
        self.asked.append((list(hosts), answer))
        await answer
        return await super().acquire(hosts, limit=limit)

    async def give_back(self, leases: Sequence[Lease]) -> None:
        self.unused += [lease.host for lease in leases]
        await super().give_back(leases)


def make_turns(store: SlowStore) -> Turns:
    """Return turns of a crawl in which a request waits at the gate of each of three hosts."""
    turns = Turns(
        get_crawler(),
        Lanes(obey=True),
        Leases(HostRules(), lambda host: 0.0, {}),
        store,
        judge=lambda lane, now: (Openness.OPEN, NEVER),
        on_robots_turn=_unexpected,
        robots_places=lambda: 8,
        clock=lambda: 0.0,
    )
    for host in ("a", "b", "c"):
        turns.frontier.wait(host, 0.0)
    return turns


def _unexpected(*details: Any) -> None:
    raise AssertionError(details)


def test_a_probe_asks_for_one_turn_however_long_the_store_takes() -> None:
    """Ticks meanwhile ask for no second one."""
    store = SlowStore()
    turns = make_turns(store)
    turns.freeze()
    turns.probe()
    for _ in range(3):
        turns.tick()
    assert [hosts for hosts, _ in store.asked] == [["a"]]


def test_a_turn_that_comes_after_the_network_is_gone_goes_back() -> None:
    """What was asked for before the outage is not handed out in it."""
    store = SlowStore()
    turns = make_turns(store)
    turns.tick()
    turns.freeze()
    store.asked[0][1].callback(None)
    assert store.unused == ["a", "b", "c"]
