"""What becomes of turns whose holder is not heard of."""

from __future__ import annotations

from dataclasses import dataclass

_DAY = 86400.0  # seconds


@dataclass(frozen=True, slots=True)
class Terms:
    """The terms on which turns are held; all who share a server use the same.

    Args:
        ttl: seconds without a heartbeat after which a turn lapses.
        heartbeat: seconds between heartbeats.
        max_age: seconds from the grant or the last renewal after which the heart stops for a turn,
            so that a fetch that hangs is no more than that.
        charge_factor: the host of a turn that lapsed is left alone for this many times the length
            of the fetch, which is taken to have lasted until the heartbeat that did not come.
        charge_least: at least so many seconds.
        charge_most: at most so many seconds.
    """

    ttl: float = 30.0
    heartbeat: float = 5.0
    max_age: float = 600.0
    charge_factor: float = 10.0
    charge_least: float = 1.0
    charge_most: float = 600.0

    def charge(self, age: float) -> float:
        """Return for how many seconds a host is left alone after a fetch of this length.

        >>> [Terms().charge(age) for age in (0.0, 5.0, 86400.0)]
        [1.0, 50.0, 600.0]
        """
        return min(max(self.charge_factor * age, self.charge_least), self.charge_most)

    @property
    def turn_kept(self) -> float:
        """Seconds for which a server remembers a turn that nobody renews."""
        return self.ttl + self.charge_most + _DAY
