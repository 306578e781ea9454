"""The robots.txt files of one crawl: fetched on a host's turn, parsed, stored, and heard.

There is one fetch per origin at a time, and so many at once.  What goes wrong on the way counts as
unreachable: wait, never go.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import TYPE_CHECKING

from scrapy import Request, signals
from scrapy.utils.misc import build_from_crawler, load_object

from scrapy_polite import engine, stats
from scrapy_polite.config import Config
from scrapy_polite.exceptions import CrawlStopping
from scrapy_polite.policy import robots_cache as cache
from scrapy_polite.policy.origin import robots_url
from scrapy_polite.policy.robots_access import Access
from scrapy_polite.policy.robots_cache import RobotsRecord, Standing
from scrapy_polite.robots.parser import Rfc9309RobotParser
from scrapy_polite.runtime import nobody, robots_fetch
from scrapy_polite.runtime.robots_answer import Answer, record_of
from scrapy_polite.runtime.telling import one_line
from scrapy_polite.runtime.verdicts import Entry, Verdicts
from scrapy_polite.runtime.wire import tell
from scrapy_polite.state.protocol import Lease, PolitenessStore, StoreUnavailable

if TYPE_CHECKING:
    from scrapy.crawler import Crawler
    from scrapy.robotstxt import RobotParser

    from scrapy_polite.runtime.turns import Turns

logger = logging.getLogger(__name__)
_PARSED = getattr(signals, "robots_parsed", None)  # Scrapy before 2.17 has no such signal


class _Borrowed:
    """A turn that is for a robots.txt, until a request has it; else it goes back."""

    def __init__(self, lease: Lease, turns: Turns) -> None:
        self._lease: Lease | None = lease
        self._turns = turns

    def lend(self, request: Request) -> None:
        """A request takes it."""
        lease, self._lease = self._lease, None
        if lease is not None:
            self._turns.lend(request, lease)

    def give_back(self) -> None:
        """Nobody will take it any more."""
        lease, self._lease = self._lease, None
        if lease is not None:
            self._turns.pump.give_back(lease)


class RobotsFiles:
    """Fetches and parses files; see above.

    Args:
        changed: called with (origin, host key) after each attempt.
    """

    turns: Turns

    def __init__(
        self,
        crawler: Crawler,
        config: Config,
        verdicts: Verdicts,
        store: PolitenessStore,
        *,
        changed: Callable[[str, str], None],
        clock: Callable[[], float],
        wall: Callable[[], float],
    ) -> None:
        self._crawler = crawler
        self._config = config
        self._verdicts = verdicts
        self._store = store
        self._changed = changed
        self._clock = clock
        self._wall = wall
        self._parser_class: type[RobotParser] = load_object(crawler.settings["ROBOTSTXT_PARSER"])
        self.subscribers: list[Callable[[str, str, RobotsRecord], None]] = []
        """Told of each record, with origin and host key."""
        self.next_page: Callable[[str], Request | None] = lambda origin: None
        """Tells which page of an origin is next in the queues."""
        self._fetching = 0
        settings = crawler.settings
        self._retries = settings.getint("RETRY_TIMES") if settings.getbool("RETRY_ENABLED") else 0

    def free_places(self) -> int:
        """Return how many more robots.txt fetches may be in flight."""
        return self._config.robots_concurrency - self._fetching

    def on_turn(self, origin: str, lease: Lease, page: Request | None = None) -> None:
        """A host's turn is for this origin's robots.txt, on behalf of a page (None: find one)."""
        entry = self._verdicts.entry(origin, lease.host, self._clock())
        page = page or next((request for request, _ in entry.waiting), None)
        page = page or self.next_page(origin)
        entry.fetching = True
        self._fetching += 1
        engine.spawn(self._refresh(origin, entry, lease, page))

    async def _refresh(self, origin: str, entry: Entry, lease: Lease, page: Request | None) -> None:
        turn = _Borrowed(lease, self.turns)
        try:
            await self._learn(origin, entry, turn, page)
        except CrawlStopping:
            pass
        except Exception:
            logger.exception("robots.txt of %s counts as unreachable", origin)
            now = self._clock()
            failed = cache.unreachable(entry.record, origin, now=now, status=None)
            self._adopt(origin, entry, failed)
        finally:
            turn.give_back()
            entry.fetching = False
            self._fetching -= 1
            self._changed(origin, entry.host)

    async def _learn(
        self, origin: str, entry: Entry, turn: _Borrowed, page: Request | None
    ) -> None:
        config = self._config
        known = await engine.wait_for(self._store.get_robots(origin))
        if known is not None:
            known = cache.bounded(known, self._clock(), config.ages)
        if known is not None and not cache.is_due(known, self._clock()):
            turn.give_back()  # another run or process asked already
            await self._use(origin, entry, known, None)
            return
        answer = await robots_fetch.fetch(
            self._crawler,
            known,
            origin,
            timeout=config.robots_timeout,
            forbidden=config.robots_forbidden,
            begin=turn.lend,
            page=page,
        )
        self._count(origin, answer)
        record = record_of(
            answer, origin, known, now=self._clock(), wall=self._wall(), ages=config.ages
        )
        record = cache.bounded(record, self._clock(), config.ages)
        if not self._is_nobody_there(origin, entry, record, answer):
            await self._use(origin, entry, record, answer)

    def _is_nobody_there(
        self, origin: str, entry: Entry, record: RobotsRecord, answer: Answer
    ) -> bool:
        """Return, and take note, whether nobody serves an origin of which no copy is at hand.

        The store is told nothing: there is no server that a later run could be a burden to.
        """
        error, now = answer.error, self._clock()
        is_held = cache.standing(record, now, self._config.ages) is Standing.UNREACHABLE
        if answer.hops or not is_held or not isinstance(error, Exception):
            return False
        if not nobody.is_absent(error):
            return False
        self._verdicts.found_nobody(entry, nobody.bare(error), now, self._retries)
        tell(self.subscribers, origin, entry.host, record)
        return True

    async def _use(
        self, origin: str, entry: Entry, record: RobotsRecord, answer: Answer | None
    ) -> None:
        """Take a record as the last word on an origin; its parser goes first, for it may fail."""
        if record.unreachable_since_at is None or record.access is Access.SUCCESSFUL:
            parser = self.parse(record.body)
            self._verdicts.keep_parser(origin, parser, len(record.body))
            self._hear_crawl_delay(origin, entry, parser, record.body)
            if answer is not None and answer.response is not None and _PARSED is not None:
                # After a redirect too, the rules are those of the origin first asked.
                await self._crawler.signals.send_catch_log_async(
                    signal=_PARSED, robotparser=parser, request=Request(robots_url(origin))
                )
        try:
            await engine.wait_for(self._store.put_robots(record))
        except StoreUnavailable as error:
            logger.error("robots.txt of %s was not stored: %s", origin, error)
        self._adopt(origin, entry, record)

    def _adopt(self, origin: str, entry: Entry, record: RobotsRecord) -> None:
        self._verdicts.adopt(origin, entry, record, self._clock())
        tell(self.subscribers, origin, entry.host, record)

    def _hear_crawl_delay(
        self, origin: str, entry: Entry, parser: RobotParser, body: bytes
    ) -> None:
        ask: Callable[[str], float | None] | None = getattr(parser, "crawl_delay", None)
        if ask is None:  # Scrapy's own parsers do not tell
            ask = Rfc9309RobotParser(body).crawl_delay
        token = self._config.identity.product_token
        asked = ask(token) or 0.0
        if asked != asked:  # a parser that takes "nan" for a number
            asked = Rfc9309RobotParser(body).crawl_delay(token) or 0.0
        limit = self._config.crawl_delay_max
        if asked > limit:
            logger.warning(
                "Crawl-delay of %s is %g s and is cut to %g s (POLITE_CRAWL_DELAY_MAX)",
                origin,
                asked,
                limit,
            )
        delay = min(max(asked, 0.0), limit)
        self._verdicts.hear_crawl_delay(origin, entry, delay)
        if delay:
            self.turns.pump.push_back(entry.host, delay)

    def parse(self, body: bytes) -> RobotParser:
        """Return the parser of a file's octets, of the class that ROBOTSTXT_PARSER names."""
        parser: RobotParser = build_from_crawler(self._parser_class, self._crawler, body)
        return parser

    def _count(self, origin: str, answer: Answer) -> None:
        count = self._crawler.stats.inc_value
        count("robotstxt/request_count")
        count(stats.ROBOTS_ACCESS.format(access=answer.access.value))
        if answer.status is not None:
            count("robotstxt/response_count")
            count(f"robotstxt/response_status_count/{answer.status}")
        elif answer.error is not None:
            count(f"robotstxt/exception_count/{type(answer.error)}")
        if answer.access is Access.UNREACHABLE:
            why = repr(answer.error) if answer.error is not None else f"status {answer.status}"
            logger.info("robots.txt of %s could not be read: %s", origin, one_line(why))
