"""Who holds which turn: leases by request object, never in its meta, which copies carry along."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from scrapy_polite.policy.host import Outcome, Turn

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.http import Response

    from scrapy_polite.state.protocol import Lease


@dataclass(slots=True)
class Held:
    """A lease in hand, and what was seen of its fetch; instants in our own monotonic clock.

    Args:
        began_at: when the request was handed to the network; None before.
        response: the answer, when there was one.
        retry_after: of a refusal in seconds; None without a usable one.
        refused: whether the answer is a refusal.
    """

    lease: Lease
    held_at: float
    asked_at: float
    began_at: float | None = None
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
        previous_delay: delay in force before this fetch in seconds; None when it was the first.
        began_at: start of the fetch in our monotonic clock.
        duration: seconds on the wire.
    """

    request: Request
    host: str
    response: Response | None
    outcome: Outcome
    retry_after: float | None
    began_at: float
    duration: float
    previous_delay: float | None
    turn: Turn = field(repr=False)


class Leases:
    """Leases keyed by the request that holds them."""

    def __init__(self) -> None:
        self._held: dict[Request, Held] = {}

    def __len__(self) -> int:
        return len(self._held)

    def __iter__(self) -> Iterator[Request]:
        return iter(list(self._held))

    def attach(self, request: Request, lease: Lease, now: float, asked_at: float) -> Held:
        """Give a request its turn."""
        held = self._held[request] = Held(lease, now, asked_at)
        return held

    def get(self, request: Request) -> Held | None:
        """Return what a request holds, None when that is nothing."""
        return self._held.get(request)

    def pop(self, request: Request) -> Held | None:
        """Take a request's turn away."""
        return self._held.pop(request, None)
