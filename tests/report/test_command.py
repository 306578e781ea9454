"""`scrapy politeness`: what it prints, writes and returns."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest
from scrapy.cmdline import execute
from scrapy.settings import Settings

from report.logs import HOST, fetch, report_of, robots, whole, write
from scrapy_polite.engine import wait_for
from scrapy_polite.policy.host import HostState
from scrapy_polite.policy.robots_access import Access
from scrapy_polite.policy.robots_cache import RobotsRecord
from scrapy_polite.report.lines import to_line
from scrapy_polite.report.schema import Remains
from scrapy_polite.report.text import to_text
from scrapy_polite.state.sqlite import SqliteStore

POLITE = whole(robots(0.0), fetch(0, 1, what="robots", verdict=None), fetch(11, 12))
IMPOLITE = whole(fetch(0, 1), fetch(2, 3))
UNKNOWN = whole(fetch(0, 1, verdict=None))


class Done(NamedTuple):
    """Exit status, standard output and standard error of a command."""

    status: object
    out: str
    err: str


Run = Callable[..., Done]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    """Run the command as the `scrapy` tool does, outside a project."""

    def run(*arguments: object, **settings: object) -> Done:
        known = Settings({"COMMANDS_MODULE": "scrapy_polite.commands", **settings})
        with pytest.raises(SystemExit) as ended:
            execute(["scrapy", "politeness", *map(str, arguments)], known)
        return Done(ended.value.code, *capsys.readouterr())

    return run


# the proof


@pytest.mark.parametrize(
    ("events", "status"), [(POLITE, 0), (IMPOLITE, 1), (UNKNOWN, 2)], ids=["kept", "broken", "?"]
)
@pytest.mark.parametrize("ending", ["jsonl", "json", "html"])
def test_status(run: Run, tmp_path: Path, events: list, status: int, ending: str) -> None:
    """The exit status is 0, 1 or 2, and the text the same, from a log and from both reports."""
    from scrapy_polite.report.load import save

    path = tmp_path / f"crawl.{ending}"
    report = report_of(events)
    if ending == "jsonl":
        write(path, events)
    else:
        save(report, path)
    assert run(path) == Done(status, to_text(report), "")


def test_json(run: Run, tmp_path: Path) -> None:
    """--json prints the report as JSON and nothing else."""
    done = run("--json", write(tmp_path / "log.jsonl", POLITE))
    assert json.loads(done.out)["fetches"] == 2 and done.err == ""


def test_page_and_picture(run: Run, tmp_path: Path) -> None:
    """--html and --png write files and name them; text and status stay."""
    pytest.importorskip("matplotlib")
    page, picture = tmp_path / "page.html", tmp_path / "picture.png"
    done = run(write(tmp_path / "log.jsonl", IMPOLITE), "--html", page, "--png", picture)
    assert done.status == 1 and "2 of 7 promises were broken." in done.out
    assert done.err == f"Wrote {page}.\nWrote {picture}.\n"
    assert page.read_text().startswith("<!DOCTYPE html>")
    assert picture.read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize("option", ["--html", "--png"])
def test_file_cannot_be_written(run: Run, tmp_path: Path, option: str) -> None:
    """A file that cannot be written is one sentence and status 2; the text was printed."""
    pytest.importorskip("matplotlib")
    log = write(tmp_path / "log.jsonl", POLITE)
    done = run(log, option, tmp_path / "nowhere" / "file")
    assert (done.status, done.out != "") == (2, True)
    assert done.err.count("\n") == 1 and "was not written" in done.err


UNREADABLE = {
    "missing": (None, "cannot be read: No such file or directory."),
    "empty": ("", "is empty: there is nothing to report."),
    "foreign": ("hello\n", "is no event log or report of scrapy_polite: it begins with 'hello'."),
}


@pytest.mark.parametrize(("content", "says"), UNREADABLE.values(), ids=UNREADABLE)
def test_unreadable(run: Run, tmp_path: Path, content: str | None, says: str) -> None:
    """What cannot be read is one sentence that names the file, and status 2."""
    path = tmp_path / "file"
    if content is not None:
        path.write_text(content)
    assert run(path) == Done(2, "", f"{path} {says}\n")


def test_torn(run: Run, tmp_path: Path) -> None:
    """Of a torn log the rest is judged, and one sentence says where it ends."""
    path = tmp_path / "log.jsonl"
    path.write_text("".join(map(to_line, POLITE))[:-10])
    done = run(path)
    assert done.status == 0
    assert "Note: The log ends in the middle of a line, as after a kill; the 4 events" in done.out


USAGE = {
    "nothing": [],
    "two logs": ["a", "b"],
    "unknown option": ["--htlm=x", "a"],
    "--why alone": ["--why", "https://site.example/"],
    "--state and a log": ["--state", "state.db", "log.jsonl"],
    "--plan of two logs": ["--plan", "a", "b"],
}


@pytest.mark.parametrize("arguments", USAGE.values(), ids=USAGE)
def test_usage(run: Run, arguments: list[str]) -> None:
    """What makes no sense prints the usage, status 2, and no traceback."""
    done = run(*arguments)
    assert done.status == 2
    assert "Traceback" not in done.out + done.err


def test_help_and_list() -> None:
    """The installed command is in the list of `scrapy`, and its help says what the status means."""
    command = [sys.executable, "-m", "scrapy"]
    listed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert "politeness    Show whether a crawl was polite" in listed
    told = subprocess.run(
        [*command, "politeness", "--help"], capture_output=True, text=True, check=True
    ).stdout
    for option in ("--html", "--png", "--json", "--state", "--why", "--plan"):
        assert option in told
    assert "2 when that cannot be told" in " ".join(told.split())


# the plan


def test_plan_of_numbers(run: Run) -> None:
    """One host with two pages and its robots.txt takes two waits of ten fetches at the least."""
    done = run("--plan", "--hosts", 1, "--pages", 2, "--latency", 1, POLITE_JITTER=0)
    assert done.status == 0
    assert done.out.startswith("2 pages of 1 host, at most 16 at once: about 23 s.\n")
    assert "100%  ten times the last fetch" in done.out


def test_plan_is_bound_by_places(run: Run) -> None:
    """Many hosts wait for one place, or for those of robots.txt fetches; the setting is named."""
    done = run("--plan", "--hosts", 50, "--pages", 2, "--places", 1)
    assert "a free place (CONCURRENT_REQUESTS)" in done.out
    done = run("--plan", "--hosts", 200, "--pages", 1, "--places", 1000)
    assert "a free place for robots.txt (POLITE_ROBOTS_CONCURRENCY)" in done.out


def test_plan_hears_settings(run: Run) -> None:
    """Delays of the settings count: the same crawl with a floor of 100 s takes that long."""
    done = run("--plan", "--pages", 2, "--latency", 1, POLITE_MIN_DELAY=100, POLITE_JITTER=0)
    assert "about 3 min 23 s." in done.out and "the least delay (POLITE_MIN_DELAY)" in done.out


def test_plan_hears_places_for_robots(run: Run) -> None:
    """With one place for robots.txt, 20 files of 2 s are fetched one after the other."""
    arguments = ["--plan", "--hosts", 20, "--pages", 1, "--latency", 2, "--places", 20]
    done = run(*arguments, POLITE_ROBOTS_CONCURRENCY=1, POLITE_JITTER=0)
    assert "about 1 min 2 s." in done.out  # 20 x 2 s, then a wait of 20 s and the last page


def test_plan_like_a_log(run: Run, tmp_path: Path) -> None:
    """A plan from a log has its hosts, pages, latencies and what was left."""
    log = write(tmp_path / "log.jsonl", [*POLITE, Remains(12, HOST, 3)])
    done = run("--plan", log, POLITE_JITTER=0)
    assert done.out.startswith("4 pages of 1 host, at most 16 at once: about 45 s.\n")
    assert "The crawl itself took 12 s; 3 more pages were left.\n" in done.out


@pytest.mark.parametrize(
    "arguments",
    [
        ["--hosts", "0"],
        ["--pages", "-1"],
        ["--latency", "-1"],
        ["--latency", "inf"],
        ["--latency", "nan"],
        ["--places", "-3"],
        ["--places", "0"],
    ],
)
def test_plan_of_nonsense(run: Run, arguments: list[str]) -> None:
    """Numbers out of range are one sentence and status 2."""
    done = run("--plan", *arguments)
    assert (done.status, done.out, done.err.count("\n")) == (2, "", 1)


# the state


async def known_state(path: Path) -> None:
    """Make a state file that knows a host and its robots.txt."""
    store, now = SqliteStore(path, clock=time.monotonic), time.monotonic()
    body = b"User-agent: *\nDisallow: /private/\n"
    await wait_for(store.open())
    [lease] = (await wait_for(store.acquire([HOST], limit=1))).leases
    state = HostState(duration=50.0, delay=500.0)
    await wait_for(store.release(lease, delay=500.0, state=state))
    record = RobotsRecord(f"https://{HOST}", Access.SUCCESSFUL, body, now, now + 9000, status=200)
    await wait_for(store.put_robots(record))
    await wait_for(store.close())


async def test_state(run: Run, tmp_path: Path) -> None:
    """--state lists hosts with their next turn; --why tells wait, rule and line of a URL."""
    path = tmp_path / "state.db"
    await known_state(path)
    done = run("--state", path)
    assert done.status == 0 and done.out.startswith("1 host known\n")
    assert "it is left alone after a fetch" in done.out
    done = run("--state", path, "--why", f"https://{HOST}/private/page")
    assert "site.example: it is left alone after a fetch; its next turn is in 8 min" in done.out
    assert 'disallowed by line 2, "Disallow: /private/"' in done.out
    done = run("--state", path, "--why", "https://new.example/")
    assert "new.example: nothing is known of it, it may be asked." in done.out
    assert "robots.txt was not asked for yet." in done.out


def test_state_cannot_be_read(run: Run, tmp_path: Path) -> None:
    """A missing or foreign state file is one sentence and status 2."""
    foreign = tmp_path / "foreign"
    foreign.write_text("hello, this is no data base" * 100)
    for path in (tmp_path / "nowhere.db", foreign):
        done = run("--state", path)
        assert (done.status, done.out, done.err.count("\n")) == (2, "", 1)
