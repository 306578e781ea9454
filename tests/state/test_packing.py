"""Host states as text: what goes in comes out, and what is none is refused."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_polite.policy.backoff import Backoff
from scrapy_polite.policy.host import HostState
from scrapy_polite.state.packing import Unreadable, pack, unpack

NUMBERS = st.floats(allow_nan=False, allow_infinity=False)
INSTANTS = st.integers(0, 2**40).map(lambda quarters: quarters / 4)
BACKOFFS = st.builds(
    Backoff,
    episodes=st.integers(0, 99),
    began_at=INSTANTS,
    until_at=INSTANTS,
    rung=NUMBERS,
    asked=st.none() | NUMBERS,
    parked=st.booleans(),
    trouble_at=INSTANTS,
)
STATES = st.builds(
    HostState,
    duration=st.none() | NUMBERS,
    delay=st.none() | NUMBERS,
    backoff=BACKOFFS,
)

NO_STATES = {
    "no JSON": "{",
    "a list": "[]",
    "a number": "1",
    "an unknown name": '{"speed":1}',
    "a word for a number": '{"duration":"1"}',
    "an unknown name inside": '{"backoff":{"speed":1}}',
    "a word for a number that is no longer kept": '{"floor_until_at":"1"}',
    "a list inside": '{"backoff":[1]}',
}


@given(STATES)
def test_state_survives(state: HostState) -> None:
    """A state is the same after packing and unpacking."""
    assert unpack(pack(state)) == state


@given(STATES, st.integers(-(2**20), 2**20))
def test_instants_move_and_come_back(state: HostState, shift: int) -> None:
    """Only instants move from one clock into another, and the way back restores them."""
    assert unpack(pack(state, shift), -shift) == state
    moved = unpack(pack(state, shift))
    assert (moved.duration, moved.backoff.rung) == (state.duration, state.backoff.rung)
    if state.backoff.until_at:
        assert moved.backoff.until_at == state.backoff.until_at + shift


def test_fresh_state_takes_no_room() -> None:
    """Nothing to remember is the empty text."""
    assert pack(HostState(), 5.0) == ""


def test_what_earlier_versions_kept_is_passed_over() -> None:
    """A state that has what is no longer kept is read without it."""
    assert unpack('{"duration":0.5,"floor_until_at":60.0}') == HostState(duration=0.5)


@pytest.mark.parametrize("text", NO_STATES.values(), ids=NO_STATES)
def test_other_text_is_unreadable(text: str) -> None:
    """Text that we did not write is an error, not a guess."""
    with pytest.raises(Unreadable):
        unpack(text)
