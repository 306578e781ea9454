"""What an access log says of a crawl, as the numbers that a site owner would ask for."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from harness.record import Arrival, by_host, gaps, most_at_once
from referee.nginx import Seen
from referee.sites import Owner, pages

ROBOTS = ("/robots.txt", "/rules.txt")


@dataclass(frozen=True, slots=True)
class Figures:
    """A crawl as the server saw it; durations in seconds.

    Args:
        asked: Different pages that were asked for, robots.txt not among them.
        got: Those of the pages to be had, redirects and 404s not among them, that were got.
        to_get: How many pages robots.txt allows to get.
        refused: How often nginx refused a request, by status.
        forbidden: Requests for pages that robots.txt forbids, or before it could be read.
        again: Answers to a page that had been answered before.
        connections: Most connections with one host at a time.
        share: The greatest part of a host's time that was spent on answering.
        least_wait: Least wait between two requests of a host, in durations of the first.
        seconds: From the first request to the end of the last.
    """

    asked: int
    got: int
    to_get: int
    refused: Mapping[int, int]
    forbidden: int
    again: int
    connections: int
    share: float
    least_wait: float
    seconds: float


def figures(log: Sequence[Seen], owners: Mapping[str, Owner]) -> Figures:
    """Work out the figures of a crawl of these owners' sites, by address."""
    asked = [seen for seen in log if seen.path not in ROBOTS]
    answered = Counter((seen.host, seen.path) for seen in asked if not seen.is_refused)
    to_get = {
        (host, path)
        for host, owner in owners.items()
        for path, status in pages(owner).items()
        if status == 200
    }
    hosts = by_host(log).values()
    return Figures(
        asked=len({(seen.host, seen.path) for seen in asked}),
        got=len(to_get & set(answered)),
        to_get=len(to_get),
        refused=Counter(seen.status or 0 for seen in log if seen.is_refused),
        forbidden=sum(not owners[seen.host].allows(seen.path) for seen in asked),
        again=sum(answered.values()) - len(answered),
        connections=max(most_at_once(connections(seen)) for seen in hosts),
        share=max(map(_share, hosts)),
        least_wait=min((gap.ratio for gap in gaps(log) if gap.before.duration), default=0.0),
        seconds=max(seen.end_at for seen in log) - log[0].start_at,
    )


def connections(log: Iterable[Arrival]) -> list[Arrival]:
    """Return one arrival per connection, from the start of its first request to its last end."""
    found: dict[int, Arrival] = {}
    for seen in log:
        first = found.setdefault(seen.connection, seen)
        found[seen.connection] = replace(first, end_at=max(first.end_at, seen.end_at))
    return list(found.values())


def _share(log: Sequence[Arrival]) -> float:
    """Return the part of the time up to the last request in which an answer was under way."""
    begin_at, end_at = log[0].start_at, log[-1].start_at
    busy, until = 0.0, begin_at
    for seen in log:
        busy += max(min(seen.end_at, end_at) - max(seen.start_at, until), 0.0)
        until = max(until, seen.end_at)
    return busy / (end_at - begin_at) if end_at > begin_at else 0.0
