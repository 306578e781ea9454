"""What event log and report cost: CPU of an unthrottled crawl without and with them, and a big log.

All waits are switched off (factor, floor and jitter 0), so what is left is the work per page.  The
rounds alternate and of each side the best counts.  The report is computed after the crawl, so its
CPU is measured here and added; the aim is 3 % of the crawl's at the most.  Then a log of many
events is written and read in a process of its own, whose greatest memory is printed.

    python benchmarks/report_cost.py [--hosts 200] [--pages 15] [--rounds 4] [--events 1000000]
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from metering import CPU, WebApart, hosts, metered

from scrapy_polite.report.load import from_log, save

UNTHROTTLED = {"POLITE_DELAY_FACTOR": 0}
PAGES: dict[str, Any] = {"/robots.txt": "User-agent: *\nDisallow: /private/\n", "*": "<p>x</p>"}
BIG_LOG = """
import json, resource, sys, time
from pathlib import Path
from scrapy_polite.report.load import from_log, save
from scrapy_polite.report.schema import FORMAT, VERSION, Began, Ended, Fetched, Waits
from scrapy_polite.report.writer import LogWriter

path, events = Path(sys.argv[1]), int(sys.argv[2])
log, hosts = LogWriter(path), max(events // 400, 1)
began = time.process_time()
agent = "BigBot/1.0 (+https://big.test/)"
log.write(Began(0.0, 1.8e9, "big", agent, format=FORMAT, version=VERSION))
for number in range(events // 2):
    host, turn = f"host{number % hosts}.example", number // hosts
    start_at = 6.0 * turn + number % hosts * 1e-4
    url = f"https://{host}/section/page/{turn}"
    log.write(
        Fetched(start_at + 0.5, host, url, start_at, status=200, verdict="allowed"),
        Waits(start_at + 0.5, host, start_at + 6.0, "duration"),
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
    "most_kib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss,
}))
"""


def main() -> None:
    """Crawl in turns, read a big log, and print the figures."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--hosts", type=int, default=200)
    parser.add_argument("--pages", type=int, default=15, help="pages of each host")
    parser.add_argument("--rounds", type=int, default=4)
    parser.add_argument("--events", type=int, default=1_000_000, help="of the big log")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        if asked.rounds:
            compare(asked, Path(folder))
        if asked.events:
            read_big_log(asked.events, Path(folder))


def compare(asked: argparse.Namespace, folder: Path) -> None:
    """Crawl without and with event log and report, in turns."""
    log = folder / "crawl.jsonl"
    best = {"without": float("inf"), "event log": float("inf"), "report": float("inf")}
    with WebApart(dict.fromkeys(hosts(asked.hosts), PAGES)) as web:
        urls = [site.url(f"/p{page}") for page in range(asked.pages) for site in web.sites]
        for _ in range(asked.rounds):
            stats, _ = metered(web, urls, UNTHROTTLED, polite=True)
            best["without"] = min(best["without"], stats[CPU])
            settings = {**UNTHROTTLED, "POLITE_TIMELINE": str(log)}
            stats, _ = metered(web, urls, settings, polite=True)
            best["event log"] = min(best["event log"], stats[CPU])
            began = time.process_time()
            report = from_log(log)
            save(report, log.with_suffix(".html"))
            best["report"] = min(best["report"], time.process_time() - began)
            assert report.pages == len(urls), f"{report.pages} pages are in the log"
    for side, seconds in best.items():
        print(f"{side:10} {seconds:7.3f} CPU s {1e6 * seconds / len(urls):7.1f} us a page")
    more = best["event log"] - best["without"] + best["report"]
    print(f"event log and report / crawl: {more / best['without']:.1%}")


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


if __name__ == "__main__":
    main()
