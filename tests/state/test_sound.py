"""Numbers that no store can keep: they cost their host a long wait, and nobody else anything."""

from __future__ import annotations

import logging
import math
from collections.abc import Iterator
from pathlib import Path

import pytest

from distributed.servers import is_missing
from scrapy_polite.policy.backoff import Backoff
from scrapy_polite.policy.host import HostState
from scrapy_polite.policy.retry_after import RETRY_AFTER_CAP
from scrapy_polite.state.charge import Charge
from scrapy_polite.state.sqlite.leases import End
from state.kit import Clock, Driven
from state.test_contract import FACTORIES

LEARNT = HostState(duration=0.5, delay=5.0)
UNKEEPABLE = {
    "no wait": (math.nan, LEARNT),
    "a wait before all time": (-math.inf, LEARNT),
    "a duration that is none": (1.0, HostState(duration=math.nan)),
    "a delay without end": (1.0, HostState(delay=math.inf)),
    "a block without end": (1.0, HostState(backoff=Backoff(refusals=1, until_at=math.inf))),
}


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture(params=["memory", "sqlite"])
def store(request: pytest.FixtureRequest, clock: Clock, tmp_path: Path) -> Iterator[Driven]:
    with Driven(FACTORIES[request.param](clock, tmp_path)) as store:
        store.open()
        yield store


@pytest.mark.parametrize("name", UNKEEPABLE)
def test_an_end_that_cannot_be_kept_is_the_longest_charge(
    name: str, store: Driven, clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    """Its host waits as long as any fetch can cost, keeps what was known, and an ERROR says so."""
    delay, state = UNKEEPABLE[name]
    store.release(store.lease("a.test"), 0.0, LEARNT)
    assert store.release(store.lease("a.test"), delay, state)
    assert store.wait("a.test")[0] >= Charge().most - 1e-6
    assert [r.levelno for r in caplog.records if "a.test" in r.getMessage()] == [logging.ERROR]
    clock.now += Charge().most + 1.0
    assert store.lease("a.test").state == LEARNT


@pytest.mark.parametrize("name", UNKEEPABLE)
def test_other_hosts_go_on_after_an_end_that_cannot_be_kept(name: str, store: Driven) -> None:
    """The store answers for all other hosts, as if nothing had been."""
    bad = store.lease("a.test")
    store.release(bad, *UNKEEPABLE[name])
    assert store.release(store.lease("b.test"), 3.0)
    assert store.wait("b.test")[0] == pytest.approx(3.0)


def test_a_wait_without_end_is_a_very_long_one(store: Driven) -> None:
    """An infinite delay never becomes a shorter one than any that may be asked for."""
    store.release(store.lease("a.test"), math.inf)
    assert store.wait("a.test")[0] > RETRY_AFTER_CAP


def test_an_end_that_the_file_refuses_takes_no_other_with_it(clock: Clock, tmp_path: Path) -> None:
    """Of several ends that are owed, the good ones are written and the other is charged."""
    made = FACTORIES["sqlite"](clock, tmp_path)
    with Driven(made) as store:
        good, bad = store.acquire("good.test", "bad.test").leases
        owed = [End(bad, math.nan, LEARNT), End(good, clock() + 3.0, LEARNT)]
        store.run(_end(made, owed))
        assert store.wait("bad.test")[0] >= Charge().most - 1e-6
        assert store.wait("good.test")[0] == pytest.approx(3.0)


async def _end(store, ends: list[End]) -> list[bool]:  # type: ignore[no-untyped-def]
    ended: list[bool] = await store._run(lambda: store._session.end(ends))
    return ended


@pytest.mark.skipif(is_missing(), reason="no Redis server here")
def test_redis_charges_an_end_that_cannot_be_kept(clock: Clock, tmp_path: Path) -> None:
    """On Redis, too, such a host waits as long as any fetch can cost."""
    with Driven(FACTORIES["redis"](clock, tmp_path)) as store:
        store.open()
        lease = store.lease("a.test")
        store.release(lease, math.nan, LEARNT)
        assert store.wait("a.test")[0] >= Charge().most - 1.0
