"""Where event log and report go.

A report is computed from an event log.  Without POLITE_TIMELINE the log is beside the report while
the crawl runs, so that a killed crawl has one too, and goes when the report is there.  With JOBDIR
a resumed crawl goes on with the log of the run before, and the log stays.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

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


def paths(settings: Mapping[str, Any]) -> Paths | None:
    """Return where things go, None when neither is wanted.

    Raises:
        ValueError: a setting is no path, or POLITE_REPORT has an ending that is no format.

    >>> paths({"POLITE_REPORT": "polite.html"}).log.name
    'polite.html.events.jsonl'
    """
    timeline, report = _path(settings, "POLITE_TIMELINE"), _path(settings, "POLITE_REPORT")
    resumes = bool(settings.get("JOBDIR"))
    if report is None:
        return Paths(timeline, None, resumes, True) if timeline else None
    try:
        check_ending(report)
    except ValueError as error:
        raise ValueError(f"POLITE_REPORT is {str(report)!r}: {error}") from None
    log = timeline or report.with_name(report.name + LOG_ENDING)
    return Paths(log, report, resumes, resumes or timeline is not None)


def _path(settings: Mapping[str, Any], name: str) -> Path | None:
    value = settings.get(name)
    if value is None or value == "":
        return None
    if not isinstance(value, (str, os.PathLike)):
        raise ValueError(f"{name} is {value!r}: write a path, for example 'polite.html'.")
    return Path(value)
