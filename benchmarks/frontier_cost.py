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
from collections.abc import Callable
from typing import Any

from metering import name_of
from scrapy import Request, Spider, signals
from scrapy.crawler import Crawler, CrawlerProcess
from scrapy.utils.misc import build_from_crawler, load_object

from harness import BARE, POLITE
from scrapy_polite.runtime.runtime import Runtime

FREE_OF_WAITS = {"ROBOTSTXT_OBEY": False, "POLITE_DELAY_FACTOR": 0, "LOG_LEVEL": "ERROR"}
PAGES = 2  # of each host
MOST_POPS = 20_000  # measured; stock Scrapy would take an hour for all of them
MICRO = 1e6


class Bench(Spider):
    """A spider that crawls nothing; the queue is measured when it opens."""

    name = "bench"
    hosts = 0
    result: tuple[float, ...] = ()

    @classmethod
    def from_crawler(cls, crawler: Crawler, *args: Any, **kwargs: Any) -> Bench:
        spider = super().from_crawler(crawler, *args, **kwargs)
        crawler.signals.connect(spider.measure, signals.spider_opened)
        return spider

    async def start(self) -> Any:
        return
        yield

    def measure(self) -> None:
        end_turn: Callable[[Request], object] = lambda request: None  # noqa: E731
        if "ADDONS" in self.settings and self.settings.getdict("ADDONS"):
            end_turn = Runtime.of(self.crawler).turns.left
        size_bytes = self.size_bytes()
        queue = self.queue()
        requests = [
            Request(f"http://host{number}.example/{page}")
            for page in range(PAGES)
            for number in range(self.hosts)
        ]
        push = self.timed(queue.push, requests)
        pops = min(len(requests), MOST_POPS if self.hosts < 50_000 else MOST_POPS // 20)
        pop = 0.0
        for _ in range(pops):
            began_at = time.perf_counter()
            request = queue.pop()
            pop += time.perf_counter() - began_at
            end_turn(request)
        type(self).result = push, pop / pops, size_bytes

    def queue(self) -> Any:
        settings = self.settings
        return build_from_crawler(
            load_object(settings["SCHEDULER_PRIORITY_QUEUE"]),
            self.crawler,
            load_object(settings["SCHEDULER_MEMORY_QUEUE"]),
            "",
            start_queue_cls=load_object(settings["SCHEDULER_START_MEMORY_QUEUE"]),
        )

    def size_bytes(self) -> float:
        """Return the octets that a host takes, without its request."""
        queue = self.queue()
        requests = [Request(f"http://size{number}.example/") for number in range(self.hosts)]
        gc.collect()
        tracemalloc.start()
        for request in requests:
            queue.push(request)
        gc.collect()
        size = tracemalloc.get_traced_memory()[0]
        tracemalloc.stop()
        while queue.pop() is not None:
            pass
        return size / self.hosts

    @staticmethod
    def timed(act: Callable[[Request], object], requests: list[Request]) -> float:
        began_at = time.perf_counter()
        for request in requests:
            act(request)
        return (time.perf_counter() - began_at) / len(requests)


def measure(hosts: int, polite: bool) -> tuple[float, ...]:
    """Return seconds per push and per pop, and octets per host."""
    Bench.hosts = hosts
    process = CrawlerProcess({**(POLITE if polite else BARE), **FREE_OF_WAITS})
    process.crawl(Bench)
    process.start()
    return Bench.result


def main() -> None:
    """Measure and print a table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--sizes", type=int, nargs="+", default=[1_000, 10_000, 100_000])
    print(f"{'':13} {'hosts':>8} {'push us':>8} {'pop us':>8} {'bytes/host':>10}")
    for hosts in parser.parse_args().sizes:
        for polite in (False, True):
            context = multiprocessing.get_context("spawn")
            with context.Pool(1) as pool:
                push, pop, size = pool.apply(measure, (hosts, polite))
            name = name_of(polite)
            print(f"{name:13} {hosts:8} {push * MICRO:8.1f} {pop * MICRO:8.1f} {size:10.0f}")


if __name__ == "__main__":
    main()
