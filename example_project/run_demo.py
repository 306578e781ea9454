"""The demo: crawl the demo web with stock Scrapy, then politely, and let its own log judge them.

Each crawl is both spiders of the project as ordinary `scrapy crawl` processes, against a web of its
own: the sites that change with time are equally new to all.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from demo_web import table
from demo_web.referee import Fetch, broken_promises, judge, read_log, total

HERE = Path(__file__).resolve().parent
REPORTS = HERE / "reports"
SPIDERS = ("almanac", "chronicle")
STOCK_SECONDS = 25
POLITE_SECONDS = 75
PROGRESS_SECONDS = 5.0
GRACE_SECONDS = 20.0
"""How long after its time a crawl may take to close before it is stopped."""

LOG_LINES = 15
"""How much of a spider's log is shown when the spider failed."""

SCRAPY_DEFAULTS = ("-s", "DOWNLOAD_DELAY=0", "-s", "CONCURRENT_REQUESTS_PER_DOMAIN=8")
"""What Scrapy does when settings.py says nothing: projects begun before Scrapy 2.13.3."""


@dataclass(frozen=True, slots=True)
class Crawl:
    """One crawl of the demo web.

    Args:
        name: What the output calls it, and the directory of its files.
        project: The line of scrapy.cfg to run it with.
        seconds: When it is to end, done or not.
        options: More of the `scrapy crawl` command line.
    """

    name: str
    project: str
    seconds: int
    options: tuple[str, ...] = ()


@contextlib.contextmanager
def running(command: list[str], **options: object) -> Iterator[subprocess.Popen[str]]:
    """A process that does not outlive the block."""
    with subprocess.Popen(command, cwd=HERE, text=True, **options) as process:  # type: ignore[call-overload]
        try:
            yield process
        finally:
            process.terminate()  # does nothing when it has ended
            try:
                process.wait(GRACE_SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()


@contextlib.contextmanager
def open_web(log: Path) -> Iterator[int]:
    """The demo web in a process of its own, and its port."""
    command = [sys.executable, "-m", "demo_web", "--port", "0", "--log", str(log)]
    with running(command, stdout=subprocess.PIPE) as web:
        assert web.stdout is not None
        found = re.search(r"on port (\d+)", web.stdout.readline())
        if found is None:
            sys.exit("The demo web did not open.")
        yield int(found[1])


def lines_of(file: Path) -> list[str]:
    """The lines of a file so far; none when it is not there yet."""
    return file.read_text().splitlines() if file.exists() else []


def spider_command(spider: str, crawl: Crawl, port: int, files: Path) -> list[str]:
    """The command line that a user would type."""
    settings = {
        "LOG_FILE": files / f"{spider}.log",
        "CLOSESPIDER_TIMEOUT": crawl.seconds,
        "POLITE_REPORT": files / f"{spider}.report.html",
    }
    assigned = [word for name, value in settings.items() for word in ("-s", f"{name}={value}")]
    items = str(files / f"{spider}.jsonl")
    crawl_it = [sys.executable, "-m", "scrapy", "crawl", spider, "-a", f"port={port}", "-O", items]
    return [*crawl_it, *assigned, *crawl.options]


def watch(spiders: dict[str, subprocess.Popen[str]], crawl: Crawl, log: Path) -> None:
    """Print a line every few seconds until the spiders have closed or are long past their time."""
    began = time.monotonic()
    next_line = PROGRESS_SECONDS
    while any(process.poll() is None for process in spiders.values()):
        time.sleep(0.2)
        passed = time.monotonic() - began
        if passed >= next_line:
            next_line += PROGRESS_SECONDS
            pages = ", ".join(
                f"{site} {figures.pages}"
                for site, figures in judge(read_log(lines_of(log))).items()
                if figures.allowed
            )
            print(f"{passed:4.0f} s  {crawl.name:<9}{pages}", flush=True)
        if passed > crawl.seconds + GRACE_SECONDS:
            return


def run(crawl: Crawl, directory: Path) -> list[Fetch]:
    """Crawl the demo web with both spiders; what its log says afterwards.

    Args:
        crawl: Which crawl.
        directory: Where its files go, in a directory of the crawl's name.

    Raises:
        SystemExit: A spider failed, so there is nothing to compare.
    """
    files = directory / crawl.name
    files.mkdir(parents=True, exist_ok=True)
    log = files / "web.jsonl"
    environment = {**os.environ, "SCRAPY_PROJECT": crawl.project}
    with contextlib.ExitStack() as stack:
        port = stack.enter_context(open_web(log))
        spiders = {
            spider: stack.enter_context(
                running(spider_command(spider, crawl, port, files), env=environment)
            )
            for spider in SPIDERS
        }
        watch(spiders, crawl, log)
    for spider, process in spiders.items():
        if process.returncode:
            print("\n".join(lines_of(files / f"{spider}.log")[-LOG_LINES:]))
            sys.exit(
                f"Spider {spider} ended with status {process.returncode} ({crawl.name} crawl)."
            )
    return read_log(lines_of(log))


def own_reports(files: Path) -> None:
    """What the add-on itself says about a crawl, from the reports that it wrote there."""
    REPORTS.mkdir(exist_ok=True)
    for report in sorted(files.glob("*.report.html")):
        kept = shutil.copy(report, REPORTS)
        print("\nThe add-on's own report:", flush=True)
        command = [sys.executable, "-m", "scrapy", "politeness", str(report)]
        subprocess.run(command, cwd=HERE, check=False)
        print(f"\nWith its timeline, for a browser: {kept}", flush=True)


def compare(defaults: list[Fetch], stock: list[Fetch], polite: list[Fetch]) -> bool:
    """Print the table; whether the polite crawl kept its promises."""
    theirs, ours = judge(stock), judge(polite)
    print(f"\nBy the demo web's own log:\n\n{table.table(theirs, ours)}\n")
    print(f"stock signed as\n{table.signatures(stock)}")
    print(f"polite signed as\n{table.signatures(polite)}\n")
    bare, theirs_all, ours_all = (total(x.values()) for x in (judge(defaults), theirs, ours))
    print(table.sentence("Scrapy's defaults, without any delay", bare))
    print(table.sentence("Stock Scrapy, as `scrapy startproject` sets it up", theirs_all))
    print(table.sentence("Polite", ours_all))
    print(table.verdict(theirs_all, ours_all))
    return not broken_promises(ours_all)


def main() -> int:
    """Run the crawls and print the table; exit status 0 when the polite one kept its promises."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seconds", type=int, default=POLITE_SECONDS, help="for the polite crawl")
    parser.add_argument(
        "--keep", type=Path, metavar="DIR", help="keep logs, items and reports here"
    )
    arguments = parser.parse_args()
    stock_seconds = min(STOCK_SECONDS, arguments.seconds)
    crawls = (
        Crawl("defaults", "stock", stock_seconds, SCRAPY_DEFAULTS),
        Crawl("stock", "stock", stock_seconds),
        Crawl("polite", "default", arguments.seconds),
    )
    if find_spec("scrapy_polite") is None:
        sys.exit("This Python has no scrapy_polite; `pip install` it, or run `make demo`.")
    # Leave the blocks, and so stop the crawl and its web, also when told to stop from outside.
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))
    with contextlib.ExitStack() as stack:
        stack.enter_context(contextlib.suppress(KeyboardInterrupt))
        directory = arguments.keep or stack.enter_context(tempfile.TemporaryDirectory())
        directory = Path(directory).resolve()
        print("Stock Scrapy goes first, the polite crawl follows, a minute and a half in all.")
        print("Pages got so far, site by site:", flush=True)
        kept = compare(*[run(crawl, directory) for crawl in crawls])
        own_reports(directory / "polite")
        return 0 if kept else 1
    return 130


if __name__ == "__main__":
    sys.exit(main())
