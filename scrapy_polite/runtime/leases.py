"""Who holds which turn, and what a fetch means for the next one.

Leases are kept by request object, never in its meta, which copies carry along.
"""

from __future__ import annotations

import math
import random
from collections import OrderedDict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from scrapy_polite.policy.backoff import bounded
from scrapy_polite.policy.delay import FLOOR
from scrapy_polite.policy.host import Fetch, HostRules, HostState, Outcome, Turn, after_fetch

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.http import Response

    from scrapy_polite.state.protocol import Lease

_RESTORED_KEPT = 10_000  # hosts whose state from before an outage is remembered
_RESTS_KEPT = 10_000  # hosts whose last turn is remembered, to say why a request waited


@dataclass(slots=True)
class Held:
    """A lease in hand and what was seen of its fetch; instants in our own monotonic clock.

    Args:
        held_at: when the turn was granted.
        asked_at: since when the request waited for it.
        began_at: when the request was let through to its download slot, then when it was handed to
            the network; None before.
        departed: whether it was handed to the network.
        heard: whether an answer came, or its headers.
        nameless: whether its host has no address, so that nobody was asked.
        response: the answer; None before, and when none came whole.
        refused: whether the answer is a refusal.
        retry_after: of a refusal in seconds; None without a usable one.
    """

    lease: Lease
    held_at: float
    asked_at: float
    began_at: float | None = None
    departed: bool = False
    heard: bool = False
    nameless: bool = False
    response: Response | None = None
    refused: bool = False
    retry_after: float | None = None

    @property
    def outcome(self) -> Outcome:
        """How the fetch ended."""
        if self.refused:
            return Outcome.REFUSED
        if self.response is None or self.response.status >= 500:
            return Outcome.TROUBLED
        return Outcome.ANSWERED


@dataclass(frozen=True, slots=True)
class TurnEnded:
    """What subscribers are told when a host's turn is over.

    Args:
        heard: whether an answer came, or its headers.
        nameless: whether the host never had an address: nobody was asked, so nobody is to wait.
        response: the answer; None when none came whole.
        retry_after: of a refusal in seconds; None without a usable one.
        began_at: start of the fetch in our monotonic clock.
        duration: seconds on the wire.
        turn: the next turn.
    """

    request: Request
    lease: Lease = field(repr=False)
    heard: bool
    nameless: bool
    response: Response | None
    outcome: Outcome
    retry_after: float | None
    began_at: float
    duration: float
    turn: Turn


class Leases:
    """Leases keyed by the request that holds them.

    Args:
        rules: the numbers of the rule; replaced by the component that learns delays.
        crawl_delay_of: host key -> what its robots.txt files ask for in seconds.
        floors: host key or download slot -> floor in seconds (DOWNLOAD_SLOTS).
    """

    def __init__(
        self,
        rules: HostRules,
        crawl_delay_of: Callable[[str], float],
        floors: dict[str, float],
    ) -> None:
        self.rules = rules
        self._crawl_delay_of = crawl_delay_of
        self._slot_floors = floors
        self._own_floors: dict[str, float] = {}
        self._held: dict[Request, Held] = {}
        self._restored: OrderedDict[str, HostState] = OrderedDict()
        self._rests: OrderedDict[str, Turn] = OrderedDict()

    def __len__(self) -> int:
        return len(self._held)

    def __iter__(self) -> Iterator[Request]:
        return iter(list(self._held))

    def in_hand(self, since_at: float = math.inf) -> list[Lease]:
        """Return the leases that requests hold, and got at an instant or before."""
        return [held.lease for held in self._held.values() if held.held_at <= since_at]

    def set_floor(self, host: str, seconds: float) -> None:
        """Have at least *seconds* between the fetches of a host."""
        self._own_floors[host] = seconds

    def restore(self, states: dict[str, HostState]) -> None:
        """Have the hosts' next turns begin with these states, not with what failures taught since.

        What a refusal taught since stands: another crawl may have heard it.
        """
        for host, state in states.items():
            self._restored[host] = state
            self._restored.move_to_end(host)
        while len(self._restored) > _RESTORED_KEPT:  # who is forgotten is left alone for longer
            self._restored.popitem(last=False)

    def attach(self, request: Request, lease: Lease, now: float, asked_at: float) -> None:
        """Give a request its turn."""
        restored = self._restored.pop(lease.host, None)
        backoff = bounded(lease.state.backoff, lease.granted_at)
        if backoff is not lease.state.backoff:
            lease = replace(lease, state=replace(lease.state, backoff=backoff))
        if restored is not None and not _was_refused(lease.state, restored):
            lease = replace(lease, state=restored)
        self._held[request] = Held(lease, now, asked_at)

    def get(self, request: Request) -> Held | None:
        """Return what a request holds, None when that is nothing."""
        return self._held.get(request)

    def pop(self, request: Request) -> Held | None:
        """Take a request's turn away."""
        return self._held.pop(request, None)

    def take_unused(self, host: str) -> Lease | None:
        """Take a host's turn from a request that has it and is not on the wire yet, if any."""
        for request, held in self._held.items():
            if held.lease.host == host and held.began_at is None:
                del self._held[request]
                return held.lease
        return None

    def begin(self, request: Request, now: float) -> bool:
        """A request goes to the network; False when it has no turn."""
        held = self._held.get(request)
        if held is None:
            return False
        held.began_at = now
        return True

    def depart(self, request: Request, now: float) -> None:
        """A request is handed to the network."""
        held = self._held.get(request)
        if held is not None:
            held.began_at, held.departed = now, True

    def answered(self, response: Response, request: Request) -> None:
        """A request's answer arrived."""
        held = self._held.get(request)
        if held is not None:
            held.heard, held.response = True, response

    def nameless(self, request: Request) -> None:
        """A request's host turned out to have no address."""
        held = self._held.get(request)
        if held is not None:
            held.nameless = True

    def refused(self, request: Request, retry_after: float | None) -> None:
        """A request's answer is a refusal; *retry_after* in seconds, None without a usable one."""
        held = self._held.get(request)
        if held is not None:
            held.refused, held.retry_after = True, retry_after

    def settle(self, request: Request, now: float) -> TurnEnded | None:
        """End the turn of a request that left the network; None when it had none."""
        held = self._held.pop(request, None)
        if held is None:
            return None
        began_at = held.held_at if held.began_at is None else held.began_at
        fetch = self._fetch(request, held, began_at, now)
        state = held.lease.state
        nameless = held.nameless and state.delay is None  # one that answered before is in trouble
        if nameless:
            turn = Turn(state, 0.0, FLOOR)
        else:
            turn = after_fetch(state, fetch, self.rules, random.random())
        self._explain(request, held, began_at, fetch.duration)
        self._remember(held.lease.host, turn)
        return TurnEnded(
            request,
            held.lease,
            held.heard,
            nameless,
            held.response,
            held.outcome,
            held.retry_after,
            began_at,
            fetch.duration,
            turn,
        )

    def _explain(self, request: Request, held: Held, began_at: float, duration: float) -> None:
        """Say in a request's meta why it waited, and what became of it."""
        why: dict[str, object] = {"waited": began_at - held.asked_at, "duration": duration}
        rest = self._rests.get(held.lease.host)
        if rest is not None:
            why["rest"], why["reason"] = rest.wait, rest.reason
        known = request.meta.get("polite", {})
        why.update((key, known[key]) for key in ("robots", "usage") if key in known)
        request.meta["polite"] = why

    def _remember(self, host: str, turn: Turn) -> None:
        self._rests[host] = turn
        self._rests.move_to_end(host)
        if len(self._rests) > _RESTS_KEPT:
            self._rests.popitem(last=False)

    def _fetch(self, request: Request, held: Held, began_at: float, now: float) -> Fetch:
        lease, slot = held.lease, request.meta.get("download_slot")
        return Fetch(
            started_at=lease.granted_at + began_at - held.held_at,
            ended_at=lease.granted_at + now - held.held_at,
            outcome=held.outcome,
            retry_after=held.retry_after,
            learn=not request.meta.get("autothrottle_dont_adjust_delay"),
            floor=max(
                self._own_floors.get(lease.host, 0.0),
                self._slot_floors.get(lease.host, 0.0),
                self._slot_floors.get(slot or "", 0.0),
            ),
            crawl_delay=self._crawl_delay_of(lease.host),
        )


def _was_refused(state: HostState, before: HostState) -> bool:
    """Return whether a host has refused more often than before, or asked for longer."""
    now, then = state.backoff, before.backoff
    return now.refusals > then.refusals or now.parked > then.parked
