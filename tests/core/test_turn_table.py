"""The table of a turn's life, walked along every path up to a depth."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import pytest

from scrapy_polite.core.phase import PLACES, Change, Phase
from scrapy_polite.core.phase import TABLE as PHASES
from scrapy_polite.core.turn import TABLE, Do, Event, State, UnexpectedEvent, step

DEPTH = 9
TOLD = (Do.GIVE_BACK, Do.RELEASE, Do.CHARGE)  # the store hears of the end of a lease


def paths(state: State = State.IDLE, depth: int = DEPTH) -> Iterator[tuple[Event, ...]]:
    """Yield all sequences of events that the table has, from IDLE on."""
    yield ()
    if depth:
        for (at, event), (to, _) in TABLE.items():
            if at is state:
                yield from ((event, *rest) for rest in paths(to, depth - 1))


def walk(path: tuple[Event, ...]) -> Iterator[tuple[State, Event, State, Do]]:
    state = State.IDLE
    for event in path:
        to, do = step(state, event)
        yield state, event, to, do
        state = to


@pytest.mark.parametrize(("state", "event"), list(product(State, Event)), ids=str)
def test_an_event_is_in_the_table_or_an_error_that_says_which(state: State, event: Event) -> None:
    """No event is ignored: it leads somewhere, or it is refused by name."""
    if (state, event) in TABLE:
        assert isinstance(step(state, event).state, State)
    else:
        with pytest.raises(UnexpectedEvent, match=f"{event.value}.* {state.value}"):
            step(state, event)


def test_a_lease_that_was_granted_is_told_back_exactly_once() -> None:
    """On all paths the store hears of the end of each lease, before it is asked for another."""
    for path in paths():
        leases = asked = 0
        for _, event, to, do in walk(path):
            asked += do is Do.ACQUIRE
            asked -= event in (Event.GRANT, Event.DENY, Event.FAIL)
            leases += event is Event.GRANT
            leases -= do in TOLD
            assert 0 <= asked + leases <= 1, path
            if to is State.IDLE:
                assert asked == leases == 0, path


def test_only_a_lease_in_hand_is_lent_and_only_what_was_lent_flies() -> None:
    """Nobody reaches the network without a lease of this turn."""
    for path in paths():
        granted = lent = False
        for _, event, to, _ in walk(path):
            granted = granted or event is Event.GRANT
            lent = lent or event is Event.LEND
            if to in (State.LENT, State.FLYING):
                assert granted and lent, path
            if to is State.IDLE:
                granted = lent = False


def test_what_is_unwanted_is_not_lent() -> None:
    """A lease that comes after the crawl was stopped or frozen is given back at once."""
    assert {(e, TABLE[s, e].do) for s, e in TABLE if s is State.UNWANTED} == {
        (Event.GRANT, Do.GIVE_BACK),
        (Event.DENY, Do.REST),
        (Event.FAIL, Do.REST),
        (Event.UNWANT, Do.NOTHING),
    }


@pytest.mark.parametrize("state", State, ids=str)
def test_every_state_is_reached_and_leads_back_to_idle(state: State) -> None:
    """No turn is lost for ever, and no state stands in the table for nothing."""
    reached = {State.IDLE} | {to for path in paths(depth=6) for _, _, to, _ in walk(path)}
    assert state in reached
    leads_back = {State.IDLE}
    for _ in State:
        leads_back |= {at for (at, _), (to, _) in TABLE.items() if to in leads_back}
    assert state in leads_back


@pytest.mark.parametrize("state", [state for state in State if state is not State.IDLE], ids=str)
def test_a_crawl_may_stop_in_any_state(state: State) -> None:
    """A stop finds each turn that is not idle somewhere, and the table knows what becomes of it."""
    assert (state, Event.UNWANT) in TABLE


@pytest.mark.parametrize(("phase", "change"), list(product(Phase, Change)), ids=str)
def test_a_crawl_knows_what_each_change_means(phase: Phase, change: Change) -> None:
    """Changes come from outside at any time; SPEND alone needs a place."""
    if change is Change.SPEND and PLACES[phase] == 0 and phase is not Phase.STOPPING:
        assert (phase, change) not in PHASES
    else:
        assert (phase, change) in PHASES


def test_nothing_leads_back_from_a_stop() -> None:
    """A crawl that stops begins nothing new."""
    assert {PHASES[Phase.STOPPING, change] for change in Change} == {Phase.STOPPING}
    assert PLACES[Phase.STOPPING] == 0


def test_a_probe_is_spent_once() -> None:
    """While the network is gone one turn is asked for; the next one after another probe."""
    frozen = PHASES[Phase.RUNNING, Change.FREEZE]
    probing = PHASES[frozen, Change.PROBE]
    spent = PHASES[probing, Change.SPEND]
    assert [PLACES[phase] for phase in (frozen, probing, spent)] == [0, 1, 0]
    assert PLACES[PHASES[spent, Change.RETURN]] == 1
    assert PHASES[spent, Change.PROBE] is spent, "one is under way"
    assert PLACES[PHASES[PHASES[spent, Change.FAIL], Change.PROBE]] == 1
