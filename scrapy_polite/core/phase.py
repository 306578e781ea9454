"""What a whole crawl may do: run, stand still in an outage, try with one request, or stop.

    RUNNING --freeze--> FROZEN --probe--> PROBING --spend--> PROBED --fail--> FROZEN
                                             '-----return------'
    from each of these: --thaw--> RUNNING, --stop--> STOPPING

Rules:
- While FROZEN nothing new begins; while PROBING one turn may be asked for, and no second one before
  that one ended, whatever else is tried meanwhile, or came to nothing.
- From STOPPING nothing leads back.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping


class Phase(enum.Enum):
    """What the crawl may do."""

    RUNNING = "running"
    FROZEN = "frozen"
    PROBING = "probing"
    PROBED = "probed"
    STOPPING = "stopping"


class Change(enum.Enum):
    """What changes it."""

    FREEZE = "freeze"  # the network seems to be gone
    PROBE = "probe"  # one request may try
    SPEND = "spend"  # a turn was asked for
    RETURN = "return"  # what was asked for came to nothing
    FAIL = "fail"  # the request that tried has ended, and did not get through
    THAW = "thaw"  # the network is there
    STOP = "stop"


_STOP = {(phase, Change.STOP): Phase.STOPPING for phase in Phase}
_STOPPED = {(Phase.STOPPING, change): Phase.STOPPING for change in Change}
_UNLIMITED = {
    (Phase.RUNNING, change): Phase.RUNNING
    for change in (Change.SPEND, Change.RETURN, Change.FAIL, Change.THAW, Change.PROBE)
}

TABLE: Mapping[tuple[Phase, Change], Phase] = {
    **_UNLIMITED,
    (Phase.RUNNING, Change.FREEZE): Phase.FROZEN,
    (Phase.FROZEN, Change.FREEZE): Phase.FROZEN,
    (Phase.FROZEN, Change.PROBE): Phase.PROBING,
    (Phase.FROZEN, Change.THAW): Phase.RUNNING,
    (Phase.FROZEN, Change.RETURN): Phase.FROZEN,
    (Phase.FROZEN, Change.FAIL): Phase.FROZEN,
    (Phase.PROBING, Change.PROBE): Phase.PROBING,
    (Phase.PROBING, Change.SPEND): Phase.PROBED,
    (Phase.PROBING, Change.FREEZE): Phase.FROZEN,
    (Phase.PROBING, Change.THAW): Phase.RUNNING,
    (Phase.PROBING, Change.RETURN): Phase.PROBING,
    (Phase.PROBING, Change.FAIL): Phase.PROBING,
    (Phase.PROBED, Change.RETURN): Phase.PROBING,
    (Phase.PROBED, Change.FAIL): Phase.FROZEN,
    (Phase.PROBED, Change.PROBE): Phase.PROBED,
    (Phase.PROBED, Change.FREEZE): Phase.FROZEN,
    (Phase.PROBED, Change.THAW): Phase.RUNNING,
    **_STOP,
    **_STOPPED,
}

PLACES: Mapping[Phase, int | None] = {
    Phase.RUNNING: None,
    Phase.FROZEN: 0,
    Phase.PROBING: 1,
    Phase.PROBED: 0,
    Phase.STOPPING: 0,
}
"""How many turns may be asked for; None: as many as there are places."""


class Permit:
    """What the crawl may begin right now, and which host's turn is the one that tries."""

    def __init__(self) -> None:
        self.phase = Phase.RUNNING
        self._probe = ""

    def change(self, change: Change) -> None:
        """Go where the table says."""
        self.phase = TABLE[self.phase, change]

    def limit(self, places: int) -> int:
        """Return how many turns may be asked for, of so many that there are places for."""
        allowed = PLACES[self.phase]
        return places if allowed is None else min(places, allowed)

    def spend(self, hosts: list[str]) -> None:
        """The turns of hosts are asked for."""
        if self.phase is Phase.PROBING:
            self._probe = hosts[0]
        self.change(Change.SPEND)

    def end(self, host: str, change: Change) -> None:
        """The turn of a host ended, or came to nothing: was it the one that tries?"""
        if self._probe == host:
            self._probe = ""
            self.change(change)
