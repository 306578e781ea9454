"""While it runs: a line a minute in the log, a progress bar, and the telnet variable ``polite``.

The line has the interval of Scrapy's LogStats (LOGSTATS_INTERVAL; 0 for none).  The bar is there
when the log goes to a file, stderr is a terminal and rich is installed.  In the telnet console,
``polite`` shows how the crawl stands and ``polite.why("https://…")`` why a URL waits.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from scrapy import signals
from scrapy.exceptions import NotConfigured
from scrapy.extensions.telnet import update_telnet_vars
from scrapy.utils.asyncio import create_looping_call

from scrapy_polite import config
from scrapy_polite import signals as our_signals
from scrapy_polite.frontier.hosts import NEVER
from scrapy_polite.policy.host import BLOCKED, Outcome
from scrapy_polite.policy.origin import origin_of
from scrapy_polite.report import bar
from scrapy_polite.report.progress import Overview, Paces, Queued, Standing, overview
from scrapy_polite.report.words import span
from scrapy_polite.runtime.runtime import Runtime

if TYPE_CHECKING:
    from collections.abc import Iterator

    from scrapy.crawler import Crawler
    from scrapy.utils.asyncio import AsyncioLoopingCall
    from twisted.internet.task import LoopingCall

    from scrapy_polite.runtime.leases import TurnEnded

logger = logging.getLogger(__name__)
BAR_INTERVAL = 1.0  # seconds
FORGET_INTERVAL = 60.0  # seconds; where no line is wanted


class PoliteProgress:
    """Tells how a crawl stands, and why."""

    def __init__(self, crawler: Crawler) -> None:
        if not config.is_enabled(crawler.settings):
            raise NotConfigured
        self._crawler = crawler
        runtime = self._runtime = Runtime.of(crawler)
        self._interval = crawler.settings.getfloat("LOGSTATS_INTERVAL")
        self._places = crawler.settings.getint("CONCURRENT_REQUESTS")
        self._pages = 0
        self._paces = Paces()
        self._waits: dict[str, tuple[str, float]] = {}  # host key -> why it waits, after how long
        self._blocked: dict[str, tuple[float, str]] = {}  # host key -> until when, and why
        self._calls: list[AsyncioLoopingCall | LoopingCall] = []
        self._bar: bar.Bar | None = None
        runtime.turns.subscribers.append(self._turn_ended)
        connect = crawler.signals.connect
        connect(self._host_blocked, our_signals.polite_host_blocked)
        connect(self._opened, signals.spider_opened)
        connect(self._closed, signals.spider_closed)
        connect(self._telnet_vars, update_telnet_vars)

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> PoliteProgress:
        """Make one as Scrapy does."""
        return cls(crawler)

    def overview(self) -> Overview:
        """Return how the crawl stands right now."""
        return overview(self._pages, self._queued(), self._paces, self._places)

    def why(self, url: str) -> str:
        """Return in a sentence why a URL is not fetched right now."""
        host, now = self._runtime.lanes.group(url), self._runtime.clock()
        if host is None:
            return f"{url}: no host's clock is for it"
        queued = next((item for item in self._queued() if item.host == host), None)
        reason = "nothing was fetched from it yet"
        if host in self._waits:
            part, duration = self._waits[host]
            reason = f"{part}, after a fetch of {span(duration)}"
        words = {
            None: "no request for it is queued, its turn would come",
            Standing.FETCHING: "a request of it is in flight, and there is one at a time",
            Standing.READY: "its turn has come, a free place is awaited",
            Standing.WAITING: f"it is left alone: {reason}",
            Standing.BLOCKED: f"it is left alone: {self._blocked.get(host, (0, ''))[1]}",
            Standing.PARKED: "it is parked and not asked again in this run",
        }[queued.standing if queued else None]
        due = f", for another {span(queued.due_in)}" if queued and 0 < queued.due_in < 1e9 else ""
        left = queued.requests if queued else 0
        robots = self._runtime.robots.verdicts.standing(origin_of(url) or "", now).value
        return f"{host}: {words}{due}; requests queued: {left}; robots.txt: {robots}"

    # what is known of hosts

    def _queued(self) -> Iterator[Queued]:
        frontier, now = self._runtime.turns.frontier, self._runtime.clock()
        for host, ready_at, taken, requests in list(frontier.overview()):
            is_wanted = taken or frontier.want(host, now)[0] is not None
            if requests or is_wanted:
                due_in = max(ready_at - now, 0.0)
                if not (taken or is_wanted or due_in):  # its pages wait for their robots.txt
                    held_for = frontier.closed_until_at(host) - now
                    due_in = held_for if 0.0 < held_for < NEVER else 0.0
                standing = self._standing(host, due_in, taken=taken, is_wanted=is_wanted)
                yield Queued(host, standing, due_in, requests)

    def _standing(self, host: str, due_in: float, *, taken: bool, is_wanted: bool) -> Standing:
        if host in self._runtime.turns.parked:
            return Standing.PARKED
        if taken:
            return Standing.FETCHING
        if due_in > 0:
            until_at, _ = self._blocked.get(host, (0.0, ""))
            return Standing.BLOCKED if until_at > self._runtime.clock() else Standing.WAITING
        # Ready by the clock, but its robots.txt may be on its way.
        return Standing.READY if is_wanted else Standing.WAITING

    def _turn_ended(self, ended: TurnEnded) -> None:
        host, turn = ended.lease.host, ended.turn
        is_page = not self._runtime.robots.is_robots(ended.request)
        self._pages += is_page and ended.response is not None and ended.outcome != Outcome.REFUSED
        if turn.reason != BLOCKED:
            self._paces.add(host, ended.duration, turn.wait)
        self._waits[host] = turn.reason, ended.duration

    def _host_blocked(self, host: str, seconds: float, reason: str) -> None:
        self._blocked[host] = self._runtime.clock() + seconds, reason

    def _forget(self) -> None:
        """Keep only what is known of hosts with requests."""
        known = {host for host, _, _, _ in self._runtime.turns.frontier.overview()}
        self._paces.keep(known)
        self._waits = {host: why for host, why in self._waits.items() if host in known}
        self._blocked = {host: block for host, block in self._blocked.items() if host in known}

    # line, bar and console

    def _opened(self) -> None:
        if self._interval > 0:
            self._every(self._interval, self._log)
        else:
            self._every(FORGET_INTERVAL, self._forget)
        if self._crawler.settings.get("LOG_FILE") and bar.is_possible():
            self._bar = bar.Bar()
            self._every(BAR_INTERVAL, self._draw)

    def _every(self, seconds: float, call: Any) -> None:
        looping = create_looping_call(call)
        looping.start(seconds, now=False)
        self._calls.append(looping)

    def _log(self) -> None:
        self._forget()
        logger.info("%s", self.overview(), extra={"spider": self._crawler.spider})

    def _draw(self) -> None:
        if self._bar is not None:
            self._bar.show(self.overview())

    def _closed(self) -> None:
        for looping in self._calls:
            if looping.running:
                looping.stop()
        self._draw()
        if self._bar is not None:
            self._bar.close()

    def _telnet_vars(self, telnet_vars: dict[str, Any]) -> None:
        telnet_vars["polite"] = Console(self)


class Console:
    """What the telnet console has as ``polite``."""

    def __init__(self, progress: PoliteProgress) -> None:
        self._progress = progress

    def __repr__(self) -> str:
        return str(self._progress.overview())

    def why(self, url: str) -> str:
        """Return why a URL is not fetched right now."""
        return self._progress.why(url)
