"""The crawl's own counters against the server's log: every request is accounted for.

Rules: each account has two sides, what the crawl counted and what the server saw (with the diary,
where a request never went out).  They are equal, to the last request.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from scrapy_polite.report.load import load
from soak.weather import Seen

UNSENT = ("IgnoreRequest", "RobotsUnreachable", "CrawlStopping", "HostParked")
"""What became of pages that never went out."""

STOPPED = "CrawlStopping"  # of pages that waited when the crawl stopped

Stats = Mapping[str, Any]


class Diary(list[dict[str, Any]]):
    """What became of each page, as the spider was told: its chain, number, and what it got."""

    @classmethod
    def read(cls, path: Path) -> Diary:
        """Return the diary in a file."""
        return cls(map(json.loads, path.read_text().splitlines()))

    def count(self, *got: str) -> int:  # type: ignore[override]
        """Return how many pages came to one of these ends."""
        return sum(line["got"] in got for line in self)


def differences(
    stats: Stats, seen: Sequence[Seen], diary: Diary, before: Sequence[Seen] = ()
) -> list[str]:
    """Return a line for each account of one run that does not add up.

    Args:
        before: what the server saw of the runs that this one resumes.
    """
    return [
        f"{name}: the crawl says {counted}, the server {known}"
        for name, counted, known in accounts(stats, seen, diary, before)
        if counted != known
    ]


def accounts(
    stats: Stats, seen: Sequence[Seen], diary: Diary, before: Sequence[Seen]
) -> Iterator[tuple[str, object, object]]:
    """Yield name, the crawl's side and the server's side of each account of one run."""
    pages = [item for item in seen if not item.is_robots]
    files = [item for item in seen if item.is_robots]
    refused = Counter(str(item.status) for item in seen if item.is_refused)
    answered = Counter(str(item.status) for item in seen if item.status)

    def sent(name: str) -> int:
        return int(stats.get(name, 0))

    turns = sent("polite/gate/turns") - sent("polite/gate/unused")
    yield "turns", turns, len(seen)
    yield "waits", _sum(stats, "polite/wait/", but=("seconds", "capped")), len(seen)
    unsent = sent("downloader/request_count") - len(seen)
    yield "requests sent away", unsent in range(sent("polite/gate/stopped") + 1), True
    yield "answers", group(stats, "downloader/response_status_count/"), answered
    yield "no answers", _failures(stats), sum(item.status is None for item in seen)
    yield "refusals", sent("polite/backoff/refusals"), refused.total()
    yield "refusals by status", group(stats, "polite/backoff/status/"), refused
    yield "blocks", sent("polite/backoff/blocked"), refused.total()
    yield "releases", sent("polite/backoff/released"), len(_released(before, seen))
    yield "trouble", sent("polite/trouble/fetches"), sum(item.is_troubled for item in seen)
    fetched = sent("robotstxt/request_count") + sent("polite/robots/hops")
    hops = sum(item.is_moved for item in files)
    yield "robots.txt hops", sent("polite/robots/hops"), hops
    yield (
        "robots.txt outcomes",
        _sum(stats, "polite/robots/access/"),
        fetched - sent("polite/robots/hops"),
    )
    yield "forbidden", sent("robotstxt/forbidden"), diary.count("IgnoreRequest")
    yield "unreachable", sent("polite/robots/dropped"), diary.count("RobotsUnreachable")
    returned = sent("polite/backoff/returned")
    ended = len(diary) - diary.count(*UNSENT)
    moved = sum(item.is_moved for item in pages)
    # What failed in an outage of our own, or was in doubt at a stop, goes back; robots.txt too.
    files_again = ended + moved + returned + sent("retry/count") - len(pages)
    ours = returned - sum(item.is_refused for item in pages)
    yield "pages", files_again in range(ours + 1), True
    files_unsent = fetched + files_again - len(files)
    yield "robots.txt", files_unsent in range(unsent + 1), True
    yield "pages from the queue", sent("scheduler/dequeued"), len(pages) + diary.count(*UNSENT)


def left(stats: Stats, before: int = 0) -> int:
    """Return how many requests are in the queue at the end of a run, of *before* at its start."""
    return before + int(stats["scheduler/enqueued"]) - int(stats["scheduler/dequeued"])


def group(stats: Stats, prefix: str) -> dict[str, int]:
    """Return the counters whose name begins so, by the rest of their name."""
    return {k.removeprefix(prefix): v for k, v in stats.items() if k.startswith(prefix)}


def report_differences(path: Path, seen: Sequence[Seen]) -> list[str]:
    """Return a line for each figure of a report that is not the server's."""
    report, found = load(path), []
    told = {host.host: host for host in report.hosts}
    for name in sorted({item.arrival.host for item in seen} | set(told)):
        own, host = [item for item in seen if item.arrival.host == name], told.get(name)
        server = len(own), sum(o.is_robots for o in own), sum(o.is_refused for o in own)
        crawl = host and (host.fetches, host.robots, host.refused)
        if crawl != server:
            found.append(f"{name}: (fetches, robots, refused) {crawl}, the server {server}")
    return found if report.verdict == "kept" else [*found, f"promises: {report.verdict}"]


def _sum(stats: Stats, prefix: str, but: Sequence[str] = ()) -> int:
    return sum(count for name, count in group(stats, prefix).items() if name not in but)


def _failures(stats: Stats) -> int:
    """Return how many exceptions there were of requests that went out."""
    types = group(stats, "downloader/exception_type_count/")
    return sum(count for name, count in types.items() if name.rpartition(".")[2] not in UNSENT)


def _released(before: Sequence[Seen], seen: Sequence[Seen]) -> list[Seen]:
    """Return the answers that came after a refusal of their host, be it one of an earlier run."""
    refusing, released = set[str](), []
    for item in (*before, *seen):
        host = item.arrival.host
        if item.is_refused:
            refusing.add(host)
        elif not item.is_troubled and host in refusing:
            refusing.remove(host)
            released.append(item)
    return released[len(_released((), before)) :] if before else released
