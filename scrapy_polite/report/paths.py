"""Where event log and report go.

A report is computed from an event log.  Without POLITE_TIMELINE the log is beside the report while
the crawl runs, so that a killed crawl has one too, and goes when the report is there.  With JOBDIR
a resumed crawl goes on with the log of the run before, and the log stays.

As in Scrapy's feeds, ``%(name)s`` stands for the spider's name, so that crawls beside one another
have files of their own.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from scrapy_polite.report.load import check_ending

LOG_ENDING = ".events.jsonl"


@dataclass(frozen=True, slots=True)
class Paths:
    """Where things go.

    Args:
        log: the event log.
        report: None when none is wanted.
        appends: whether the log goes on after what is there.
        keeps_log: whether the log stays once the report is there.
    """

    log: Path
    report: Path | None
    appends: bool
    keeps_log: bool


def paths(
    timeline: str | None, report: str | None, *, resumes: bool, spider: str = ""
) -> Paths | None:
    """Return where things go, None when neither is wanted.

    Args:
        timeline: POLITE_TIMELINE.
        report: POLITE_REPORT.
        resumes: whether the run may go on with an earlier one (JOBDIR).
        spider: its name.

    Raises:
        ValueError: the report has an ending that is no format.

    >>> paths(None, "polite.html", resumes=False).log.name
    'polite.html.events.jsonl'
    >>> paths("%(name)s.jsonl", None, resumes=False, spider="prices").log.name
    'prices.jsonl'
    """
    if report is None:
        return Paths(_named(timeline, spider), None, resumes, True) if timeline else None
    path = _named(report, spider)
    try:
        check_ending(path)
    except ValueError as error:
        raise ValueError(f"POLITE_REPORT is {report!r}: {error}") from None
    log = _named(timeline, spider) if timeline else path.with_name(path.name + LOG_ENDING)
    return Paths(log, path, resumes, resumes or timeline is not None)


def _named(path: str, spider: str) -> Path:
    return Path(path.replace("%(name)s", spider.replace("/", "-")))
