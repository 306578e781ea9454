"""Work that a stop or a parked host leaves undone: counted, named, and kept for the next run.

A page sets work off: files of its items, downloads that a callback, a pipeline or a middleware
awaits.  What of it is sent away at the gate is not fetched in this run.  Then

- the page stays where the next run finds it, if it came from a queue that can keep it (JOBDIR, a
  shared queue), and is fetched again;
- what comes of it is withheld: an item that lacks something is dropped, before the next pipeline
  sees it; what a callback yields that did not get what it asked for goes nowhere;
- a page that nothing keeps goes on with what there is, and a warning counts and names the rest.

Which page some work is for is known from the context that it runs in, which tasks and coroutines
inherit.  Work that pages share fails for all of them; who only waited for it knows by the error.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TYPE_CHECKING

from scrapy import signals

from scrapy_polite import stats
from scrapy_polite.engine.work import watch_work
from scrapy_polite.exceptions import CrawlStopping, HostParked, ItemWithheld
from scrapy_polite.runtime.lanes import ROBOTS_META
from scrapy_polite.runtime.telling import one_line, shown

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.crawler import Crawler

logger = logging.getLogger(__name__)
_NAMED = 10  # URLs
_CHAIN = 20  # causes of an error that are looked at
_WHY = "the crawl stopped, or their host is parked"


@dataclass(slots=True, eq=False)
class _Work:
    """What is done for a page, or for one of its items; *page* is None where there is none."""

    page: Request | None = None
    lacks: bool = False


_work: ContextVar[_Work | None] = ContextVar("scrapy_polite_work", default=None)


class Undone:
    """What one crawl leaves undone; see the rules above.

    Args:
        host_of: returns the host key of a URL.
    """

    def __init__(self, crawler: Crawler, host_of: Callable[[str], str | None]) -> None:
        self._crawler, self._count = crawler, crawler.stats.inc_value
        self._host_of = host_of
        self.keepers: list[Callable[[Request], bool]] = []  # whether a queue can keep a page
        self._kept: set[Request] = set()  # pages that are not done with yet
        self._pages_kept = 0
        self._at_hosts: Counter[str] = Counter()
        self._named: dict[bool, list[str]] = {True: [], False: []}  # by whether their page is kept
        self._sent_away: Counter[bool] = Counter()
        crawler.signals.connect(self._tell, signals.spider_closed)

    def watch(self) -> None:
        """Begin to see which page work is for."""
        watch_work(self._crawler, self)

    def at_host(self, host: str) -> int:
        """Return how many requests of a host were sent away, those of queued pages not counted."""
        return self._at_hosts[host]

    def is_kept(self, page: Request) -> bool:
        """Return whether a page is to be fetched again by the next run; to be asked once."""
        if page not in self._kept:
            return False
        self._kept.discard(page)
        return True

    @staticmethod
    def between_pages() -> None:
        """What begins now is for no page that is being scraped, though it was one's end that led on
        to it."""
        _work.set(None)

    # what happens

    def sent_away(self, request: Request, error: Exception) -> None:
        """A request did not go out; only some errors mean that it was sent away."""
        if not isinstance(error, (CrawlStopping, HostParked)) or ROBOTS_META in request.meta:
            return
        is_page = self._can_keep(request)
        work = _Work(request) if is_page else _work.get() or _Work()
        kept = self._lacks(work)
        self._sent_away[kept] += 1
        if host := self._host_of(request.url):
            self._at_hosts[host] += 1
        if not kept:
            self._count(stats.UNDONE_LOST)
        if len(names := self._named[kept]) < _NAMED:
            of = "" if is_page or work.page is None else f" (of {shown(work.page.url)})"
            names.append(one_line(shown(request.url) + of))

    def begins(self, page: Request) -> None:
        """What came of a page is scraped, in this context."""
        _work.set(_Work(page, lacks=page in self._kept))

    def goes_on(self) -> bool:
        """Return whether what a page's callback yields is to go on."""
        work = _work.get()
        if work is None or not self._is_withheld(work):
            return True
        self._count(stats.UNDONE_WITHHELD)
        return False

    @contextmanager
    def item(self) -> Iterator[None]:
        """An item goes through the pipelines.

        Raises:
            ItemWithheld: it lacks something, and the next run makes it whole.
        """
        page = _work.get()
        token = _work.set(_Work(page.page if page is not None else None))
        try:
            yield
            self.passed()
        except ItemWithheld:
            self._count(stats.UNDONE_WITHHELD)
            raise
        except Exception as error:
            if self.is_known(error):
                self._count(stats.UNDONE_WITHHELD)
                raise ItemWithheld from error
            raise
        finally:
            _work.reset(token)

    def passed(self, error: BaseException | None = None) -> None:
        """An item was in a pipeline, which did without what came to this error.

        Raises:
            ItemWithheld: as above.
        """
        work = _work.get()
        if error is not None:
            self.is_known(error)
        if work is not None and self._is_withheld(work):
            raise ItemWithheld

    def is_known(self, error: BaseException, page: Request | None = None) -> bool:
        """Return whether an error came of a request that was sent away, and its page is kept.

        Args:
            page: whose callback raised it; None for what is done in this context.
        """
        work = _Work(page) if page is not None else _work.get()
        return work is not None and _came_of(error) and self._lacks(work)

    # pages

    def _lacks(self, work: _Work) -> bool:
        """Some work does not get what it asked for; return whether its page is kept."""
        work.lacks = True
        page = work.page
        if page is None or not self._can_keep(page):
            return False
        if page not in self._kept:
            self._kept.add(page)
            self._pages_kept += 1
            self._count(stats.UNDONE_PAGES)
        return True

    def _can_keep(self, page: Request) -> bool:
        return any(can_keep(page) for can_keep in self.keepers)

    def _is_withheld(self, work: _Work) -> bool:
        return work.lacks and work.page in self._kept

    def _tell(self) -> None:
        if self._pages_kept:
            logger.info(
                "Pages kept for the next run: %d, for requests of theirs were not sent: %s",
                self._pages_kept,
                self._listed(True),
            )
        if self._sent_away[False]:
            logger.warning(
                "Not fetched, for %s, and nothing keeps their pages for a next run: %s",
                _WHY,
                self._listed(False),
            )

    def _listed(self, kept: bool) -> str:
        names, count = self._named[kept], self._sent_away[kept]
        more = f", and {count - len(names):,} more" if count > len(names) else ""
        return f"{count:,} requests: {', '.join(names)}{more}"


def _came_of(error: BaseException | None) -> bool:
    for _ in range(_CHAIN):
        if error is None or isinstance(error, (CrawlStopping, HostParked)):
            break
        error = error.__cause__ or error.__context__
    return isinstance(error, (CrawlStopping, HostParked))
