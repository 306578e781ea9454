"""Three workers of one spider share a crawl through Redis; one of them is killed on the way.

The workers are ordinary `scrapy crawl almanac` processes with scrapy-redis. They and the demo web
run on this machine, and so does a redis-server of the demo's own. The web's log judges them.

It takes about two minutes: a Redis that has just started may have forgotten turns, so nothing is
fetched for half a minute; and what the killed worker had is taken to be in use for as long.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from importlib.util import find_spec
from pathlib import Path

from demo_web.referee import Fetch, Figures, broken_promises, judge, read_log, total
from demo_web.sites import SITES, Site
from run_demo import lines_of, open_web, running

SPIDER = "almanac"
VISITED = tuple(site for site in SITES if site.name in ("garden", "tides", "bread", "stars"))
WORKERS = 3
KILL_AFTER = 12.0  # seconds of fetching
PROGRESS_SECONDS = 10.0
PATIENCE = 300.0  # seconds for everything
LOG_LINES = 15
SETTINGS = {
    "SCHEDULER": "scrapy_redis.scheduler.Scheduler",
    "SCHEDULER_PERSIST": "True",
    "SCHEDULER_QUEUE_CLASS": "scrapy_polite.redis.PoliteQueue",
    "DUPEFILTER_CLASS": "scrapy_polite.redis.PoliteDupeFilter",
}
COLUMNS = ("requests", "pages", "at once", "wait/fetch", "waits kept", "robots.txt")


@contextlib.contextmanager
def open_redis(folder: Path) -> Iterator[str]:
    """A Redis server of our own on a free loopback port, and its URL."""
    program = shutil.which("redis-server")
    if program is None:
        sys.exit("There is no redis-server here. Debian, Ubuntu: sudo apt-get install redis-server")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    options = ["--port", str(port), "--bind", "127.0.0.1", "--dir", str(folder), "--save", ""]
    with running([program, *options], stdout=subprocess.DEVNULL):
        yield f"redis://127.0.0.1:{port}/0"


def worker_command(number: int, port: int, redis: str, files: Path) -> list[str]:
    """The command line that a user would type, on each of his machines."""
    settings = {
        **SETTINGS,
        "REDIS_URL": redis,
        "POLITE_STATE": redis,
        "LOG_FILE": files / f"worker-{number}.log",
    }
    assigned = [word for name, value in settings.items() for word in ("-s", f"{name}={value}")]
    return [sys.executable, "-m", "scrapy", "crawl", SPIDER, "-a", f"port={port}", *assigned]


def watch(workers: Sequence[subprocess.Popen[str]], log: Path) -> None:
    """Kill the first worker after a while, and tell how far all are until the others are done."""
    began, next_line, fetching_since, victim = time.monotonic(), 0.0, None, workers[0]
    while any(worker.poll() is None for worker in workers[1:]):
        passed, fetches = time.monotonic() - began, read_log(lines_of(log))
        if passed >= next_line:
            next_line += PROGRESS_SECONDS
            pages = total(judge(fetches, VISITED).values()).pages
            print(f"{passed:4.0f} s  {pages} pages", flush=True)
        if fetches and fetching_since is None:
            fetching_since = passed
        if fetching_since is not None and passed - fetching_since > KILL_AFTER and victim:
            victim.kill()
            victim = None
            print(f"{passed:4.0f} s  the first worker is killed", flush=True)
        if passed > PATIENCE:
            return
        time.sleep(0.2)


def crawl(files: Path) -> list[Fetch]:
    """Have the workers crawl; what the web's log says afterwards."""
    log = files / "web.jsonl"
    environment = {**os.environ, "SCRAPY_PROJECT": "default"}
    with contextlib.ExitStack() as stack:
        port = stack.enter_context(open_web(log))
        redis = stack.enter_context(open_redis(files))
        commands = [worker_command(number, port, redis, files) for number in range(WORKERS)]
        workers = [stack.enter_context(running(command, env=environment)) for command in commands]
        watch(workers, log)
    for number, worker in enumerate(workers[1:], 1):
        if worker.returncode:
            print("\n".join(lines_of(files / f"worker-{number}.log")[-LOG_LINES:]))
            sys.exit(f"Worker {number} ended with status {worker.returncode}.")
    return read_log(lines_of(log))


def row(name: str, figures: Figures, robots: int) -> str:
    """A line of the table."""
    ratio = "-" if figures.least_ratio is None else f"{figures.least_ratio:.1f}"
    waits = f"{figures.waits_kept}/{figures.waits_asked}" if figures.waits_asked else "-"
    pages = f"{figures.pages}/{figures.allowed}"
    cells = (figures.requests, pages, figures.most_at_once, ratio, waits, robots)
    return f"{name:<10}" + "".join(f"{cell:>12}" for cell in cells)


def table(fetches: Sequence[Fetch], sites: Sequence[Site]) -> str:
    """A line for each site, and one for all."""
    robots = [fetch.host for fetch in fetches if fetch.path == "/robots.txt"]
    figures = judge(fetches, sites)
    head = f"{'site':<10}" + "".join(f"{column:>12}" for column in COLUMNS)
    rows = [row(site.name, figures[site.name], robots.count(site.address)) for site in sites]
    last = row("all", total(figures.values()), len(robots))
    return "\n".join([head, "-" * len(head), *rows, "-" * len(head), last])


def main() -> int:
    """Run the crew and print the table; exit status 0 when it kept every promise."""
    missing = [name for name in ("scrapy_polite", "scrapy_redis") if find_spec(name) is None]
    if missing:
        sys.exit(f"This Python has no {missing[0]}: pip install 'scrapy-polite[scrapy-redis]'")
    print(f"{WORKERS} workers crawl one small web. Redis has just started: they wait 30 s first.")
    with tempfile.TemporaryDirectory() as folder:
        fetches = crawl(Path(folder))
    figures = total(judge(fetches, VISITED).values())
    print(f"\n{table(fetches, VISITED)}\n")
    broken = broken_promises(figures)
    if figures.pages < figures.allowed:
        broken.append(f"{figures.allowed - figures.pages} pages were lost")
    if broken:
        print(f"The workers broke a promise: {'; '.join(broken)}.")
        return 1
    print("By the web's own log the workers kept every promise together, and lost no page.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
