"""Real crawls for minutes, in bad weather: nothing leaks, and the books balance.

Two crawls of hosts of their own run at once, one with everything in memory, one with a JOBDIR, and
are stopped as a person stops them; the second one is resumed.  The verdict is the server's log,
and what the process says of its own objects.
"""

from __future__ import annotations

import sqlite3
import time
from collections import Counter
from contextlib import closing
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from harness import Web
from soak.books import STOPPED, Diary, differences, left, report_differences
from soak.crawling import Soaking
from soak.growth import figures, growths
from soak.promises import breaches
from soak.sampling import PROC
from soak.weather import Seen, Weather

CHAINS = 3  # requests of each good host
BAD_CHAINS = 2  # requests of each of the others
BALANCED = (
    "downloader/response_status_count/200",
    "polite/backoff/blocked",
    "polite/backoff/refusals",
    "polite/backoff/released",
    "polite/backoff/status/503",
    "polite/gate/turns",
    "polite/gate/unused",
    "polite/robots/access/successful",
    "polite/robots/dropped",
    "polite/robots/hops",
    "polite/trouble/fetches",
    "polite/wait/duration",
    "robotstxt/forbidden",
    "robotstxt/request_count",
    "scheduler/dequeued",
)
"""Stats that are compared with the server's log, to the last request."""

BOUNDED = ("polite/backoff/returned", "retry/count")
"""The same, but for the few robots.txt files that came back, or were sent away, at a stop."""


@dataclass
class Soak:
    """A crawl that is run once or more often, and what came of each run.

    Args:
        runs: result of each run, what the server saw meanwhile, and what was noted meanwhile.
    """

    folder: Path
    weather: Weather
    seed: int
    settings: dict[str, Any]
    runs: list[tuple[dict[str, Any], list[Seen], Diary]] = field(default_factory=list)

    def start(self) -> Soaking:
        """Begin, or go on."""
        weather = self.weather
        good = [site.url("") for site in weather.good for _ in range(CHAINS)]
        bad = [site.url("") for site in (*weather.parked, *weather.dead) for _ in range(BAD_CHAINS)]
        self.chains = len(good + bad)
        return Soaking(
            self.folder,
            {**weather.settings, **self.settings, "POLITE_REPORT": str(self.report)},
            chains=[] if self.runs else good + bad,
            sites=[site.url("") for site in weather.good],
            diary=str(self.folder / "diary.jsonl"),
            seed=self.seed,
        )

    def stop(self, soaking: Soaking) -> None:
        """Stop a run and keep what came of it."""
        result = soaking.stop()
        seen, diary = self.seen, self.diary
        for _, known, noted in self.runs:
            seen, diary = seen[len(known) :], Diary(diary[len(noted) :])
        self.runs.append((result, seen, diary))

    @property
    def report(self) -> Path:
        return self.folder / "report.json"

    @property
    def seen(self) -> list[Seen]:
        return self.weather.seen()

    @property
    def diary(self) -> Diary:
        return Diary.read(self.folder / "diary.jsonl")


def assert_sound(soak: Soak) -> None:
    """Assert what holds of every soak."""
    queued, before = soak.chains, list[Seen]()
    for number, (result, seen, diary) in enumerate(soak.runs):
        assert result["left over"] == {}
        different = differences(result["stats"], seen, diary, before)
        assert different == [], "\n".join(different)
        before += seen
        # A resumed run begins with what the one before has left.
        assert left(result["stats"], queued if number else 0) == queued - diary.count(STOPPED)
    stops = [seen[-1].arrival.start_at for _, seen, _ in soak.runs[:-1]]
    broken = breaches(soak.seen, soak.weather, stops)
    assert broken == [], "\n".join(broken)
    assert report_differences(soak.report, soak.seen) == []
    assert growths(soak.runs[0][0]["samples"]) == [], figures(soak.runs[0][0]["samples"])


def assert_checks_bite(soak: Soak) -> None:
    """Assert that the checks find a miscount, and a request that came too early."""
    result, seen, diary = soak.runs[0]
    for name, miscount in (*((name, 1) for name in BALANCED), *((name, 100) for name in BOUNDED)):
        stats = {**result["stats"], name: result["stats"].get(name, 0) + miscount}
        assert differences(stats, seen, diary), name
    assert differences(result["stats"], seen[1:], diary)
    early = [
        replace(item, arrival=replace(item.arrival, start_at=item.arrival.start_at - 9.0))
        for item in seen[1:]
    ]
    assert breaches([seen[0], *early], soak.weather)


def assert_each_page_once(soak: Soak) -> None:
    """Assert that no page was lost or fetched again, whatever failed and whoever stopped."""
    known = Counter((line["chain"], line["number"]) for line in soak.diary)
    assert known.most_common(1)[0][1] == 1
    last = {chain: max(n for c, n in known if c == chain) for chain in {c for c, _ in known}}
    assert sum(number + 1 for number in last.values()) == len(known)
    answered = Counter(
        (item.arrival.host, item.arrival.path)
        for item in soak.seen
        if not item.is_robots and item.status in (200, 301, 302, 404)
    )
    assert answered.most_common(1)[0][1] == 1


def rows(path: Path, table: str) -> list[Any]:
    """Return the rows of a table of a state file."""
    with closing(sqlite3.connect(path)) as db:
        return db.execute(f"SELECT * FROM {table}").fetchall()


@pytest.mark.skipif(not PROC.exists(), reason="memory and files are read from /proc")
@pytest.mark.parametrize(
    ("seconds", "hosts", "every"),
    [
        pytest.param(13.0, 20, 1.0, marks=pytest.mark.slow, id="for some seconds"),
        pytest.param(
            300.0, 40, 5.0, marks=[pytest.mark.soak, pytest.mark.timeout(600)], id="for minutes"
        ),
    ],
)
def test_nothing_leaks_and_the_books_balance(
    web: Web, tmp_path: Path, seconds: float, hosts: int, every: float
) -> None:
    """Crawls of hosts that fail at random: no leak, no request unaccounted for, no promise broken.

    The one with a JOBDIR is stopped, resumed and stopped again: each page is fetched once.
    """
    job = tmp_path / "job"
    in_memory, on_disk = (
        Soak(tmp_path / name, Weather(web, hosts, seed), seed, {"SOAK_EVERY": every, **own})
        for seed, (name, own) in enumerate(
            {"memory": {}, "disk": {"JOBDIR": str(job)}}.items(), start=9309
        )
    )
    running = [(soak, soak.start()) for soak in (in_memory, on_disk)]
    time.sleep(seconds)
    for soak, soaking in running:
        soak.stop(soaking)
    again = on_disk.start()
    time.sleep(seconds / 2.5)
    on_disk.stop(again)
    for soak in (in_memory, on_disk):
        assert_sound(soak)
        assert_each_page_once(soak)
        assert_checks_bite(soak)
        print(figures(soak.runs[0][0]["samples"]))
    assert rows(job / "polite.db", "leases") == []
    assert list(job.glob("requests.queue/in-progress/*")) == []
