"""The promises of a polite crawl, judged by the server's log of a soak alone."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

from harness.record import by_host, most_at_once
from soak.weather import DARK, PRIVATE, ROBOTS_MIN_AGE, TIMEOUT, Seen, Weather

TRANSIT = 0.25  # seconds that a request may take from the crawl to the server on a busy machine
CLOCK = 1e-5  # seconds; instants are that exact, times ten
RETRY_UNREACHABLE = 60.0  # seconds between two fetches of a robots.txt that cannot be read


def breaches(seen: Sequence[Seen], weather: Weather, stops: Sequence[float] = ()) -> list[str]:
    """Return a line for each time that a promise was broken.

    Args:
        stops: when the last request of each run but the last one began.
    """
    log = [item.arrival for item in seen]
    at_once = {host: most_at_once(own) for host, own in by_host(log).items()}
    found = [f"{host}: {most} at once" for host, most in at_once.items() if most > 1]
    for host in at_once:
        own = [item for item in seen if item.arrival.host == host]
        found += [f"{host}: {text}" for text in _breaches_of(host, own, weather, stops)]
    return found


def _breaches_of(
    host: str, own: Sequence[Seen], weather: Weather, stops: Sequence[float]
) -> Iterator[str]:
    if not own[0].is_robots:
        yield f"{own[0]} before robots.txt"
    if weather.disallows(host):
        yield from (f"disallowed: {item}" for item in own if PRIVATE in item.arrival.path)
    known_delay = 0.0
    for before, after in pairwise(own):
        # The file that others were sent to is not yet this host's robots.txt.
        if before.arrival.path == "/robots.txt" and before.status == 200:
            known_delay = weather.crawl_delay(host)
        wait = after.arrival.start_at - before.arrival.end_at
        asked = before.drawn.retry_after if before.is_refused else None
        least = max(known_delay, asked or 0.0)
        if (
            before.drawn.kind == "hung" and before.arrival.ended != DARK
        ):  # when the crawl left, the server notices late
            wait = after.arrival.start_at - before.arrival.start_at + TRANSIT
            least = 11.0 * TIMEOUT * weather.pace
        else:
            least = max(least, 10.0 * before.arrival.duration)
        if wait < least - CLOCK:
            yield f"{wait} s instead of {least} s between {before} and {after}"
    files = [item for item in own if item.arrival.path == "/robots.txt"]
    for before, after in pairwise(files):
        wait, least = after.arrival.start_at - before.arrival.start_at, _file_rests(before, weather)
        cut = any(before.arrival.start_at <= stop < after.arrival.start_at for stop in stops)
        if cut and (before.is_moved or before.is_troubled):
            continue  # its chain was not followed, or it was in doubt whose fault it was
        if wait < least - CLOCK:
            yield f"robots.txt after {wait} s instead of {least} s: {before} and {after}"


def _file_rests(item: Seen, weather: Weather) -> float:
    """Return for how long nobody may ask for a robots.txt again."""
    if item.is_refused and item.drawn.retry_after is not None:
        return item.drawn.retry_after
    if item.arrival.ended == DARK:  # that was our own fault, and teaches nothing of the site
        return 0.0
    return (
        RETRY_UNREACHABLE if item.is_troubled or item.is_refused else ROBOTS_MIN_AGE * weather.pace
    )
