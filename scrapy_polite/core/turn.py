"""The life of a host's turn, in one table.

Rules:
- A host has one turn at most; without one it is IDLE, and its time is the frontier's to keep.
- The table is all that may happen.  An event that it does not have for a state is a fault of the
  caller, and `step` says which; it is never ignored.
- Every way leads back to IDLE: what was asked for is answered, what was granted is told back.

    IDLE --ask--> ASKED --grant--> GRANTED --lend--> LENT --begin--> FLYING --leave--> ENDING
                    |                 '------- give back, spoil -------'                  |
                    '--deny, fail--> IDLE <---------------------store---------------------'
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from typing import NamedTuple


class State(enum.Enum):
    """Where a turn is."""

    IDLE = "idle"  # nobody has it
    ASKED = "asked"  # the store is being asked for its lease
    UNWANTED = "unwanted"  # the same, but a lease that comes is to be given back
    GRANTED = "granted"  # the lease is here, and no request's yet
    LENT = "lent"  # a request has it, and is not on the wire yet
    FLYING = "flying"  # the request is on the wire
    ENDING = "ending"  # the store is being told of its end


class Event(enum.Enum):
    """What happens to a turn."""

    ASK = "ask"  # its host is ready, and somebody has a use for it
    GRANT = "grant"  # the store gave a lease
    DENY = "deny"  # the store says: later
    FAIL = "fail"  # the store does not answer
    UNWANT = "unwant"  # the crawl stops or is frozen: nothing new begins
    LEND = "lend"  # a request gets it
    PASS = "pass"  # another request of the host gets it instead
    BEGIN = "begin"  # the request goes to the network
    LEAVE = "leave"  # the request left the network, whatever came of it
    GIVE_BACK = "give back"  # whoever had it has no use for it any more
    SPOIL = "spoil"  # an error kept it from being used
    STORE = "store"  # the store was told, or does not answer


class Do(enum.Enum):
    """What the owner of a turn does because of an event."""

    NOTHING = "nothing"
    ACQUIRE = "acquire"  # ask the store
    OFFER = "offer"  # find who uses it
    GIVE_BACK = "give back"  # tell the store that it was not used
    RELEASE = "release"  # tell the store that a fetch ended, and what it taught
    CHARGE = "charge"  # the same for a fetch that nobody measured: a long rest
    REST = "rest"  # the frontier has the host again


class Step(NamedTuple):
    """Where a turn goes, and what is done."""

    state: State
    do: Do


class UnexpectedEvent(Exception):
    """An event came that the table does not have for a state."""


TABLE: Mapping[tuple[State, Event], Step] = {
    (State.IDLE, Event.ASK): Step(State.ASKED, Do.ACQUIRE),
    (State.ASKED, Event.GRANT): Step(State.GRANTED, Do.OFFER),
    (State.ASKED, Event.DENY): Step(State.IDLE, Do.REST),
    (State.ASKED, Event.FAIL): Step(State.IDLE, Do.REST),
    (State.ASKED, Event.UNWANT): Step(State.UNWANTED, Do.NOTHING),
    (State.UNWANTED, Event.GRANT): Step(State.ENDING, Do.GIVE_BACK),
    (State.UNWANTED, Event.DENY): Step(State.IDLE, Do.REST),
    (State.UNWANTED, Event.FAIL): Step(State.IDLE, Do.REST),
    (State.UNWANTED, Event.UNWANT): Step(State.UNWANTED, Do.NOTHING),
    (State.GRANTED, Event.LEND): Step(State.LENT, Do.NOTHING),
    (State.GRANTED, Event.UNWANT): Step(State.ENDING, Do.GIVE_BACK),
    (State.GRANTED, Event.GIVE_BACK): Step(State.ENDING, Do.GIVE_BACK),
    (State.GRANTED, Event.SPOIL): Step(State.ENDING, Do.CHARGE),
    (State.LENT, Event.PASS): Step(State.LENT, Do.NOTHING),
    (State.LENT, Event.BEGIN): Step(State.FLYING, Do.NOTHING),
    (State.LENT, Event.GIVE_BACK): Step(State.ENDING, Do.GIVE_BACK),
    (State.LENT, Event.SPOIL): Step(State.ENDING, Do.CHARGE),
    # A request may reach the network without a word of it; that it left is told then.
    (State.LENT, Event.LEAVE): Step(State.ENDING, Do.RELEASE),
    (State.LENT, Event.UNWANT): Step(State.LENT, Do.NOTHING),
    (State.FLYING, Event.LEAVE): Step(State.ENDING, Do.RELEASE),
    # Who gives a download up does not take it off the wire: its turn ends when it left.
    (State.FLYING, Event.GIVE_BACK): Step(State.FLYING, Do.NOTHING),
    (State.FLYING, Event.SPOIL): Step(State.ENDING, Do.CHARGE),
    (State.FLYING, Event.UNWANT): Step(State.FLYING, Do.NOTHING),
    (State.ENDING, Event.STORE): Step(State.IDLE, Do.REST),
    (State.ENDING, Event.UNWANT): Step(State.ENDING, Do.NOTHING),
}


def step(state: State, event: Event) -> Step:
    """Return where an event leads a turn, and what is done.

    Raises:
        UnexpectedEvent: the table does not have this event for the state.

    >>> step(State.FLYING, Event.LEAVE)
    Step(state=<State.ENDING: 'ending'>, do=<Do.RELEASE: 'release'>)
    """
    found = TABLE.get((state, event))
    if found is None:
        raise UnexpectedEvent(f"{event.value!r} came to a turn that is {state.value}")
    return found
