"""Ctrl-C at any moment of a crawl whose pages need more: all comes in the end, and none of it half.

A few stops run with the other tests; STOPS=200 runs as many.
"""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from harness import POLITE, Answer, Web, child, gaps, most_at_once
from runs.needing import WAYS
from runs.running import wait_until

STOPS = int(os.environ.get("STOPS", "4"))
SEED = int(os.environ.get("STOPS_SEED", "9309"))
PATIENCE = 60.0  # seconds until a run must have ended
LATEST = 2.0  # seconds after its start in which a run is stopped
DELAY = 0.12  # seconds that each host asks for
ROBOTS = f"User-agent: *\nCrawl-delay: {DELAY}\n"


class Interrupted:
    """One crawl, run again and again until it comes to its end."""

    def __init__(self, web: Web, folder: Path) -> None:
        self.folder = folder
        content = Answer(body="content", delay=0.01)
        self.homes = [web.site({"/robots.txt": ROBOTS, "*": content}) for _ in WAYS]
        self.other = web.site({"/robots.txt": ROBOTS, "*": content})
        self.pages: dict[str, tuple[str, list[str]]] = {}
        for number, (way, home) in enumerate(zip(WAYS, self.homes, strict=True)):
            urls = [home.url("/0"), home.url("/1"), self.other.url(f"/{number}")]
            self.pages[home.url("/page")] = way, urls

    def run(self, stop_after: float | None) -> bool:
        """Run it, stop it after so many seconds; return whether the signal stopped it."""
        settings: dict[str, Any] = {
            **POLITE,
            "JOBDIR": str(self.folder / "job"),
            "FILES_STORE": str(self.folder / "files"),
            "FEEDS": {str(self.folder / "items.jl"): {"format": "jsonlines", "overwrite": False}},
            "SPIDER_MIDDLEWARES": {"runs.needing.Middleware": 500},
            "ITEM_PIPELINES": {"runs.needing.Files": 1, "runs.needing.Pipeline": 2},
        }
        log = self.folder / "log.txt"
        before = log.read_text().count("Spider opened") if log.exists() else 0
        job = {"settings": settings, "pages": self.pages}
        process = child.start(self.folder, job, "runs.needing")
        try:
            if stop_after is not None:
                wait_until(lambda: log.read_text().count("Spider opened") > before, PATIENCE)
                time.sleep(stop_after)
                process.send_signal(signal.SIGINT)
            process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"it did not end\n{log.read_text()[-3000:]}") from None
        finally:
            process.kill()
            process.wait()
        told = self.folder / "result.json"
        return not told.exists() or json.loads(told.read_text()) != "finished"

    def items(self) -> list[dict[str, Any]]:
        """Return what all runs exported."""
        path = self.folder / "items.jl"
        return [json.loads(line) for line in path.read_text().splitlines()]


def _moments() -> Iterator[float]:
    chance = random.Random(SEED)
    while True:
        yield chance.uniform(0.0, LATEST)


@pytest.mark.slow
@pytest.mark.timeout(120 + 12 * STOPS)
def test_stops_at_any_moment(web: Web, tmp_path: Path) -> None:
    """Each page's item is exported, each exported item is whole, each file is there and each
    download was made; hosts are asked politely over all runs."""
    stops, crawls, kept, items, again, moments = 0, 0, 0, 0, 0, _moments()
    while stops < STOPS:
        crawl = Interrupted(web, tmp_path / str(crawls))
        crawls += 1
        while stops < STOPS and crawl.run(next(moments)):
            stops += 1
        crawl.run(None)
        log = (crawl.folder / "log.txt").read_text()
        exported = crawl.items()
        assert Counter(item["got"] for item in exported) == {3: len(exported)}, log[-5000:]
        assert {item["page"] for item in exported} == set(crawl.pages), log[-5000:]
        fetched = {f"http://{seen.host}:{seen.port}{seen.path}" for seen in web.arrivals()}
        assert {url for _, urls in crawl.pages.values() for url in urls} <= fetched
        files = [path for path in (crawl.folder / "files").rglob("*") if path.is_file()]
        assert len(files) == sum(3 for way, _ in crawl.pages.values() if way == "files")
        assert "Traceback" not in log
        kept += log.count("Pages kept for the next run")
        items += len(exported)
        again += len(exported) - len(crawl.pages)
    seen = web.arrivals()
    assert {most_at_once(seen, host) for host in {arrival.host for arrival in seen}} == {1}
    assert all(gap.wait >= DELAY - 0.03 for gap in gaps(seen) if gap.before.path != "/robots.txt")
    assert kept > 0
    print(
        f"{stops} stops, {kept} with pages to keep; {crawls} crawls, {items} items, {again} twice"
    )
