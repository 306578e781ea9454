"""How far the server's clock is ahead of ours, as its answers show."""

from __future__ import annotations


class Offset:
    """Seconds from our clock to the server's; moved only as far as an answer proves it wrong.

    >>> offset = Offset()
    >>> offset.heard(10.0, 1010.25, 11.0)
    >>> offset.seconds
    1000.25
    >>> offset.heard(20.0, 1020.5, 21.0)  # between 999.5 and 1000.5
    >>> offset.seconds
    1000.25
    """

    def __init__(self) -> None:
        self.seconds = 0.0
        self._was_heard = False

    def heard(self, asked_at: float, server_at: float, answered_at: float) -> None:
        """The server's clock showed *server_at* some time between two instants of ours."""
        most, least = server_at - asked_at, server_at - answered_at
        self.seconds = min(max(self.seconds, least), most) if self._was_heard else most
        self._was_heard = True
