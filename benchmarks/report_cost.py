"""What event log and report cost: their share of the CPU of an unthrottled crawl, and a big log.

All waits are switched off (factor, floor and jitter 0), so what is left is the work per page.  What
the event log takes is measured within the crawl, by the thread's own CPU clock: it is less than the
difference between one crawl and the next.  The report is computed after the crawl, here.  The aim
is 3 % of the crawl's CPU at the most, for both.  Then a log of many events is written and read in a
process of its own, whose greatest memory is printed.

    python benchmarks/report_cost.py [--hosts 200] [--pages 15] [--rounds 3] [--events 1000000]
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from metering import CPU, WebApart, hosts, metered
from scrapy import signals

from scrapy_polite.extensions.timeline import PoliteTimeline
from scrapy_polite.report.load import from_log, save
from scrapy_polite.report.writer import LogWriter

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.crawler import Crawler

    from scrapy_polite.policy.robots_cache import RobotsRecord
    from scrapy_polite.runtime.leases import TurnEnded

LOG_CPU = "meter/log_cpu_seconds"
UNTHROTTLED = {"POLITE_DELAY_FACTOR": 0}
PAGES: dict[str, Any] = {"/robots.txt": "User-agent: *\nDisallow: /private/\n", "*": "<p>x</p>"}
BIG_LOG = """
import json, re, sys, time
from pathlib import Path
from scrapy_polite.report.load import from_log, save
from scrapy_polite.report.schema import FORMAT, VERSION, Began, Ended, Fetched
from scrapy_polite.report.writer import LogWriter

def most_kib():
    # Not ru_maxrss, which has what the parent had.
    return int(re.search(r"VmHWM:\\s+(\\d+)", Path("/proc/self/status").read_text())[1])

path, events = Path(sys.argv[1]), int(sys.argv[2])
log, hosts = LogWriter(path), max(events // 400, 1)
began = time.process_time()
agent = "BigBot/1.0 (+https://big.test/)"
log.write(Began(0.0, 1.8e9, "big", agent, format=FORMAT, version=VERSION))
for number in range(events):
    host, turn = f"host{number % hosts}.example", number // hosts
    start_at = 6.0 * turn + number % hosts * 1e-4
    url = f"https://{host}/section/page/{turn}"
    log.write(
        Fetched(
            start_at + 0.5,
            host,
            url,
            start_at,
            status=200,
            verdict="allowed",
            until_at=start_at + 6.0,
            reason="duration",
        )
    )
log.write(Ended(start_at, "finished"))
log.close()
written = time.process_time()
report = from_log(path)
read = time.process_time()
save(report, path.with_suffix(".html"))
saved = time.process_time()
print(json.dumps({
    "verdict": report.verdict,
    "log_bytes": path.stat().st_size,
    "page_bytes": path.with_suffix(".html").stat().st_size,
    "write": written - began, "read": read - written, "save": saved - read,
    "most_kib": most_kib(),
}))
"""


def main() -> None:
    """Crawl, read a big log, and print the figures."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--hosts", type=int, default=200)
    parser.add_argument("--pages", type=int, default=15, help="pages of each host")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--events", type=int, default=1_000_000, help="of the big log")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        if asked.rounds:
            measure(asked, Path(folder))
        if asked.events:
            read_big_log(asked.events, Path(folder))


class TimedTimeline(PoliteTimeline):
    """The event log, with a stopwatch: the thread's CPU seconds go into the stats."""

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        self._spent = 0.0
        self._stats = crawler.stats
        crawler.signals.connect(self._stopped, signals.engine_stopped)

    @contextmanager
    def _timed(self) -> Iterator[None]:
        began = time.thread_time()
        yield
        self._spent += time.thread_time() - began

    def _turn_ended(self, ended: TurnEnded) -> None:
        with self._timed():
            super()._turn_ended(ended)

    def _robots_read(self, origin: str, host: str, record: RobotsRecord) -> None:
        with self._timed():
            super()._robots_read(origin, host, record)

    def _dropped(self, request: Request, exception: Exception) -> None:
        with self._timed():
            super()._dropped(request, exception)

    def _stopped(self) -> None:
        self._stats.set_value(LOG_CPU, self._spent + TimedWriter.spent)


class TimedWriter:
    """Adds up what flushing takes, in all logs of the process."""

    spent = 0.0
    flush = LogWriter.flush

    @classmethod
    def install(cls) -> None:
        """Have each flush timed."""

        def flush(log: LogWriter) -> None:
            began = time.thread_time()
            cls.flush(log)
            cls.spent += time.thread_time() - began

        LogWriter.flush = flush  # type: ignore[method-assign]


def measure(asked: argparse.Namespace, folder: Path) -> None:
    """Crawl with an event log, compute its report, and print what both took."""
    log = folder / "crawl.jsonl"
    settings = {
        **UNTHROTTLED,
        "POLITE_TIMELINE": str(log),
        "EXTENSIONS": {"metering.Meter": 0, "report_cost.TimedTimeline": 0},
    }
    shares: list[float] = []
    with WebApart(dict.fromkeys(hosts(asked.hosts), PAGES)) as web:
        urls = [site.url(f"/p{page}") for page in range(asked.pages) for site in web.sites]
        for _ in range(asked.rounds):
            stats, _ = metered(web, urls, settings, polite=True)
            began = time.thread_time()
            report = from_log(log)
            save(report, log.with_suffix(".html"))
            took = {"event log": stats[LOG_CPU], "report": time.thread_time() - began}
            assert report.pages == len(urls), f"{report.pages} pages are in the log"
            shares.append(sum(took.values()) / (stats[CPU] - stats[LOG_CPU]))
            words = [f"{side} {1e6 * cpu / len(urls):3.0f} us" for side, cpu in took.items()]
            words.append(f"crawl {1e6 * stats[CPU] / len(urls):.0f} us a page")
            print(", ".join(words), f"= {shares[-1]:.1%}")
    print(f"event log and report / crawl without them: {sorted(shares)[len(shares) // 2]:.1%}")


def read_big_log(events: int, folder: Path) -> None:
    """Write and read a log of so many events, in a process of its own."""
    done = subprocess.run(
        [sys.executable, "-c", BIG_LOG, str(folder / "big.jsonl"), str(events)],
        check=True,
        capture_output=True,
        text=True,
    )
    told = json.loads(done.stdout)
    print(
        f"{events:,} events: written in {told['write']:.1f} CPU s, "
        f"read and judged in {told['read']:.1f} s, page in {told['save']:.1f} s; "
        f"log {told['log_bytes'] / 1e6:.0f} MB, page {told['page_bytes'] / 1e6:.1f} MB, "
        f"most memory {told['most_kib'] / 1024:.0f} MiB"
    )


TimedWriter.install()

if __name__ == "__main__":
    main()
