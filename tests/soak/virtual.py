"""Half an hour in half a minute: a whole crawl on a clock that jumps.

The crawl is Scrapy's own with the pack in it: engine, scheduler, middlewares, downloader.  The
asyncio loop does not wait for its timers: when nothing else is to be done, its clock jumps to the
next one.  The download handler is a web of its own, which records requests as the real one does,
at exact instants.  State is in memory, for a thread would not know of the clock.

As a program, `python -m soak.virtual JOB.json RESULT.json`, it runs and judges a crawl.
"""

from __future__ import annotations

import asyncio
import json
import selectors
import sys
import time
from dataclasses import asdict
from itertools import count
from pathlib import Path
from typing import Any, ClassVar
from urllib.parse import urlsplit

from scrapy import Request, signals
from scrapy.core.downloader.handlers.base import BaseDownloadHandler
from scrapy.crawler import AsyncCrawlerRunner
from scrapy.exceptions import DownloadFailedError, DownloadTimeoutError, ResponseDataLossError
from scrapy.http import Headers, Response
from scrapy.responsetypes import responsetypes
from scrapy.utils.log import configure_logging

from harness import Answer, Arrival, Site
from harness.pages import Pages
from soak import sampling
from soak.books import Diary, differences, left, report_differences
from soak.crawling import SETTINGS, left_over, plain
from soak.growth import figures, growths
from soak.promises import breaches
from soak.spider import SoakSpider
from soak.weather import DARK, Weather

_STEP = 1e-6  # seconds that the loop needs for what is ready
PACE = 10  # seconds are cheap here: fewer fetches of a host, so more hosts


class JumpingSelector(selectors.DefaultSelector):
    """A selector that waits for nothing, but notes for how long it should have waited."""

    jumped = 0.0  # seconds

    def select(self, timeout: float | None = None) -> list[Any]:
        """Return what is ready; with nothing ready, the time is over at once."""
        ready = super().select(0 if timeout is not None else None)
        # Work takes its time too; a timer that is due in no time at all would never be past.
        self.jumped += _STEP if ready else max(timeout or 0.0, _STEP)
        return ready


class JumpingLoop(asyncio.SelectorEventLoop):
    """An asyncio loop whose clock jumps from timer to timer."""

    def __init__(self) -> None:
        self._jumping = JumpingSelector()
        super().__init__(self._jumping)

    def time(self) -> float:
        """Return the instant in seconds."""
        return 1e6 + self._jumping.jumped


class VirtualWeb:
    """Sites that are asked through `Handler`.

    Args:
        log: where the record of that is kept, for it is not to count as memory of the crawl.

    `dark` says from when to when nobody answers.
    """

    def __init__(self, log: Path) -> None:
        self.sites: dict[str, Site] = {}
        self._path, self._log = log, log.open("w", buffering=1)
        self._numbers = count(1)
        self.dark = (0.0, 0.0)

    def is_dark(self, now: float) -> bool:
        """Return whether nobody answers right now, for the crawl's own line is down."""
        return self.dark[0] <= now < self.dark[1]

    def site(self, pages: Pages) -> Site:
        """Start a site."""
        site = Site(f"h{next(self._numbers)}.test", 80, pages)
        self.sites[site.host] = site
        return site

    def arrivals(self) -> list[Arrival]:
        """Return what was recorded so far, in order of start."""
        log = (Arrival(**json.loads(line)) for line in self._path.read_text().splitlines())
        return sorted(log, key=lambda arrival: arrival.start_at)

    def record(self, arrival: Arrival) -> None:
        """Keep a request."""
        self._log.write(json.dumps(asdict(arrival)) + "\n")


class Handler(BaseDownloadHandler):
    """A download handler that asks a virtual web."""

    web: ClassVar[VirtualWeb]

    async def download_request(self, request: Request) -> Response:
        """Return what the web answers, in its time.

        Raises:
            DownloadTimeoutError: it did not answer in time.
            DownloadFailedError: it dropped the connection.
            ResponseDataLossError: its answer was not whole.
        """
        now = asyncio.get_running_loop().time
        parts, start_at = urlsplit(request.url), now()
        site = self.web.sites[parts.hostname or ""]
        headers = {k.decode().lower(): v[0].decode() for k, v in request.headers.items()}
        answer = site.answer(request.method, parts.path, headers)
        ended = "left"
        try:
            response = await self._answer(request, answer)
            ended = "answered"
        except DownloadFailedError:
            ended = DARK if self.web.is_dark(start_at) else "dropped"
            raise
        finally:
            status = None if ended != "answered" else answer.status
            self.web.record(
                Arrival(
                    site.host, 80, parts.path, "GET", start_at, now(), status, ended, headers, 1
                )
            )
        return response

    async def _answer(self, request: Request, answer: Answer) -> Response:
        timeout = request.meta["download_timeout"]
        if self.web.is_dark(asyncio.get_running_loop().time()):
            await asyncio.sleep(0.5)
            raise DownloadFailedError("nobody is there")
        if answer.hang:
            await asyncio.sleep(timeout)
            raise DownloadTimeoutError(f"{request.url} took longer than {timeout} s")
        await asyncio.sleep(answer.delay)
        if answer.drop:
            raise DownloadFailedError("dropped")
        head, body = answer.octets(urlsplit(request.url).path)
        lines = (line.split(": ", 1) for line in head.decode().split("\r\n")[1:] if line)
        headers = Headers({name: [value] for name, value in lines})
        told = {"request": request, "spider": self.crawler.spider}
        length = int(headers.get("Content-Length") or len(body))
        send = self.crawler.signals.send_catch_log
        send(signals.headers_received, headers=headers, body_length=length, **told)
        await asyncio.sleep(answer.body_delay)
        if length > len(body):
            raise ResponseDataLossError("the end is missing")
        send(signals.bytes_received, data=body, **told)
        kind = responsetypes.from_args(headers=headers, url=request.url, body=body)
        return kind(request.url, status=answer.status, headers=headers, body=body)


def crawl(folder: Path, seconds: float, hosts: int, seed: int) -> dict[str, Any]:
    """Crawl for so many seconds; return what is to be said of it, lists of faults for the most."""
    loop = JumpingLoop()
    asyncio.set_event_loop(loop)
    time.monotonic = loop.time
    Handler.web = web = VirtualWeb(folder / "record.jsonl")
    weather = Weather(web, hosts, seed, PACE)
    chains = [site.url("") for site in (*weather.sites, *weather.sites)]
    web.dark = loop.time() + seconds / 3, loop.time() + seconds / 2.7
    settings = {
        **SETTINGS,
        **weather.settings,
        "TWISTED_REACTOR_ENABLED": False,
        "DOWNLOAD_HANDLERS": {"http": Handler},
        "CLOSESPIDER_TIMEOUT": seconds,
        "SOAK_EVERY": seconds / 30,
        "POLITE_REPORT": str(folder / "report.json"),
    }
    configure_logging({"LOG_LEVEL": "INFO"})
    runner = AsyncCrawlerRunner(settings)
    crawler = runner.create_crawler(SoakSpider)
    arguments = {
        "chains": chains,
        "sites": [site.url("") for site in weather.good],
        "diary": str(folder / "diary.jsonl"),
        "seed": seed,
    }

    async def run() -> dict[str, Any]:
        await runner.crawl(crawler, **arguments)
        return left_over(crawler)

    over = loop.run_until_complete(run())
    sampler = crawler.get_extension(sampling.Sampler)
    assert sampler is not None and crawler.stats is not None
    seen, stats = weather.seen(), plain(crawler.stats.get_stats())
    return {
        "requests": len(seen),
        "samples": len(sampler.samples),
        "figures": figures(sampler.samples),
        "left over": over,
        "differences": differences(stats, seen, Diary.read(folder / "diary.jsonl")),
        "report": report_differences(folder / "report.json", seen),
        "breaches": breaches(seen, weather),
        "growths": growths(sampler.samples),
        "outages": stats.get("polite/outages", 0),
        "chains": len(chains) - left(stats),  # that were lost
    }


if __name__ == "__main__":
    job_file, result_file = map(Path, sys.argv[1:])
    result = crawl(result_file.parent, **json.loads(job_file.read_text()))
    result_file.write_text(json.dumps(result, indent=1))
