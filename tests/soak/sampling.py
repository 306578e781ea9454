"""What a crawl's process holds: objects, memory, timers, files; sampled while it runs."""

from __future__ import annotations

import asyncio
import gc
import importlib
import os
from collections import Counter
from pathlib import Path
from typing import Any

from scrapy import signals
from scrapy.crawler import Crawler
from scrapy.utils.asyncio import create_looping_call
from scrapy.utils.reactor import is_reactor_installed

PROC = Path("/proc/self")  # only Linux has it
OURS = "scrapy_polite."
OTHERS = (  # named as the garbage collector sees them
    "scrapy.http.request.Request",
    "scrapy.http.response.html.HtmlResponse",
    "twisted.internet.defer.Deferred",
    "twisted.python.failure.Failure",
    "_asyncio.Task",
    "_asyncio.Future",
    "builtins.coroutine",
)
"""Classes of others whose objects carry our work."""


class Sampler:
    """An extension that looks at its process every SOAK_EVERY seconds; see `samples`."""

    def __init__(self, crawler: Crawler) -> None:
        self.samples: list[dict[str, Any]] = []
        self._crawler = crawler
        self._looping = create_looping_call(self._sample)
        crawler.signals.connect(self._opened, signals.spider_opened)
        crawler.signals.connect(self._closed, signals.spider_closed)

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Sampler:
        return cls(crawler)

    def _opened(self) -> None:
        self._began_at = asyncio.get_event_loop().time()
        self._looping.start(self._crawler.settings.getfloat("SOAK_EVERY"), now=False)

    def _closed(self) -> None:
        self._looping.stop()

    def _sample(self) -> None:
        gc.collect()
        assert self._crawler.stats is not None
        self.samples.append(
            {
                "at": round(asyncio.get_event_loop().time() - self._began_at, 1),
                "requests": self._crawler.stats.get_value("downloader/request_count", 0),
                "rss": rss(),
                "files": len(list((PROC / "fd").iterdir())),
                "timers": len(timer_list()),
                "all": len(gc.get_objects()),
                **objects(),
            }
        )


def objects() -> dict[str, int]:
    """Return how many objects there are of each class that counts here."""
    found: dict[str, int] = {}
    for kind, number in Counter(map(type, gc.get_objects())).items():
        name = f"{kind.__module__}.{kind.__qualname__}"
        if name.startswith(OURS) or name in OTHERS:
            found[name] = number
    return found


def timer_list() -> list[Any]:
    """Return the timers that wait in the reactor, or without one in the asyncio loop."""
    if is_reactor_installed():
        reactor: Any = importlib.import_module("twisted.internet.reactor")
        return list(reactor.getDelayedCalls())
    waiting = asyncio.get_event_loop()._scheduled  # type: ignore[attr-defined]
    return [timer for timer in waiting if not timer.cancelled()]


def tasks() -> list[str]:
    """Return what the asyncio loop has left to do beside the task that asks."""
    loop = asyncio.get_event_loop()
    own = asyncio.current_task(loop)
    return [repr(task) for task in asyncio.all_tasks(loop) if task is not own]


def rss() -> int:
    """Return the memory of this process in octets."""
    pages = int((PROC / "statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")
