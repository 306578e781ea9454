"""The event log as a file: written in bounds, read whatever became of it."""

from __future__ import annotations

import json
import logging
from dataclasses import MISSING, fields, replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from report.logs import BEGAN_AT, HOST, began, fetch, report_of, whole, write
from scrapy_polite.report.lines import KINDS, from_line, to_line
from scrapy_polite.report.load import from_log, load, save, to_json
from scrapy_polite.report.paths import Paths, paths
from scrapy_polite.report.reader import NotReadable, Reading, read_log
from scrapy_polite.report.schema import (
    Ended,
    Event,
    Fetched,
    Full,
    Released,
    RobotsRead,
)
from scrapy_polite.report.text import to_text
from scrapy_polite.report.writer import LogWriter

VALUES = {
    "float": st.floats(0, 1e9),
    "float | None": st.none() | st.floats(0, 1e9),
    "int": st.integers(0, 10**9),
    "int | None": st.none() | st.integers(0, 999),
    "str": st.text(),
    "str | None": st.none() | st.text(),
    "bool": st.booleans(),
    "tuple[str, ...]": st.lists(st.text()).map(tuple),
}


@st.composite
def any_event(draw: st.DrawFn) -> Event:
    """Return any event of any kind."""
    cls = draw(st.sampled_from(list(KINDS.values())))
    values = {field.name: draw(VALUES[str(field.type)]) for field in fields(cls)}
    if cls is Fetched:
        values["at"] = values["start_at"] + 1.0
    return cls(**values)


def events_of(path: Path) -> list[Event]:
    """Return what can be read of a log."""
    return list(read_log(path, Reading("log")))


# the lines


@given(any_event())
def test_lines_round_trip(event: Event) -> None:
    """Every event comes back from its line as it was, and the line is one line of ASCII."""
    line = to_line(event)
    assert from_line(line) == event
    assert line.isascii() and line.count("\n") == 1


@pytest.mark.parametrize("cls", KINDS.values(), ids=KINDS)
def test_documented(cls: type[Event]) -> None:
    """The docstring of each kind says its name in the log."""
    name = next(name for name, kind in KINDS.items() if kind is cls)
    assert (cls.__doc__ or "").startswith(f"``{name}``")


def test_unknown_fields_and_kinds_are_skipped() -> None:
    """A reader of this version reads a later one as far as it knows it."""
    assert from_line('{"event": "released", "at": 1, "host": "h", "new": [1]}') == Released(1, "h")
    assert from_line('{"event": "sighed", "at": 1}') is None


BAD_LINES = {
    "no JSON": "released",
    "no object": '["released", 1, "h"]',
    "no kind": '{"at": 1, "host": "h"}',
    "kind is no text": '{"event": 1, "at": 1, "host": "h"}',
    "a field is missing": '{"event": "released", "at": 1}',
    "a number is text": '{"event": "released", "at": "1", "host": "h"}',
    "a number is true": '{"event": "released", "at": true, "host": "h"}',
    "a number is not a number": '{"event": "released", "at": NaN, "host": "h"}',
    "a number is endless": '{"event": "released", "at": Infinity, "host": "h"}',
    "a number is huge": '{"event": "released", "at": 1e300, "host": "h"}',
    "a text is a number": '{"event": "released", "at": 1, "host": 1}',
    "ends before it starts": '{"event": "fetch", "at": 1, "start_at": 2, "host": "h", "url": "u"}',
    "too deep": "[" * 100_000,
}


@pytest.mark.parametrize("line", BAD_LINES.values(), ids=BAD_LINES)
def test_bad_lines(line: str) -> None:
    """What is no event raises ValueError and nothing else."""
    with pytest.raises(ValueError):
        from_line(line)


# writing


def test_flush_is_enough(tmp_path: Path) -> None:
    """What was flushed can be read while the log is still open, as after a kill."""
    path = tmp_path / "folder" / "log.jsonl"
    log = LogWriter(path)
    log.write(began(), fetch(0, 1))
    log.flush()
    log.write(fetch(11, 12))
    assert events_of(path) == [began(), fetch(0, 1)]
    log.close()
    assert events_of(path)[2:] == [fetch(11, 12)]


def test_bound_by_count(tmp_path: Path) -> None:
    """At the greatest count the log says that it is full; of the rest only the end is written."""
    log = LogWriter(tmp_path / "log.jsonl", max_events=3)
    for second in range(20):
        log.write(Released(second, HOST))
        log.flush()
    log.write(Ended(20, "finished"))
    log.close()
    expected = [*(Released(second, HOST) for second in range(3)), Full(3), Ended(20, "finished")]
    assert events_of(tmp_path / "log.jsonl") == expected


def test_bound_by_octets(tmp_path: Path) -> None:
    """The file does not grow beyond its bound but for its last two lines, and tells so."""
    path = tmp_path / "log.jsonl"
    log = LogWriter(path, max_bytes=10_000)
    log.write(began(), *(fetch(20 * n, 20 * n + 1) for n in range(5000)), Ended(1e5, "finished"))
    log.close()
    assert 9_000 < path.stat().st_size < 10_200
    report = from_log(path)
    assert report.verdict == "unknown" and not report.is_whole
    assert "The log was full at" in to_text(report)


def test_appends_after_a_torn_line(tmp_path: Path) -> None:
    """A resumed run begins on a line of its own, and only the torn line is lost."""
    path = tmp_path / "log.jsonl"
    path.write_bytes(to_line(began()).encode() + to_line(fetch(0, 1)).encode()[:-20])
    log = LogWriter(path, append=True)
    assert log.resumes
    log.write(began(1_800_000_100.0))
    log.close()
    reading = Reading("log")
    assert [event.at for event in read_log(path, reading)] == [0.0, 100.0]
    assert (reading.unreadable, reading.first_unreadable) == (1, 2)


def test_replaces_what_is_there(tmp_path: Path) -> None:
    """A run that resumes nothing begins a new log."""
    path = write(tmp_path / "log.jsonl", whole(fetch(0, 1)))
    log = LogWriter(path)
    assert not log.resumes
    log.write(Ended(0, "finished"))
    log.close()
    assert events_of(path) == [Ended(0, "finished")]


def test_full_disk(caplog: pytest.LogCaptureFixture) -> None:
    """A disk without room costs one line in the crawl's log, however much is written after."""
    full = Path("/dev/full")
    if not full.exists():
        pytest.skip("needs /dev/full")
    log = LogWriter(full)
    with caplog.at_level(logging.ERROR):
        for second in range(5):
            log.write(Released(second, HOST))
            log.flush()
        log.close()
    assert [record.getMessage() for record in caplog.records] == [
        "The event log /dev/full ends here: No space left on device"
    ]


# reading


def test_instants_of_several_runs_are_on_one_line(tmp_path: Path) -> None:
    """Instants of a resumed run, every kind of them, count from the beginning of the first."""
    path = write(
        tmp_path / "log.jsonl",
        [
            began(),
            began(1_800_000_050.0),
            fetch(1, 2),
            RobotsRead(3, HOST, "https://h", "successful", "rules", 90, -10.0),
        ],
    )
    _, again, fetched, read = events_of(path)
    assert (again.at, fetched.at) == (50, 52)
    assert isinstance(fetched, Fetched)
    assert (fetched.start_at, fetched.until_at) == (51, 62)
    assert isinstance(read, RobotsRead) and (read.until_at, read.answered_at) == (140, 40)


LOG = "".join(map(to_line, whole(fetch(0, 1), Released(1, HOST), fetch(11, 12))))
LINES = LOG.splitlines(keepends=True)
DAMAGED: dict[str, tuple[str | bytes, str, str]] = {
    "torn": (LOG[:-15], "ends in the middle of a line", "kept"),
    "killed": ("".join(LINES[:-1]), "does not tell of the crawl's end", "kept"),
    "damaged": (
        LOG.replace('"released"', '"released', 1),
        "1 line of 5 could not be read",
        "unknown",
    ),
    "beginning lost": ("".join(LINES[1:]), "does not begin with the crawl's", "broken"),
    "later version": (
        LOG.replace('"released"', '"sigh"', 1),
        "1 line of a later version could not be understood",
        "kept",
    ),
    "killed and resumed": (
        "".join(
            map(to_line, [began(), fetch(0, 1), began(BEGAN_AT + 50), *whole(fetch(0, 1))[1:]])
        ),
        "1 run of 2 ended without a word, as after a kill",
        "kept",
    ),
    "clock set back": (
        "".join(map(to_line, [*whole(fetch(0, 1), Ended(50, "shutdown")), began(BEGAN_AT + 20)]))
        + "".join(map(to_line, whole(fetch(0, 1))[1:])),
        "1 run of 2 began before the end of what stands above",
        "kept",
    ),
    "clock that began with it": (
        "".join(map(to_line, [began(0.0), *whole(fetch(0, 1))[1:], began(12.0)]))
        + "".join(map(to_line, whole(fetch(0, 1))[1:])),
        "",
        "kept",
    ),
    "octets amid": (
        "".join(LINES[:2]).encode() + b"\xff\xfe\x00\n" + "".join(LINES[2:]).encode(),
        "1 line of 6 could not be read, the first is line 3",
        "unknown",
    ),
    "another log behind": (LOG + "2026-01-01 INFO: hello\n" * 3, "3 lines of 8", "unknown"),
    "empty lines": (LOG.replace("\n", "\n\n"), "", "kept"),
    "CR LF": (LOG.replace("\n", "\r\n"), "", "kept"),
}


@pytest.mark.parametrize(("content", "note", "verdict"), DAMAGED.values(), ids=DAMAGED)
def test_damaged(tmp_path: Path, content: str | bytes, note: str, verdict: str) -> None:
    """Of a damaged log what can be read is judged, and one sentence says what is missing."""
    path = tmp_path / "log.jsonl"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    report = from_log(path)
    assert (report.fetches, report.verdict) == (2, verdict)
    assert [line for line in report.notes if note in line] == list(report.notes)
    assert len(report.notes) == bool(note)


FOREIGN: dict[str, tuple[bytes, str]] = {
    "empty": (b"", "is empty"),
    "only white space": (b"\n \n", "is empty"),
    "text": (b"hello\nworld\n", "it begins with 'hello'"),
    "octets": (bytes(range(256)) * 1000, "no event log or report"),
    "other JSON lines": (b'{"level": "info"}\n' * 5000, "no event log or report"),
    "other JSON": (b'{\n  "a": 1\n}\n', "no event log or report"),
    "one endless line": (b"x" * 3_000_000, "no event log or report"),
    "another page": (b"<!DOCTYPE html><html></html>", "no event log or report"),
    "terminal escapes": (b"\x1b[31mred\n", "it begins with '?[31mred'"),
}


@pytest.mark.parametrize(("content", "says"), FOREIGN.values(), ids=FOREIGN)
def test_foreign(tmp_path: Path, content: bytes, says: str) -> None:
    """A file that is neither log nor report is named in one sentence."""
    path = tmp_path / "file"
    path.write_bytes(content)
    with pytest.raises(NotReadable) as raised:
        load(path)
    sentence = str(raised.value)
    assert says in sentence and str(path) in sentence
    assert sentence.endswith(".") and "\n" not in sentence


def test_not_there(tmp_path: Path) -> None:
    """A missing file and a folder are named in one sentence too."""
    for path in (tmp_path / "nowhere", tmp_path):
        with pytest.raises(NotReadable, match=r"cannot be read: .+\."):
            load(path)


def test_log_that_speaks_of_reports(tmp_path: Path) -> None:
    """A log in which a spider is called as the format of reports is still a log."""
    path = write(tmp_path / "log.jsonl", [began(spider="scrapy-polite report"), fetch(0, 1)])
    assert load(path).spider == "scrapy-polite report"


# reports in files


@pytest.mark.parametrize("ending", [".json", ".html"])
def test_reports_round_trip(tmp_path: Path, ending: str) -> None:
    """A report is the same after it was written and read, in both formats."""
    report = report_of(
        whole(
            fetch(0, 1),
            fetch(5, 6),
            RobotsRead(
                0.5, HOST, "https://h", "successful", "rules", 90, problems=("line 1: </script>",)
            ),
        )
    )
    save(report, tmp_path / f"report{ending}")
    assert load(tmp_path / f"report{ending}") == report
    assert [path.name for path in tmp_path.iterdir()] == [f"report{ending}"]


def test_report_from_later_and_broken(tmp_path: Path) -> None:
    """Fields of later versions are skipped; what is missing or wrong is named."""
    path = tmp_path / "report.json"
    save(report_of(whole(fetch(0, 1))), path)
    data: dict[str, Any] = json.loads(path.read_text())
    path.write_text(json.dumps({**data, "later": 1}))
    assert load(path).fetches == 1
    path.write_text(json.dumps({**data, "hosts": 5}))
    with pytest.raises(NotReadable, match="is a report that cannot be read: Report: 5 is no list"):
        load(path)
    del data["hosts"]
    path.write_text(json.dumps(data))
    with pytest.raises(NotReadable, match="Report lacks hosts"):
        load(path)


STRANGE: dict[str, tuple[str, str, str]] = {
    "verdict": ('"verdict": "kept"', '"verdict": "\\u001b[31m"', r"'\x1b[31m' is no verdict"),
    "spans": ('"spans": [', '"spans": [1, ', "a row has no such spans"),
    "kinds": ('"picture": {', '"picture": {"kinds": [], ', "a row has no such spans"),
}


@pytest.mark.parametrize(("known", "strange", "says"), STRANGE.values(), ids=STRANGE)
def test_report_with_strange_values(tmp_path: Path, known: str, strange: str, says: str) -> None:
    """A report that somebody has edited is one sentence where it says what no report can."""
    path = tmp_path / "report.json"
    data = to_json(report_of(whole(fetch(0, 1))))
    assert known in data
    path.write_text(data.replace(known, strange, 1))
    with pytest.raises(NotReadable) as raised:
        load(path)
    assert says in str(raised.value)


def test_report_without_promises_proves_nothing() -> None:
    """Where nothing was judged, nothing was kept."""
    report = replace(report_of(whole(fetch(0, 1))), promises=())
    assert report.verdict == "unknown" and "cannot be told" in to_text(report)


def test_required_fields_never_become_more() -> None:
    """Every field of an event added after version 1 needs a default, or old logs are unreadable."""
    required = {
        name: {
            field.name
            for field in fields(cls)
            if field.default is MISSING and field.default_factory is MISSING
        }
        for name, cls in KINDS.items()
    }
    assert required == {
        "began": {"at", "began_at", "spider"},
        "fetch": {"at", "host", "url", "start_at"},
        "blocked": {"at", "host", "until_at", "reason"},
        "released": {"at", "host"},
        "parked": {"at", "host", "until_at", "reason"},
        "robots": {"at", "host", "origin", "access", "standing", "until_at"},
        "dropped": {"at", "host", "url", "reason"},
        "remains": {"at", "host", "count"},
        "full": {"at"},
        "ended": {"at", "reason"},
    }


BESIDE = Path("out/r.html.events.jsonl")
REPORT = Path("out/r.html")
WHERE: dict[str, tuple[str | None, str | None, bool, Paths | None]] = {
    "neither": (None, None, False, None),
    "log": ("t.jsonl", None, False, Paths(Path("t.jsonl"), None, False, True)),
    "report": (None, "out/r.html", False, Paths(BESIDE, REPORT, False, False)),
    "both": ("t.jsonl", "out/r.html", False, Paths(Path("t.jsonl"), REPORT, False, True)),
    "resumable": (None, "out/r.html", True, Paths(BESIDE, REPORT, True, True)),
}


@pytest.mark.parametrize(("timeline", "report", "resumes", "expected"), WHERE.values(), ids=WHERE)
def test_paths(
    timeline: str | None, report: str | None, resumes: bool, expected: Paths | None
) -> None:
    """A report has its log beside it unless there is one; with JOBDIR logs go on and stay."""
    assert paths(timeline, report, resumes=resumes) == expected


def test_report_of_no_format() -> None:
    """A report with another ending is a sentence that names the setting and the endings."""
    with pytest.raises(ValueError, match=r"POLITE_REPORT is 'r\.pdf': .* \.html and \.txt"):
        paths(None, "r.pdf", resumes=False)


def test_report_as_text(tmp_path: Path) -> None:
    """A report whose name ends in .txt is what a terminal shows of it."""
    report = report_of(whole(fetch(0, 1), fetch(11, 12)))
    save(report, tmp_path / "report.txt")
    assert (tmp_path / "report.txt").read_text() == to_text(report)
