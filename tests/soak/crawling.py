"""A crawl of a soak in a process of its own: `python -m soak.crawling JOB.json RESULT.json`.

It runs until it gets a SIGINT.  The result has its stats, its samples, and what was left over.
"""

from __future__ import annotations

import json
import signal
import sys
import threading
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from scrapy.crawler import Crawler, CrawlerProcess
from twisted.python.failure import Failure

from harness import POLITE, child
from scrapy_polite.frontier.hosts import NEVER
from scrapy_polite.runtime.runtime import Runtime
from scrapy_polite.state.memory import MemoryStore
from soak import sampling
from soak.spider import SoakSpider

SETTINGS: dict[str, Any] = {
    **POLITE,
    "EXTENSIONS": {"soak.sampling.Sampler": 10},
    "CONCURRENT_REQUESTS": 32,
    "CONCURRENT_ITEMS": 1,  # Scrapy makes so many tasks for each page
    "LOGSTATS_INTERVAL": 5,
}


class Soaking:
    """A crawl in a process of its own.

    Args:
        folder: where its job, log and result are.
    """

    def __init__(self, folder: Path, settings: dict[str, Any], **arguments: Any) -> None:
        self._folder = folder
        job = {"settings": {**SETTINGS, **settings}, "arguments": arguments}
        self._process = child.start(folder, job, "soak.crawling")

    @property
    def log(self) -> str:
        """What it logged so far, earlier runs in the same folder included."""
        return (self._folder / "log.txt").read_text()

    def stop(self) -> dict[str, Any]:
        """Stop it as a person does, and return its result."""
        self._process.send_signal(signal.SIGINT)
        try:
            self._process.wait(30.0)
        finally:
            self._process.kill()
            self._process.wait()
        assert self._process.returncode == 0, self.log[-3000:]
        result: dict[str, Any] = json.loads((self._folder / "result.json").read_text())
        return result


def left_over(crawler: Crawler) -> dict[str, Any]:
    """Return what a crawl that is over still holds, by name; what is empty is left out."""
    runtime = Runtime.of(crawler)
    turns, store = runtime.turns, runtime.store
    held = [h for h in store._hosts.values() if h.holder] if isinstance(store, MemoryStore) else []
    entries = runtime.robots.verdicts._entries.values()
    found = {
        "leases": [str(lease) for lease in turns.leases.in_hand()],
        "leases in the store": list(map(str, held)),
        "turns for pages": len(turns.granted),
        "hosts taken": [key for key, _, taken, _ in turns.frontier.overview() if taken],
        "asked for": sum(turns.pump.asking.values()),
        "requests at the gate": len(turns._room._lines),
        "requests that wait for a verdict": sum(len(entry.waiting) for entry in entries),
        "robots.txt being fetched": sum(entry.fetching for entry in entries),
        "failures in doubt": len(runtime.outage._doubts),
        "timer of the pump": turns.pump._timer_at < NEVER,
        "timers": [str(call) for call in sampling.timer_list()],
        "tasks": sampling.tasks(),
        "threads": [t.name for t in threading.enumerate() if t.name.startswith("polite")],
    }
    return {name: value for name, value in found.items() if value}


def plain(stats: Mapping[str, Any]) -> dict[str, Any]:
    """Return stats as JSON can have them."""
    return {k: v if isinstance(v, (int, float)) else str(v) for k, v in stats.items()}


def run(job: dict[str, Any]) -> dict[str, Any]:
    """Run a job; return stats, samples and what was left over."""
    failures: list[Failure] = []
    process = CrawlerProcess(job["settings"])
    crawler = process.create_crawler(SoakSpider)
    process.crawl(crawler, **job["arguments"]).addErrback(failures.append)
    process.start()
    for failure in failures:
        failure.raiseException()
    assert crawler.stats is not None
    sampler = crawler.get_extension(sampling.Sampler)
    assert sampler is not None
    return {
        "stats": plain(crawler.stats.get_stats()),
        "samples": sampler.samples,
        "left over": left_over(crawler),
    }


if __name__ == "__main__":
    warnings.simplefilter("default")
    job_file, result_file = map(Path, sys.argv[1:])
    result_file.write_text(json.dumps(run(json.loads(job_file.read_text()))))
