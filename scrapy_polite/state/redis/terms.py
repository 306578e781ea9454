"""What becomes of turns whose holder is not heard of."""

from __future__ import annotations

from dataclasses import dataclass, field

from scrapy_polite.state.charge import Charge

_DAY = 86400.0  # seconds


@dataclass(frozen=True, slots=True)
class Terms:
    """The terms on which turns are held; all who share a server use the same.

    Args:
        ttl: seconds without a heartbeat after which a turn lapses.
        heartbeat: seconds between heartbeats.
        max_age: seconds from the grant or the last renewal after which the heart stops for a turn,
            so that a fetch that hangs is no more than that.
        charge: how long the host of a turn that lapsed is left alone; its fetch is taken to have
            lasted until the heartbeat that did not come.
    """

    ttl: float = 30.0
    heartbeat: float = 5.0
    max_age: float = 600.0
    charge: Charge = field(default_factory=Charge)

    @property
    def turn_kept(self) -> float:
        """Seconds for which a server remembers a turn that nobody renews."""
        return self.ttl + self.charge.most + _DAY
