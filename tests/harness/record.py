"""What the server saw, and the questions a test asks of it.

Rules: one `Arrival` per request, written when its answer was sent to the last octet or the
connection ended before that; instants are `time.monotonic()` of the server; everything here is a
pure function over a list of arrivals.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import pairwise
from math import inf, nextafter


@dataclass(frozen=True, slots=True)
class Arrival:
    """One request as the server saw it.

    Args:
        host: Host name without port, as the client wrote it.
        port: Port that the request came in on.
        path: Path with query.
        method: HTTP method.
        start_at: When the head of the request had been read, in seconds.
        end_at: Just before the last octets were handed to the network, or, if the client left, when
            the server noticed.
        status: Status that was sent; None when no answer was begun.
        ended: "answered", "dropped" (by the server) or "left" (by the client, before the end).
        headers: The request's headers, names in lower case, repeated ones joined by ", ".
        connection: Number of the connection, counted from 1 per server.
    """

    host: str
    port: int
    path: str
    method: str
    start_at: float
    end_at: float
    status: int | None
    ended: str
    headers: Mapping[str, str]
    connection: int

    @property
    def duration(self) -> float:
        """Seconds from the request to the end of its answer."""
        return self.end_at - self.start_at


@dataclass(frozen=True, slots=True)
class Gap:
    """Two consecutive requests to one host."""

    host: str
    before: Arrival
    after: Arrival

    @property
    def wait(self) -> float:
        """Seconds from the end of the first to the start of the second; below 0 when at once."""
        return self.after.start_at - self.before.end_at

    @property
    def ratio(self) -> float:
        """The wait in durations of the first fetch."""
        return self.wait / self.before.duration if self.before.duration else inf


def by_host(log: Iterable[Arrival]) -> dict[str, list[Arrival]]:
    """Return the arrivals of each host, in the order in which they started."""
    hosts: dict[str, list[Arrival]] = {}
    for arrival in sorted(log, key=lambda a: a.start_at):
        hosts.setdefault(arrival.host, []).append(arrival)
    return hosts


def gaps(log: Iterable[Arrival]) -> list[Gap]:
    """Return one gap per consecutive pair of requests to one host, robots.txt fetches included."""
    return [
        Gap(host, before, after)
        for host, arrivals in by_host(log).items()
        for before, after in pairwise(arrivals)
    ]


def most_at_once(log: Iterable[Arrival], host: str | None = None) -> int:
    """Return the greatest number of requests that were in flight at one instant.

    Args:
        log: The arrivals to look at.
        host: Count only this host's; None counts all of them together.
    """
    moments: list[tuple[float, int]] = []
    for arrival in log:
        if host in (None, arrival.host):
            # A fetch too short for the clock still is one: it ends an instant after its start.
            end_at = max(arrival.end_at, nextafter(arrival.start_at, inf))
            moments += [(arrival.start_at, 1), (end_at, -1)]
    most = now = 0
    for _, step in sorted(moments):  # at one instant, ends (-1) sort before starts
        now += step
        most = max(most, now)
    return most


def robots_fetches(log: Iterable[Arrival], host: str | None = None) -> list[Arrival]:
    """Return the fetches of /robots.txt, of one host or (None) of all."""
    return [a for a in log if a.path == "/robots.txt" and host in (None, a.host)]
