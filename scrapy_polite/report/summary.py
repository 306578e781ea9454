"""The report: everything that page, terminal and JSON say, as frozen values.

It is computed from an event log alone.  Hosts stand in the order in which they matter: those that
were not treated as promised, then the busiest.  JSON has the same names as the classes here; a
later version only adds.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from scrapy_polite.report import schema
from scrapy_polite.report.figures import HostFigures, WaitSum, figures
from scrapy_polite.report.picture import Picture, picture
from scrapy_polite.report.promises import BROKEN, KEPT, UNKNOWN, Promise, judge
from scrapy_polite.report.reader import Reading
from scrapy_polite.report.tally import LISTED, Listing, Tally
from scrapy_polite.report.words import instant, many

FORMAT = "scrapy-polite report"
VERSION = 1
HOSTS_LISTED = 10_000


@dataclass(frozen=True, slots=True)
class Agent:
    """A name under which fetches were made, as it was sent; empty for none."""

    user_agent: str
    from_address: str
    fetches: int


@dataclass(frozen=True, slots=True)
class NotFetched:
    """Requests that were not fetched for one reason, and the first of them."""

    reason: str
    count: int
    urls: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Report:
    """A finished crawl in figures.

    Args:
        began_at: epoch seconds.
        seconds: from the beginning to the last event.
        ended: why the crawl ended; None when the log does not tell.
        runs: how many runs the log has.
        notes: what the log does not tell, a sentence each.
        is_whole: False when lines are missing from the midst of the log, or it was full.
        waits: waits that were set, by reason.
        hosts_unlisted: hosts that are counted but not listed.
        robots: the last word of each origin on its robots.txt, while there is room.
    """

    format: str
    version: int
    source: str
    spider: str
    began_at: float
    seconds: float
    ended: str | None
    runs: int
    events: int
    is_whole: bool
    user_agents: tuple[Agent, ...]
    promises: tuple[Promise, ...]
    fetches: int
    pages: int
    host_count: int
    refused: int
    waits: dict[str, WaitSum]
    not_fetched: tuple[NotFetched, ...]
    hosts: tuple[HostFigures, ...]
    robots: tuple[schema.RobotsRead, ...]
    picture: Picture
    notes: tuple[str, ...] = ()
    hosts_unlisted: int = 0

    @property
    def verdict(self) -> str:
        """What became of the promises together: "kept", "broken" or "unknown"."""
        verdicts = {promise.verdict for promise in self.promises} or {UNKNOWN}
        if BROKEN in verdicts:
            return BROKEN
        return UNKNOWN if UNKNOWN in verdicts or not self.is_whole else KEPT


def summarise(tally: Tally, reading: Reading) -> Report:
    """Return the report of a log.

    Args:
        reading: how the log could be read.
    """
    resumed_at = sorted(run.at for run in tally.runs[1:])
    every = [figures(history, resumed_at) for history in tally.hosts.values()]
    every.sort(key=lambda host: (not host.breaches, -host.fetches, host.host))
    seconds = tally.last_at
    run = tally.runs[0] if tally.runs else None
    listed = every[:HOSTS_LISTED]
    return Report(
        format=FORMAT,
        version=VERSION,
        source=reading.name,
        spider=run.spider if run else "",
        began_at=run.began_at if run else 0.0,
        seconds=seconds,
        ended=tally.ended.reason if tally.ended else None,
        runs=len(tally.runs),
        events=reading.read,
        is_whole=_is_whole(tally, reading),
        user_agents=tuple(Agent(*key, count) for key, count in tally.agents.most_common()),
        promises=judge(tally, every),
        fetches=sum(host.fetches for host in every),
        pages=sum(host.pages for host in every),
        host_count=len(every),
        refused=sum(host.refused for host in every),
        waits=_waits(every),
        not_fetched=tuple(_not_fetched(tally, every)),
        hosts=tuple(listed),
        robots=_robots(tally, [host.host for host in listed]),
        picture=picture((tally.hosts[host.host] for host in every), seconds),
        notes=tuple(_notes(tally, reading)),
        hosts_unlisted=len(every) - len(listed),
    )


def _is_whole(tally: Tally, reading: Reading) -> bool:
    lost = reading.unreadable - reading.torn
    return reading.begins and not lost and tally.full_at is None


def _notes(tally: Tally, reading: Reading) -> Iterable[str]:
    lost = reading.unreadable - reading.torn
    if lost:
        yield (
            f"{many(lost, 'line')} of {reading.lines:,} could not be read, the first is line "
            f"{reading.first_unreadable}: what they told is missing here."
        )
    if reading.torn:
        yield (
            "The log ends in the middle of a line, as after a kill; "
            f"the {many(reading.read, 'event')} before were read."
        )
    elif tally.ended is None:
        yield (
            "The log does not tell of the crawl's end: it was killed, or goes on. "
            "Fetches that were under way are not in it."
        )
    if tally.cut_off:
        yield (
            f"{many(tally.cut_off, 'run')} of {len(tally.runs):,} ended without a word, as after "
            "a kill: fetches that were under way then are not in it."
        )
    if tally.overlapping:
        yield (
            f"{many(tally.overlapping, 'run')} of {len(tally.runs):,} began before the end of what "
            "stands above: several logs were put together, or the clock was set back and waits "
            "between runs look too short."
        )
    if not reading.begins:
        yield "The log does not begin with the crawl's beginning: this is a part of it."
    if reading.unknown:
        yield f"{many(reading.unknown, 'line')} of a later version could not be understood."
    if tally.full_at is not None:
        yield (
            f"The log was full at {instant(tally.full_at)}: "
            "what was fetched after that is not judged."
        )


def _waits(hosts: Iterable[HostFigures]) -> dict[str, WaitSum]:
    counts, seconds = Counter[str](), defaultdict[str, float](float)
    for host in hosts:
        for reason, waits in host.waits.items():
            counts[reason] += waits.count
            seconds[reason] += waits.seconds
    return {reason: WaitSum(count, seconds[reason]) for reason, count in counts.most_common()}


def _not_fetched(tally: Tally, hosts: Iterable[HostFigures]) -> Iterable[NotFetched]:
    listings = dict(tally.dropped)
    for host in hosts:
        if host.remains:
            reason = schema.LEFT if host.parked_until_at is None else schema.PARKED
            known = listings.get(reason, Listing())
            line = f"{host.host}: {many(host.remains, 'request')} queued"
            listings[reason] = Listing(
                known.count + host.remains, [*known.urls, *[line][: LISTED - len(known.urls)]]
            )
    for reason in sorted(listings, key=lambda name: -listings[name].count):
        yield NotFetched(reason, listings[reason].count, tuple(listings[reason].urls))


def _robots(tally: Tally, hosts: Sequence[str]) -> tuple[schema.RobotsRead, ...]:
    """Return what is known of robots.txt files, those with problems first."""
    order = {host: number for number, host in enumerate(hosts)}
    found = [event for event in tally.robots.values() if event.host in order]
    found.sort(key=lambda event: (-event.problem_count, order[event.host]))
    return tuple(found[:HOSTS_LISTED])
