"""A visit to a site: its robots.txt, and a look at pages that it allows.

Rules:

- The fetch is a crawl's own (`runtime.robots_fetch`) in a crawl of no more than that, so that hops,
  statuses, decoding and identity are the very same.
- POLITE_ROBOTS_TIMEOUT bounds the seconds on the wire; a turn that does not come within as many
  seconds more is not waited for.
- A page waits for what the file asks, and is left alone when that is longer than the timeout.
"""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from typing import Any

from scrapy import Request, Spider, signals
from scrapy.http import Response

from scrapy_polite.commands.robots.look import Look, Looker
from scrapy_polite.commands.robots.patience import Patience
from scrapy_polite.commands.robots.question import Question
from scrapy_polite.commands.robots.reading import Reading
from scrapy_polite.commands.robots.trouble import PATIENCE, NoTurn
from scrapy_polite.config import Config
from scrapy_polite.exceptions import CrawlStopping
from scrapy_polite.policy.robots_access import Access
from scrapy_polite.runtime import robots_fetch
from scrapy_polite.runtime.lanes import ROBOTS_META
from scrapy_polite.runtime.robots_answer import Answer
from scrapy_polite.runtime.runtime import Runtime


@dataclass(slots=True)
class Hop:
    """One request of a robots.txt fetch; *status* is None until it is answered."""

    url: str
    status: int | None = None


@dataclass(frozen=True, slots=True)
class Visit:
    """What a site answered.

    Attributes:
        seconds: on the wire for robots.txt, all hops together.
        looks: by the URL of the page; pages that nobody tried to look at are not in it.
    """

    answer: Answer
    hops: tuple[Hop, ...]
    seconds: float
    reading: Reading
    looks: dict[str, Look] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Errand:
    """What a visit is for.

    Attributes:
        token: whom the rules are read for.
        looks: whether pages are looked at, those that are named and allowed.
        say: called with what is being done, in one line.
    """

    question: Question
    token: str
    config: Config
    looks: bool
    say: Callable[[str], object]


class Visitor(Spider):
    """Runs one errand.

    Args:
        done: called with the visit.
    """

    name = "robots"

    def __init__(self, errand: Errand, done: Callable[[Visit], object]) -> None:
        super().__init__()
        self._errand = errand
        self._done = done
        self._hops: dict[Request, Hop] = {}

    async def start(self) -> AsyncIterator[Any]:
        """Go; there is nothing to crawl."""
        connect, config = self.crawler.signals.connect, self._errand.config
        connect(self._asked, signals.request_reached_downloader)
        connect(self._answered, signals.response_received)
        patience = Patience(self.crawler, PATIENCE * config.robots_timeout)
        visit = await self._robots(patience)
        if self._errand.looks:
            token = self._errand.token
            await self._pages(visit, Looker(self.crawler, token, config.robots_timeout, patience))
        self._done(visit)
        return
        yield

    async def _robots(self, patience: Patience) -> Visit:
        errand, config, origin = self._errand, self._errand.config, self._errand.question.origin
        assert origin is not None
        errand.say(f"Fetching {errand.question.source} as {config.identity.user_agent}")
        try:
            with patience.wait():
                answer = await robots_fetch.fetch(
                    self.crawler,
                    None,
                    origin,
                    timeout=config.robots_timeout,
                    forbidden=config.robots_forbidden,
                    begin=lambda request: None,  # it waits for its turn at the gate
                )
        except (CrawlStopping, NoTurn) as error:
            answer = Answer(Access.UNREACHABLE, error=error)
        reading = Reading.of_answer(answer, origin, errand.token, config, wall=time.time())
        seconds = sum(asked.meta.get("polite", {}).get("duration", 0.0) for asked in self._hops)
        return Visit(answer, tuple(self._hops.values()), seconds, reading)

    async def _pages(self, visit: Visit, looker: Looker) -> None:
        config = self._errand.config
        wait = min(visit.reading.crawl_delay() or 0.0, config.crawl_delay_max)
        self._hear(wait)
        for page in self._errand.question.pages:
            if page.url in visit.looks or not page.named:
                continue
            if not visit.reading.ruling(page.url).allowed:
                continue
            if wait > config.robots_timeout:
                why_not = f"its Crawl-delay of {wait:g} s is too long to wait for here"
                visit.looks[page.url] = Look(why_not=why_not)
                continue
            self._errand.say(f"Waiting for the turn of {page.url}, to look for noindex")
            visit.looks[page.url] = await looker.look(page.url)

    def _hear(self, crawl_delay: float) -> None:
        """Have the host left alone for that many seconds from now, and after each fetch."""
        runtime, origin = Runtime.of(self.crawler), self._errand.question.origin or ""
        host, verdicts = runtime.lanes.host_of(origin), runtime.robots.verdicts
        entry = verdicts.entry(origin, host, runtime.clock())
        verdicts.hear_crawl_delay(origin, entry, crawl_delay)
        runtime.turns.pump.push_back(host, crawl_delay)

    def _asked(self, request: Request) -> None:
        if ROBOTS_META in request.meta:
            self._hops[request] = Hop(request.url)

    def _answered(self, response: Response, request: Request) -> None:
        if request in self._hops:
            self._hops[request].status = response.status
