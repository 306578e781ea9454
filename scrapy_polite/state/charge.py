"""What a fetch costs whose end nobody saw: its holder died, hung, or was not heard of."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Charge:
    """How long a host is left alone after such a fetch; a store knows no other policy.

    Args:
        factor: this many times the length that the fetch is taken to have had.
        least: at least so many seconds.
        most: at most so many seconds.
    """

    factor: float = 10.0
    least: float = 1.0
    most: float = 600.0

    def after(self, length: float) -> float:
        """Return for how many seconds the host is left alone after so many seconds.

        >>> [Charge().after(length) for length in (0.0, 5.0, 86400.0)]
        [1.0, 50.0, 600.0]
        """
        return min(max(self.factor * length, self.least), self.most)
