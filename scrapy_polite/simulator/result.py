"""What a simulated crawl came to.

Waiting is counted by host and by reason, when it is over: the parts of the rule (see `policy.delay`
and `policy.host`), `ROBOTS` while robots.txt could not be read, `PLACE` and `ROBOTS_PLACE` while
the host was ready for a page or a robots.txt and all places for that were in use.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from scrapy_polite.frontier.hosts import Want
from scrapy_polite.policy.host import Outcome

ROBOTS = "robots"
PLACE = "place"
ROBOTS_PLACE = "robots place"
PLACE_OF = {Want.PAGE: PLACE, Want.ROBOTS: ROBOTS_PLACE}


class Fetched(NamedTuple):
    """One fetch of a simulated crawl; instants are seconds since its start.

    Args:
        host: number of the host in the plan.
        want: PAGE or ROBOTS.
        wait: seconds from its end until the host may be asked again, by the rule.
        reason: the part of the rule that decided.
    """

    host: int
    want: Want
    started_at: float
    ended_at: float
    outcome: Outcome
    wait: float
    reason: str


@dataclass(frozen=True, slots=True)
class Simulation:
    """What a simulated crawl came to.

    Args:
        seconds: from the start to the end of the last fetch, or to where it was cut off.
        fetches: page fetches that ended, good, failed or refused.
        failed: those of them that failed.
        refused: those of them that were refused.
        robots_fetches: robots.txt fetches that ended.
        left: pages that were not fetched, for the crawl was cut off or their host parked.
        parked: hosts that were given up in this run.
        busy: of what the places could have fetched, the share that was fetched; that is, how much
            of the time they were in use.
        paced: of what the hosts' own waits would have allowed, the share that was fetched; 1 when
            no host ever waited for a place.
        waits: seconds that hosts waited, by reason, all hosts together.
        log: the first fetches to end, as many as the plan keeps.
    """

    seconds: float
    fetches: int
    failed: int
    refused: int
    robots_fetches: int
    left: int
    parked: int
    busy: float
    paced: float
    waits: Mapping[str, float]
    log: tuple[Fetched, ...] = field(repr=False)

    @property
    def share(self) -> float:
        """Share of the possible fetches; hosts and places both set a limit to what is possible."""
        return max(self.busy, self.paced)


class Tally:
    """Adds up while a simulation runs.

    Args:
        keep: how many fetches the log keeps.
    """

    def __init__(self, keep: int) -> None:
        self._keep = keep
        self._log: list[Fetched] = []
        self._ended: Counter[tuple[Want, Outcome]] = Counter()
        self._in_use = dict.fromkeys(Want, 0.0)  # seconds
        self._ended_at = 0.0
        self._waits: defaultdict[str, float] = defaultdict(float)  # seconds
        self.parked = 0

    def add(self, fetched: Fetched) -> None:
        """A fetch ended."""
        self._ended[fetched.want, fetched.outcome] += 1
        self._ended_at = fetched.ended_at
        self.use(fetched.want, fetched.ended_at - fetched.started_at)
        if len(self._log) < self._keep:
            self._log.append(fetched)

    def wait(self, reason: str, seconds: float) -> None:
        """A host waited."""
        if seconds:
            self._waits[reason] += seconds

    def use(self, want: Want, seconds: float) -> None:
        """A place was in use."""
        self._in_use[want] += seconds

    def total(self, places: int, left: int, cut_off_at: float | None) -> Simulation:
        """Return what it came to; *cut_off_at* is None when the crawl came to its end."""
        seconds = self._ended_at if cut_off_at is None else cut_off_at
        for_places = sum(self._waits.get(place, 0.0) for place in PLACE_OF.values())
        occupied = sum(self._in_use.values()) + sum(self._waits.values())
        return Simulation(
            seconds=seconds,
            fetches=sum(self._ended[Want.PAGE, outcome] for outcome in Outcome),
            failed=self._ended[Want.PAGE, Outcome.TROUBLED],
            refused=self._ended[Want.PAGE, Outcome.REFUSED],
            robots_fetches=sum(self._ended[Want.ROBOTS, outcome] for outcome in Outcome),
            left=left,
            parked=self.parked,
            busy=self._in_use[Want.PAGE] / (places * seconds) if seconds else 0.0,
            paced=1.0 - for_places / occupied if occupied else 1.0,
            waits=dict(self._waits),
            log=tuple(self._log),
        )
