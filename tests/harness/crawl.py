"""Real crawls of a test web, in the reactor of the test process or in a process of their own.

`crawl_here` takes milliseconds to start and gives access to the crawler, so most tests use it.
`crawl` runs the same spider in a fresh Python, with any reactor or none, and is for tests of what a
process does: start, stop, reactors, log, files. With `--reactorless`, `crawl_here` does as `crawl`
does, without a reactor, and the crawler is None.

Settings start from `POLITE` (the add-on with an identity, and no floor and no jitter, so that waits
come from what a test sets up) or, with `polite=False`, from `BARE` (stock Scrapy).
"""

from __future__ import annotations

import json
import logging
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from typing import Any

from scrapy.crawler import Crawler, CrawlerRunner
from scrapy.utils.asyncio import call_later
from scrapy.utils.defer import deferred_from_coro, maybe_deferred_to_future
from scrapy.utils.reactor import is_asyncio_reactor_installed

from harness import child
from harness.record import Arrival
from harness.server import Web
from harness.spider import Asking, Outcome, spider_class

BARE: dict[str, Any] = {
    "LOG_LEVEL": "INFO",
    "TELNETCONSOLE_ENABLED": False,
    "REMOTE_CONTROL_ENABLED": False,
    "ROBOTSTXT_OBEY": True,
    "DOWNLOAD_DELAY": 0,
}
POLITE: dict[str, Any] = {
    **BARE,
    "ADDONS": {"scrapy_polite.Addon": 500},
    "POLITE_PRODUCT": "HarnessBot/1.0",
    "POLITE_CONTACT_EMAIL": "ops@harness.test",
    "POLITE_MIN_DELAY": 0,
    "POLITE_JITTER": 0,
}
_here: dict[str, Any] = {"reactorless": False}


def go_reactorless() -> None:
    """Make `crawl_here` run every crawl in a process, without a reactor (`--reactorless`)."""
    _here["reactorless"] = True


@dataclass(frozen=True, slots=True)
class Crawl:
    """How a crawl went.

    Args:
        outcome: Per URL asked for, statuses and names of exceptions; a URL of which nothing was
            heard is not in it.
        stats: Scrapy's stats; in a process of its own, values other than numbers are text.
        log: The log, from LOG_LEVEL on.
        seconds: Wall time from start to close.
        arrivals: What the web recorded meanwhile, in order of start.
        crawler: The crawler; None after a crawl in a process of its own.
    """

    outcome: Outcome
    stats: dict[str, Any]
    log: str
    seconds: float
    arrivals: list[Arrival]
    crawler: Crawler | None = None


class CrawlFailed(Exception):
    """The crawl did not start; the message is "ValueError: ..." and the tail of the log."""

    def __init__(self, error: str, log: str) -> None:
        super().__init__(f"{error}\n{log[-2000:]}")


def crawl(
    web: Web,
    requests: Sequence[Asking],
    settings: Mapping[str, Any] | None = None,
    spider_attrs: Mapping[str, Any] | None = None,
    *,
    polite: bool = True,
    timeout: float = 60.0,
) -> Crawl:
    """Run a crawl in a process of its own.

    Args:
        web: Where it crawls.
        requests: URLs, or arguments of `Request` as dicts; JSON only.
        settings: On top of `POLITE` or `BARE`; JSON only. TWISTED_REACTOR_ENABLED False crawls
            without a reactor.
        spider_attrs: Attributes of the spider class.
        polite: Whether to start from `POLITE`.
        timeout: Seconds until the process is killed.

    Raises:
        CrawlFailed: It did not start, or its process broke down.
        TimeoutError: It did not end in time; the message ends with the tail of the log.
    """
    begun_at = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="harness-") as name:
        folder = Path(name)
        job = {
            "settings": {**(POLITE if polite else BARE), **(settings or {})},
            "requests": list(requests),
            "attributes": dict(spider_attrs or {}),
        }
        log = _run_job(folder, job, timeout)
        result = json.loads((folder / "result.json").read_text())
    if "error" in result:
        raise CrawlFailed(result["error"], log)
    return Crawl(**result, log=log, arrivals=_arrivals_since(begun_at, web))


def _run_job(folder: Path, job: Mapping[str, Any], timeout: float) -> str:
    """Run a crawl in a process of its own and return its log."""
    log = folder / "log.txt"
    process = child.start(folder, job)
    try:
        status = process.wait(timeout)
    except subprocess.TimeoutExpired:
        tail = log.read_text()[-2000:]
        raise TimeoutError(f"the crawl did not end in {timeout} s\n{tail}") from None
    finally:
        process.kill()
        process.wait()
    if status:
        raise CrawlFailed(f"exit status {status}", log.read_text())
    return log.read_text()


async def crawl_here(
    web: Web,
    requests: Sequence[Asking],
    settings: Mapping[str, Any] | None = None,
    spider_attrs: Mapping[str, Any] | None = None,
    *,
    polite: bool = True,
    timeout: float = 60.0,
) -> Crawl:
    """Run a crawl in the reactor of the test process; arguments are those of `crawl`.

    Raises:
        CrawlFailed: It did not start.
        TimeoutError: It was stopped because the time was over.
    """
    if _here["reactorless"]:
        settings = {**(settings or {}), "TWISTED_REACTOR_ENABLED": False}
        return crawl(web, requests, settings, spider_attrs, polite=polite, timeout=timeout)
    outcome: Outcome = {}
    merged = {**(POLITE if polite else BARE), **(settings or {})}
    if not is_asyncio_reactor_installed():
        merged.setdefault("TWISTED_REACTOR", None)
    begun_at = time.monotonic()
    with _captured_log(merged["LOG_LEVEL"]) as log:
        try:
            runner = CrawlerRunner(merged)
            crawler = runner.create_crawler(spider_class(requests, outcome, spider_attrs or {}))
            with _deadline(crawler, timeout):
                await maybe_deferred_to_future(runner.crawl(crawler))
        except TimeoutError:
            raise
        except Exception as error:
            raise CrawlFailed(f"{type(error).__name__}: {error}", log.getvalue()) from error
    assert crawler.stats is not None
    return Crawl(
        outcome=outcome,
        stats=dict(crawler.stats.get_stats()),
        log=log.getvalue(),
        seconds=time.monotonic() - begun_at,
        arrivals=_arrivals_since(begun_at, web),
        crawler=crawler,
    )


def _arrivals_since(begun_at: float, web: Web) -> list[Arrival]:
    return [seen for seen in web.arrivals() if seen.start_at >= begun_at]


@contextmanager
def _deadline(crawler: Crawler, timeout: float) -> Iterator[None]:
    """Stop the crawl after so many seconds, and raise once it has stopped."""
    over: list[object] = []
    timer = call_later(timeout, lambda: over.append(deferred_from_coro(crawler.stop_async())))
    try:
        yield
    finally:
        if not over:
            timer.cancel()
    if over:
        raise TimeoutError(f"the crawl did not end in {timeout} s")


@contextmanager
def _captured_log(level: str) -> Iterator[StringIO]:
    """Collect the log records of a level and above as text."""
    text, root = StringIO(), logging.getLogger()
    handler = logging.StreamHandler(text)
    handler.setLevel(level)
    handler.setFormatter(logging.Formatter("[%(name)s] %(levelname)s: %(message)s"))
    level_before = root.level
    root.setLevel(level)
    root.addHandler(handler)
    try:
        yield text
    finally:
        root.removeHandler(handler)
        root.setLevel(level_before)
