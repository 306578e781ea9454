"""A report from a file, whichever it is: an event log, a JSON report or an HTML page."""

from __future__ import annotations

import json
from pathlib import Path

from scrapy_polite.report.page import data_of, to_page
from scrapy_polite.report.plain import from_plain, to_plain
from scrapy_polite.report.reader import NotReadable, Reading, read_log
from scrapy_polite.report.summary import FORMAT, Report, summarise
from scrapy_polite.report.tally import Tally
from scrapy_polite.report.text import to_text

_REPORT_BYTES = 1 << 28  # no report of ours is larger


def load(path: Path) -> Report:
    """Return the report of an event log, or the one that a report file holds.

    Raises:
        NotReadable: the file is neither; the message is one sentence.
    """
    return _from_report(path) or from_log(path)


def from_log(path: Path, name: str = "") -> Report:
    """Return the report of an event log.

    Args:
        name: what the report calls the log; empty for the file's own name.

    Raises:
        NotReadable: there is no event in it.
    """
    reading = Reading(name or path.name)
    return summarise(Tally().add_all(read_log(path, reading)), reading)


def save(report: Report, path: Path) -> None:
    """Write a report in the format that the end of the name says, all or nothing.

    Raises:
        OSError: the file cannot be written.
        ValueError: the name ends in none of .json, .html and .txt.
    """
    check_ending(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(path.name + ".part")
    draft.write_text(_WRITERS[path.suffix](report), encoding="utf-8")
    draft.replace(path)


def check_ending(path: Path) -> None:
    """Raise when no report can be written to a path.

    Raises:
        ValueError: the name ends in none of .json, .html and .txt.
    """
    if path.suffix not in _WRITERS:
        raise ValueError(f"{path} ends in none of .json, .html and .txt: write one of them.")


def to_json(report: Report) -> str:
    """Return a report as JSON."""
    return json.dumps(to_plain(report)) + "\n"


def _from_report(path: Path) -> Report | None:
    """Return the report that a file holds; None when it is none."""
    try:
        if path.stat().st_size > _REPORT_BYTES:
            return None
        with path.open(encoding="utf-8") as file:
            start = file.read(1000).lstrip()
            text: str | None = start + file.read() if _begins_report(start) else None
    except (OSError, UnicodeDecodeError):
        return None
    if text is not None and text.startswith("<"):
        text = data_of(text)
    if text is None:
        return None
    try:
        return from_plain(Report, json.loads(text))
    except (ValueError, RecursionError) as error:
        raise NotReadable(f"{path} is a report that cannot be read: {error}.") from None


def _begins_report(start: str) -> bool:
    if start.startswith('{"event"'):  # a log, whatever its texts are
        return False
    return start[:9].lower() == "<!doctype" or (start.startswith("{") and FORMAT in start)


_WRITERS = {".json": to_json, ".html": to_page, ".txt": to_text}
