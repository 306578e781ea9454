"""What a host costs in the scheduler's queue: time per push and pop, octets per host.

`PolitePriorityQueue` beside Scrapy's `DownloaderAwarePriorityQueue`, each inside a crawl of its own
process, with a queue of some thousand hosts that are all ready.  The aims at every size: at most 50
microseconds a pop, growing no faster than the logarithm, and 1.5 KB a host without its requests.

    python benchmarks/frontier_cost.py [--sizes 1000 10000 100000]
"""

from __future__ import annotations

import argparse
import gc
import multiprocessing
import time
import tracemalloc
from concurrent.futures import ProcessPoolExecutor
from typing import Any

from metering import name_of
from scrapy import Request, Spider, signals
from scrapy.crawler import Crawler, CrawlerProcess
from scrapy.utils.misc import build_from_crawler, load_object

from harness import BARE, POLITE
from scrapy_polite.runtime.runtime import Runtime

FREE_OF_WAITS = {"ROBOTSTXT_OBEY": False, "POLITE_DELAY_FACTOR": 0, "LOG_LEVEL": "ERROR"}
PAGES = 2  # of each host
LOOKS = 20_000_000  # hosts that stock Scrapy looks at in a measurement; each pop looks at them all
MICRO = 1e6


class Bench(Spider):
    """A spider that crawls nothing; the queue is measured when it opens."""

    name = "bench"
    hosts = 0
    what = ""
    figures: tuple[float, ...] = ()

    @classmethod
    def from_crawler(cls, crawler: Crawler, *args: Any, **kwargs: Any) -> Bench:
        spider = super().from_crawler(crawler, *args, **kwargs)
        crawler.signals.connect(getattr(spider, cls.what), signals.spider_opened)
        return spider

    def times(self) -> None:
        """Measure seconds per push and per pop."""
        is_polite = bool(self.settings.getdict("ADDONS"))
        queue, requests = self.queue(), self.requests(PAGES)
        push = pop = 0.0
        for request in requests:
            began_at = time.perf_counter()
            queue.push(request)
            push += time.perf_counter() - began_at
        pops = len(requests) if is_polite else min(len(requests), LOOKS // self.hosts)
        for _ in range(pops):
            began_at = time.perf_counter()
            request = queue.pop()
            pop += time.perf_counter() - began_at
            if is_polite:
                Runtime.of(self.crawler).turns.left(request)
        type(self).figures = push / len(requests), pop / pops

    def size(self) -> None:
        """Measure the octets that a host takes, without its request."""
        queue, requests = self.queue(), self.requests(1)
        gc.collect()
        tracemalloc.start()
        for request in requests:
            queue.push(request)
        gc.collect()
        type(self).figures = (tracemalloc.get_traced_memory()[0] / self.hosts,)
        tracemalloc.stop()

    def requests(self, pages: int) -> list[Request]:
        """Return requests of all hosts in turn."""
        return [
            Request(f"http://host{number}.example/{page}")
            for page in range(pages)
            for number in range(self.hosts)
        ]

    def queue(self) -> Any:
        """Make the queue as the scheduler does."""
        settings = self.settings
        return build_from_crawler(
            load_object(settings["SCHEDULER_PRIORITY_QUEUE"]),
            self.crawler,
            load_object(settings["SCHEDULER_MEMORY_QUEUE"]),
            "",
            start_queue_cls=load_object(settings["SCHEDULER_START_MEMORY_QUEUE"]),
        )


def measure(what: str, hosts: int, polite: bool) -> tuple[float, ...]:
    """Return what a method of the spider measures, in this process."""
    Bench.hosts, Bench.what = hosts, what
    process = CrawlerProcess({**(POLITE if polite else BARE), **FREE_OF_WAITS})
    process.crawl(Bench)
    process.start()
    return Bench.figures


def measure_apart(what: str, hosts: int, polite: bool) -> tuple[float, ...]:
    """Return the same, measured in a process of its own."""
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        return pool.submit(measure, what, hosts, polite).result()


def main() -> None:
    """Measure and print a table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--sizes", type=int, nargs="+", default=[1_000, 10_000, 100_000])
    print(f"{'':13} {'hosts':>8} {'us/push':>8} {'us/pop':>8} {'bytes/host':>10}")
    for hosts in parser.parse_args().sizes:
        for polite in (False, True):
            push, pop = measure_apart("times", hosts, polite)
            (size,) = measure_apart("size", hosts, polite)
            times = f"{push * MICRO:8.1f} {pop * MICRO:8.1f}"
            print(f"{name_of(polite):13} {hosts:8} {times} {size:10.0f}", flush=True)


if __name__ == "__main__":
    main()
