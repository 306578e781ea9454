"""What another process, or a damaged disk, may put into the state: it is read with suspicion."""

from __future__ import annotations

import ast
import subprocess
import sys
import tracemalloc
import zlib
from pathlib import Path

import pytest

import scrapy_polite
from harness.child import environment
from scrapy_polite.policy.robots_access import Access
from scrapy_polite.policy.robots_cache import RobotsRecord
from scrapy_polite.state.packing import BODY_MAX_BYTES, Unreadable, record_of, unpack
from scrapy_polite.state.redis import robots

BOMB = zlib.compress(bytes(200_000_000), 9)
PACKAGE = Path(scrapy_polite.__file__).parent

NUMBERS = ["NaN", "Infinity", "-Infinity", "1e400", "1" + "0" * 400, "1" + "0" * 5000, '"1"', "[]"]
STATES = [
    *(f'{{"{name}":{number}}}' for name in ("duration", "delay") for number in NUMBERS),
    *(f'{{"backoff":{{"{name}":{n}}}}}' for name in ("until_at", "rung") for n in NUMBERS),
    *('{"backoff":{"until_at":1e13}}', "[" * 100_000, '{"backoff":' * 50_000, '{"__class__":"os"}'),
    *(
        "null",
        "5",
        '"x"',
        '{"backoff":5}',
        "\0",
        "{" + "\ud800" + "}",
        "cos\nsystem\n(S'true'\ntR.",
    ),
]


@pytest.mark.parametrize("text", STATES, ids=range(len(STATES)))
def test_no_state_of_a_host(text: str) -> None:
    """A text that no crawl writes is refused, in a sentence of bounded length."""
    with pytest.raises(Unreadable) as raised:
        unpack(text, 1.0)
    assert len(str(raised.value)) < 1000


GOOD = {
    "origin": "http://h",
    "access": "successful",
    "answered_at": 1.0,
    "fresh_until_at": 2.0,
    "etag": None,
    "last_modified": None,
    "unreachable_since_at": None,
    "failures": 0,
    "status": 200,
}
RECORDS: dict[str, dict[str, object]] = {
    "no access": {"access": "everything"},
    "endless": {"fresh_until_at": float("inf")},
    "not a number": {"answered_at": float("nan")},
    "huge": {"fresh_until_at": 10**400},
    "far": {"fresh_until_at": 1e15},
    "text for a number": {"failures": "0"},
    "a list": {"status": [200]},
    "octets": {"etag": b"x"},
    "a number for a text": {"last_modified": 5},
    "one too many": {"__class__": 1},
}


@pytest.mark.parametrize("change", RECORDS.values(), ids=RECORDS)
def test_no_record_of_a_file(change: dict[str, object]) -> None:
    """Values that no crawl writes make no robots record."""
    assert record_of(GOOD, b"", 0.0) == RobotsRecord(
        "http://h", Access.SUCCESSFUL, b"", 1, 2, status=200
    )
    with pytest.raises(Unreadable):
        record_of({**GOOD, **change}, b"", 0.0)


def test_a_bomb_in_the_state() -> None:
    """A body of 200 KB that would become 200 MB is refused, and does not become that before."""
    head = b'{"origin":"http://h","access":"successful","etag":null,"last_modified":null}\n'
    tracemalloc.start()
    with pytest.raises(Unreadable, match="too long"):
        record_of(GOOD, BOMB, 0.0)
    with pytest.raises(Unreadable, match="too long"):
        robots.unpack(head + BOMB)
    peak_bytes = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak_bytes < 4 * BODY_MAX_BYTES


BODIES = {
    "cut": zlib.compress(b"User-agent: *")[:-1],
    "no zlib": b"User-agent: *",
    "NUL": b"\0" * 9,
}


@pytest.mark.parametrize("body", BODIES.values(), ids=BODIES)
def test_no_body(body: bytes) -> None:
    """A body that is not whole is none: half of a file may allow what the whole forbids."""
    with pytest.raises(Unreadable):
        record_of(GOOD, body, 0.0)


LOADS = {"pickle", "marshal", "shelve", "dill", "yaml", "eval", "exec", "__import__"}
KNOWN = {"redis/queue.py", "spool/octets.py"}
"""Requests of our own crawls: those of a JOBDIR and of scrapy-redis are pickles in Scrapy too."""


def test_nothing_from_a_site_can_run() -> None:
    """No module unpickles or evaluates anything but queued requests."""
    users = set()
    for path in PACKAGE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names = (
                {alias.name.partition(".")[0] for alias in node.names}
                if isinstance(node, (ast.Import, ast.ImportFrom))
                else {node.func.id}
                if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
                else set()
            )
            if names & LOADS:
                users.add(path.relative_to(PACKAGE).as_posix())
    assert users == KNOWN


WRITE = """
import os, stat, sys
os.umask(int(sys.argv[1], 8))
from pathlib import Path
from twisted.internet import task
from twisted.internet.defer import Deferred
from scrapy_polite.report.schema import Ended
from scrapy_polite.report.writer import LogWriter
from scrapy_polite.policy.robots_cache import RobotsRecord
from scrapy_polite.state.sqlite.store import SqliteStore

async def main():
    store = SqliteStore(Path("state/polite.db"))
    await store.open()
    await store.put_robots(RobotsRecord("http://h"))
    log = LogWriter(Path("log/events.jsonl"))
    log.write(Ended(0, "x"))
    log.close()
    for folder, _, names in os.walk("."):
        for name in (".", *names):
            path = os.path.join(folder, name)
            print(path, stat.S_IMODE(os.stat(path).st_mode))
    await store.close()

task.react(lambda _: Deferred.fromCoroutine(main()))
"""


@pytest.mark.parametrize("umask", [0o077, 0o027, 0o022], ids=oct)
def test_others_get_what_the_umask_gives_them(tmp_path: Path, umask: int) -> None:
    """State files and logs, and what lies beside them, are for whom the user's umask says."""
    tmp_path.chmod(0o700)
    done = subprocess.run(
        [sys.executable, "-c", WRITE, oct(umask)],
        cwd=tmp_path,
        env=environment(),
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    modes = {name: int(mode) for name, mode in map(str.split, done.stdout.splitlines())}
    assert {"./state/polite.db", "./log/events.jsonl"} <= modes.keys()
    assert {name: oct(mode) for name, mode in modes.items() if mode & umask} == {}
