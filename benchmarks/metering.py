"""What the benchmarks share: one local web, and crawls of it whose CPU and wall time are measured.

The web runs in a process of its own and each crawl in another, so that the CPU seconds are the
crawl's alone; what Python needs to start is left out.  Run from a checkout with the `test` extra.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scrapy import signals

if TYPE_CHECKING:
    from scrapy.crawler import Crawler

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parents[1] / "tests")]

from harness import Arrival, crawl  # noqa: E402  # once its folder is on the path
from harness.apart import WebApart  # noqa: E402

CPU, WALL = "meter/cpu_seconds", "meter/wall_seconds"
HOST_FORMAT = "127.9.{}.{}"


class Meter:
    """An extension that writes the CPU and wall seconds between open and close into the stats."""

    def __init__(self, crawler: Crawler) -> None:
        self._stats = crawler.stats
        crawler.signals.connect(self._opened, signals.spider_opened)
        crawler.signals.connect(self._closed, signals.spider_closed)

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Meter:
        """Make one as Scrapy does."""
        return cls(crawler)

    def _opened(self) -> None:
        self._began_at, self._cpu = time.monotonic(), time.process_time()

    def _closed(self) -> None:
        self._stats.set_value(CPU, time.process_time() - self._cpu)
        self._stats.set_value(WALL, time.monotonic() - self._began_at)


def hosts(count: int) -> list[str]:
    """Return so many loopback hosts."""
    return [HOST_FORMAT.format(number // 250, number % 250 + 1) for number in range(count)]


def name_of(polite: bool) -> str:
    """Return what a side is called in the output."""
    return "scrapy_polite" if polite else "stock"


def metered(
    web: WebApart, requests: Sequence[str], settings: Mapping[str, Any], *, polite: bool
) -> tuple[dict[str, Any], list[Arrival]]:
    """Return the stats of a crawl, times included, and what the web recorded of it."""
    settings = {"LOG_LEVEL": "WARNING", "EXTENSIONS": {"metering.Meter": 0}, **settings}
    run = crawl(web, requests, settings, polite=polite, timeout=600)  # type: ignore[arg-type]
    return run.stats, run.arrivals
