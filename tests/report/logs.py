"""Hand-made event logs, polite and not."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from scrapy_polite.report.lines import to_line
from scrapy_polite.report.reader import Reading
from scrapy_polite.report.schema import (
    ALLOWED,
    FORMAT,
    VERSION,
    Began,
    Ended,
    Event,
    Fetched,
    RobotsRead,
)
from scrapy_polite.report.summary import Report, summarise
from scrapy_polite.report.tally import Tally

HOST = "site.example"
BEGAN_AT = 1_800_000_000.0
AGENT = "LogBot/1.0 (+https://logbot.test/)"


def began(began_at: float = BEGAN_AT, **fields: Any) -> Began:
    """Return the first line of a run."""
    known = {"spider": "spider", "user_agent": AGENT, "format": FORMAT, "version": VERSION}
    return Began(0.0, began_at, **{**known, **fields})


def fetch(start_at: float, end_at: float, host: str = HOST, **fields: Any) -> Fetched:
    """Return a fetch of a page that robots.txt allows, and after which its host is left alone for
    ten times as long."""
    known: dict[str, Any] = {
        "status": 200,
        "verdict": ALLOWED,
        "url": f"https://{host}/{start_at}",
        "until_at": end_at + 10 * (end_at - start_at),
        "reason": "duration",
    }
    return Fetched(end_at, host, start_at=start_at, **{**known, **fields})


def robots(at: float, crawl_delay: float = 0.0, **fields: Any) -> RobotsRead:
    """Return what became of a robots.txt."""
    known: dict[str, Any] = {
        "host": HOST,
        "origin": f"https://{HOST}",
        "access": "successful",
        "standing": "rules",
        "until_at": at + 86400,
    }
    return RobotsRead(at, crawl_delay=crawl_delay, **{**known, **fields})


def whole(*events: Event) -> list[Event]:
    """Return a log with its first line, and its last unless it is given."""
    if events and isinstance(events[-1], Ended):
        return [began(), *events]
    last_at = max((event.at for event in events), default=0.0)
    return [began(), *events, Ended(last_at, "finished")]


def report_of(events: Iterable[Event]) -> Report:
    """Return the report of a log that could be read without a fault."""
    tally = Tally().add_all(events)
    return summarise(tally, Reading("log.jsonl", lines=1, begins=True))


def broken(report: Report) -> set[str]:
    """Return the keys of the promises that were broken."""
    return {promise.key for promise in report.promises if promise.verdict == "broken"}


def write(path: Path, events: Iterable[Event]) -> Path:
    """Write a log file."""
    path.write_text("".join(map(to_line, events)), encoding="utf-8")
    return path
