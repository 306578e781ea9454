"""Leases in hand: what an outage puts back, what a wait in the slot costs, what is renewed."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest
from scrapy import Request
from scrapy.utils.test import get_crawler

from scrapy_polite import block_host, set_floor
from scrapy_polite.policy.backoff import Backoff
from scrapy_polite.policy.host import HostRules, HostState
from scrapy_polite.policy.robots_cache import Ages
from scrapy_polite.runtime import leases as module
from scrapy_polite.runtime.lanes import Lanes
from scrapy_polite.runtime.leases import Leases
from scrapy_polite.runtime.robots import Robots
from scrapy_polite.runtime.verdicts import Verdicts
from scrapy_polite.state.protocol import Lease

BEFORE = HostState(duration=0.2, delay=2.0)
REQUEST = Request("http://site.test/")


def make_leases() -> Leases:
    return Leases(HostRules(), lambda host: 0.0, {})


def state_of_next_turn(leases: Leases, state: HostState) -> HostState:
    leases.attach(REQUEST, Lease("site.test", 1, 0.0, state), 0.0, 0.0)
    held = leases.get(REQUEST)
    assert held is not None
    return held.lease.state


def test_an_outage_puts_back_what_was_known_before() -> None:
    """What failures of ours taught of a host is forgotten at its next turn."""
    leases = make_leases()
    leases.restore({"site.test": BEFORE})
    taught = HostState(duration=60.0, delay=600.0, backoff=Backoff(trouble=600.0))
    assert state_of_next_turn(leases, taught) == BEFORE


def test_an_outage_takes_no_refusal_back_that_was_learnt_since() -> None:
    """Five refusals that another crawl heard meanwhile stay five."""
    leases = make_leases()
    leases.restore({"site.test": BEFORE})
    learnt = HostState(delay=2.0, backoff=Backoff(refusals=5, until_at=3600.0))
    assert state_of_next_turn(leases, learnt) == learnt


def test_a_block_of_decades_is_none() -> None:
    """A block that an earlier version kept until 2036 does not begin anew with the next answer."""
    kept = HostState(backoff=Backoff(refusals=8, until_at=10 * 365.25 * 86_400.0, parked=True))
    assert state_of_next_turn(make_leases(), kept).backoff.until_at == 0.0


def test_what_an_outage_remembers_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hosts that never have a turn again are forgotten, the oldest first."""
    monkeypatch.setattr(module, "_RESTORED_KEPT", 2)
    leases = make_leases()
    leases.restore({f"{n}.test": BEFORE for n in range(3)})
    leases.restore({"site.test": BEFORE})
    assert state_of_next_turn(leases, HostState()) == BEFORE
    leases.pop(REQUEST)
    leases.attach(REQUEST, Lease("0.test", 1, 0.0, HostState()), 0.0, 0.0)
    held = leases.get(REQUEST)
    assert held is not None and held.lease.state == HostState()


def test_only_leases_long_in_hand_are_renewed() -> None:
    """A fetch that takes minutes keeps its lease, whatever its request allowed for it."""
    leases = make_leases()
    other = Request("http://other.test/")
    leases.attach(REQUEST, Lease("site.test", 1, 0.0, BEFORE), 100.0, 100.0)
    leases.attach(other, Lease("other.test", 1, 0.0, BEFORE), 400.0, 400.0)
    assert [lease.host for lease in leases.in_hand(since_at=200.0)] == ["site.test"]
    assert len(leases.in_hand()) == 2


@pytest.mark.parametrize("call", [block_host, set_floor], ids=lambda call: call.__name__)
def test_hooks_do_nothing_where_the_pack_is_switched_off(call: Any) -> None:
    """A spider that calls them runs with POLITE_ENABLED False too; a bad number is still told."""
    crawler = get_crawler(settings_dict={"POLITE_ENABLED": False})
    call(crawler, "http://site.test/", 60)
    with pytest.raises(ValueError, match="seconds is -1"):
        call(crawler, "http://site.test/", -1)


def test_who_waits_for_a_verdict_is_told_whatever_happens() -> None:
    """An error between the verdict and its waiters leaves none of them waiting."""
    told: list[str] = []
    waiters = [(REQUEST, SimpleNamespace(callback=lambda _: told.append("told")))] * 2

    def broken(*_: str) -> None:
        raise KeyError("frontier")

    robots = cast(Any, Robots.__new__(Robots))
    robots.verdicts = SimpleNamespace(no_longer_waiting=lambda origin: waiters)
    robots._turns = SimpleNamespace(judged=broken)
    with pytest.raises(KeyError):
        robots._tell("http://site.test", "site.test")
    assert told == ["told", "told"]


def test_a_file_that_is_lost_after_its_origin_was_forgotten_is_no_error() -> None:
    """While the store is asked for a file, the origin may have been swept out."""
    Verdicts(Lanes(obey=True), Ages(), 600.0).lost("http://site.test")
