"""The event log (POLITE_TIMELINE): listens to everything that happens to hosts and writes it down.

What it writes is in `report.schema`, how in `report.writer`.  It changes nothing: a crawl with it
sends the same requests at the same times.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy import signals
from scrapy.exceptions import IgnoreRequest, NotConfigured
from scrapy.http.request import NO_CALLBACK
from scrapy.utils.asyncio import create_looping_call

from scrapy_polite import config
from scrapy_polite import signals as our_signals
from scrapy_polite.exceptions import (
    CrawlStopping,
    HostParked,
    PurposeDisallowed,
    RobotsUnreachable,
)
from scrapy_polite.policy.host import Outcome
from scrapy_polite.policy.origin import origin_of, robots_url
from scrapy_polite.policy.robots_cache import Standing
from scrapy_polite.report import schema
from scrapy_polite.report.schema import cut
from scrapy_polite.report.writer import FLUSH_INTERVAL, LogWriter
from scrapy_polite.robots.parser import Rfc9309RobotParser
from scrapy_polite.robots.problems import find_problems
from scrapy_polite.runtime.runtime import Runtime
from scrapy_polite.runtime.telling import shown

if TYPE_CHECKING:
    from scrapy import Request, Spider
    from scrapy.crawler import Crawler

    from scrapy_polite.policy.robots_cache import RobotsRecord
    from scrapy_polite.runtime.leases import TurnEnded

PROBLEMS_LISTED = 3  # of one robots.txt
PROBLEMS_BYTES = 1 << 16  # in larger files nobody looks for problems during a crawl
_FORBIDDEN = "Forbidden by robots.txt"  # what Scrapy's middleware and ours raise
_VERDICTS = {
    Standing.ALLOWED: schema.ALLOWED,
    Standing.DISALLOWED: schema.DISALLOWED,
    Standing.UNREACHABLE: schema.DISALLOWED,
}
_REASONS: tuple[tuple[type[Exception], str], ...] = (
    (RobotsUnreachable, schema.UNREACHABLE),
    (HostParked, schema.PARKED),
    (CrawlStopping, schema.LEFT),
)


class PoliteTimeline:
    """Writes the event log of a crawl."""

    def __init__(self, crawler: Crawler) -> None:
        if not config.is_enabled(crawler.settings):
            raise NotConfigured
        runtime = self._runtime = Runtime.of(crawler)
        where = runtime.report_paths()
        if where is None:
            raise NotConfigured
        try:
            self._log = LogWriter(where.log, append=where.appends)
        except BlockingIOError:
            raise NotConfigured(
                f"{where.log} is the event log of another crawl that runs, so this one has no log "
                "and no report: write %(name)s into POLITE_REPORT and POLITE_TIMELINE, where the "
                "spiders' names tell their files apart"
            ) from None
        except OSError as error:
            raise ValueError(
                f"The event log {where.log} cannot be written: {error.strerror}."
            ) from None
        runtime.event_log = where.log
        self._verdicts = runtime.robots.verdicts
        self._identity = runtime.config.identity
        self._agent = self._identity.user_agent.encode("latin-1", "replace")
        sender = self._identity.from_address
        self._sender = sender.encode("latin-1", "replace") if sender else None
        self._flushing = create_looping_call(self._log.flush)
        self._zero = 0.0  # of our monotonic clock; instants of the log are seconds since
        runtime.turns.subscribers.append(self._turn_ended)
        runtime.turns.turned_away.append(self._dropped)
        runtime.robots.files.subscribers.append(self._robots_read)
        connect = crawler.signals.connect
        connect(self._opened, signals.spider_opened)
        connect(self._closed, signals.spider_closed)
        connect(self._blocked, our_signals.polite_host_blocked)
        connect(self._released, our_signals.polite_host_released)
        connect(self._parked, our_signals.polite_host_parked)

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> PoliteTimeline:
        """Make one as Scrapy does."""
        return cls(crawler)

    def _now(self) -> float:
        return self._since(self._runtime.clock())

    def _since(self, instant: float) -> float:
        return round(instant - self._zero, 6)

    # the run

    def _opened(self, spider: Spider) -> None:
        self._zero, rules = self._runtime.clock(), self._runtime.config.rules.delay
        self._log.write(
            schema.Began(
                at=0.0,
                began_at=self._runtime.wall(),
                spider=spider.name,
                user_agent=self._identity.user_agent,
                from_address=self._identity.from_address,
                factor=rules.factor,
                ceiling=rules.ceiling,
                obeys=self._runtime.config.obey_robots,
                resumes=self._log.resumes,
                format=schema.FORMAT,
                version=schema.VERSION,
            )
        )
        self._flushing.start(FLUSH_INTERVAL)

    def _closed(self, reason: str) -> None:
        if self._flushing.running:
            self._flushing.stop()
        now = self._now()
        for host, _, _, queued in self._runtime.turns.frontier.overview():
            if queued:
                self._log.write(schema.Remains(now, host, queued))
        self._log.write(schema.Ended(now, reason))
        self._log.close()

    # fetches and waits

    def _turn_ended(self, ended: TurnEnded) -> None:
        if ended.nameless:
            return  # nobody was asked
        # What may change is looked at now; the rest is cheaper at the flush.  Answers are not kept.
        response = ended.response
        status = None if response is None else response.status
        asked = ended.retry_after if ended.outcome is Outcome.REFUSED else None
        end_at = ended.began_at + ended.duration
        request, host, outcome = ended.request, ended.lease.host, ended.outcome.value
        agent, sender = self._sent(request)
        started, turn = ended.began_at, ended.turn
        verdict = self._verdict(request)  # another one may be known by the flush

        def fetched() -> schema.Fetched:
            return schema.Fetched(
                at=self._since(end_at),
                host=host,
                url=cut(shown(request.url)),
                start_at=self._since(started),
                what=self._what(request),
                status=status,
                outcome=outcome,
                retry_after=asked,
                verdict=verdict,
                user_agent=agent,
                from_address=sender,
                until_at=self._since(end_at + turn.wait),
                reason=turn.reason,
                capped=turn.capped,
            )

        self._log.write_later(fetched)

    def _what(self, request: Request) -> str:
        if self._runtime.robots.is_robots(request):
            return schema.ROBOTS
        return schema.MEDIA if request.callback is NO_CALLBACK else schema.PAGE

    def _sent(self, request: Request) -> tuple[str | None, str | None]:
        """Return the User-Agent and From that were sent, None where they are the crawl's own."""
        agent, sender = request.headers.get("User-Agent"), request.headers.get("From")
        return (
            None if agent == self._agent else cut((agent or b"").decode("latin-1")),
            None if sender == self._sender else cut((sender or b"").decode("latin-1")),
        )

    def _verdict(self, request: Request) -> str | None:
        """Return what the robots.txt on hand says of a page, None when there is none to ask."""
        url, origin = request.url, origin_of(request.url)
        if origin is None or self._runtime.robots.is_robots(request):
            return None
        if url.endswith("/robots.txt") and url == robots_url(origin):
            return schema.ALLOWED
        standing = self._verdicts.standing(origin, self._runtime.clock())
        parser = self._verdicts.parser(origin) if standing is Standing.RULES else None
        if parser is None:
            return _VERDICTS.get(standing)
        allowed = parser.allowed(url, self._identity.product_token)
        return schema.ALLOWED if allowed else schema.DISALLOWED

    def _dropped(self, request: Request, exception: Exception) -> None:
        reason = next((name for kind, name in _REASONS if isinstance(exception, kind)), None)
        if isinstance(exception, PurposeDisallowed):
            reason = schema.UNWANTED if exception.was_fetched else schema.PURPOSE
        elif reason is None and isinstance(exception, IgnoreRequest):
            reason = schema.DISALLOWED if str(exception).startswith(_FORBIDDEN) else None
        host = self._runtime.lanes.group(request.url)
        if reason and host and not self._runtime.robots.is_robots(request):
            self._log.write(schema.Dropped(self._now(), host, cut(shown(request.url)), reason))

    # hosts and robots.txt

    def _blocked(self, host: str, seconds: float, reason: str, status: int | None) -> None:
        now = self._now()
        self._log.write(schema.Blocked(now, host, round(now + seconds, 6), cut(reason), status))

    def _released(self, host: str) -> None:
        self._log.write(schema.Released(self._now(), host))

    def _parked(self, host: str, seconds: float, reason: str) -> None:
        now = self._now()
        self._log.write(schema.Parked(now, host, round(now + seconds, 6), cut(reason)))

    def _robots_read(self, origin: str, host: str, record: RobotsRecord) -> None:
        clock, parser = self._runtime.clock(), self._verdicts.parser(origin)
        asked, problems = self._in_file(parser)
        self._log.write(
            schema.RobotsRead(
                at=self._since(clock),
                host=host,
                origin=origin,
                access=record.access.value,
                standing=self._verdicts.standing(origin, clock).value,
                until_at=self._since(record.fresh_until_at),
                answered_at=None if record.answered_at is None else self._since(record.answered_at),
                status=record.status,
                crawl_delay=self._verdicts.entry(origin, host, clock).crawl_delay,
                asked_delay=asked,
                problems=problems[:PROBLEMS_LISTED],
                problem_count=len(problems),
            )
        )

    def _in_file(self, parser: object) -> tuple[float, tuple[str, ...]]:
        """Return the Crawl-delay that a file asks for, and its problems; of our parser only."""
        if not isinstance(parser, Rfc9309RobotParser):
            return 0.0, ()
        asked = parser.crawl_delay(self._identity.product_token) or 0.0
        file, limit = parser.rules.file, self._runtime.config.crawl_delay_max
        if len(file.octets) > PROBLEMS_BYTES:
            return asked, ()
        return asked, tuple(map(str, find_problems(file, crawl_delay_max=limit)))
