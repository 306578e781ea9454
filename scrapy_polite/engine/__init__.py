"""The one module that touches private names of Scrapy and Twisted.

Each function says which name it needs and why no public one serves.  When Scrapy changes, this is
where to look.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any, TypeVar

from scrapy import signals
from scrapy.exceptions import CloseSpider, DontCloseSpider
from scrapy.utils.defer import deferred_from_coro, maybe_deferred_to_future
from twisted.internet.defer import Deferred
from twisted.python.failure import Failure

if TYPE_CHECKING:
    from collections.abc import Coroutine

    from scrapy import Request, Spider
    from scrapy.core.downloader import Slot
    from scrapy.crawler import Crawler
    from scrapy.pqueues import ScrapyPriorityQueue

T = TypeVar("T")
logger = logging.getLogger(__name__)
_MANY = 1_000_000  # stands for "no limit" where Scrapy has one written as 0


def spawn(coroutine: Coroutine[Any, Any, Any]) -> None:
    """Run a coroutine in the background; what it raises is logged."""
    deferred_from_coro(coroutine).addErrback(_log_failure)


def _log_failure(failure: Failure) -> None:
    logger.error("Unexpected error in scrapy_polite", exc_info=failure.value)


async def wait_for(coroutine: Coroutine[Any, Any, T]) -> T:
    """Await a coroutine that awaits Deferreds, as those of a store do, from any other."""
    return await maybe_deferred_to_future(Deferred.fromCoroutine(coroutine))


def wake(crawler: Crawler) -> None:
    """Have the engine ask the scheduler again; there is no public way to say so.

    Private: ``ExecutionEngine._slot.nextcall``.
    """
    engine = _engine(crawler)
    if engine is not None and engine._slot is not None:
        engine._slot.nextcall.schedule()


def free_places(crawler: Crawler) -> int:
    """Return how many more requests may be in progress (CONCURRENT_REQUESTS).

    A downloader that is not ours counts waiting requests too, so they hold their places already and
    nothing has to be checked again.
    """
    engine = _engine(crawler)
    if engine is None:
        return 0
    downloader = engine.downloader
    idle = getattr(downloader, "idle", None)
    if idle is None or not downloader.total_concurrency:
        return _MANY
    return int(downloader.total_concurrency - len(downloader.active) + len(idle))


def idle_requests(crawler: Crawler) -> set[Request]:
    """Return the set of requests that hold no place; that of our downloader, else a lost one."""
    engine = _engine(crawler)
    idle: set[Request] | None = getattr(getattr(engine, "downloader", None), "idle", None)
    return set() if idle is None else idle


def has_our_downloader(crawler: Crawler) -> bool:
    """Return whether the downloader is one that says when requests are done."""
    return hasattr(getattr(_engine(crawler), "downloader", None), "idle")


def in_progress(crawler: Crawler, request: Request) -> bool:
    """Return whether the engine still works on a request.

    Private: ``ExecutionEngine._slot.inprogress``; no signal tells when a middleware answered.
    """
    engine = _engine(crawler)
    return bool(engine and engine._slot and request in engine._slot.inprogress)


def flush_seen(crawler: Crawler) -> None:
    """Have the dupe filter's file on disk; it is buffered, and a kill would forget what was seen.

    Private: ``ExecutionEngine._slot.scheduler`` (Scrapy before 2.19 has no public name for it).
    """
    engine = _engine(crawler)
    scheduler = engine._slot.scheduler if engine is not None and engine._slot else None
    file = getattr(getattr(scheduler, "df", None), "file", None)
    if file is not None:
        with suppress(OSError):  # on a full disk it stays in the buffer
            file.flush()


def refresh_priority(queue: ScrapyPriorityQueue) -> None:
    """Have a queue know its best priority; after the last request of one is out, it may not.

    While it has start requests Scrapy's `pop` leaves ``curprio`` as it was, and `peek` then fails.
    Private: ``ScrapyPriorityQueue._update_curprio``.
    """
    if queue.curprio not in queue.queues:
        queue._update_curprio()


def on_closing(crawler: Crawler, call: Callable[[], None]) -> None:
    """Call back as soon as the spider begins to close; no signal tells before it is over.

    Private: ``ExecutionEngine._slot.close``, which the engine calls first of all.
    """
    engine = _engine(crawler)
    slot = engine._slot if engine is not None else None
    if slot is None:
        return
    close: Callable[[], Awaitable[None]] = slot.close

    async def closing() -> None:
        call()
        await close()

    slot.close = closing


def is_at_terminal(crawler: Crawler) -> bool:
    """Return whether a command runs the crawl for somebody who waits for it: fetch, parse, shell.

    The shell starts an engine without a crawl; the others replace the spider's `start`.
    """
    start = getattr(crawler.spider, "start", None)
    return not crawler.crawling or getattr(start, "__module__", "").startswith("scrapy.commands.")


def is_closed(crawler: Crawler) -> bool:
    """Return whether the spider is closed; what the engine is asked for now fails for that reason.

    Private: ``ExecutionEngine._slot``.
    """
    engine = _engine(crawler)
    return engine is None or engine._slot is None


def is_idle_but_for_scheduler(crawler: Crawler) -> bool:
    """Return whether nothing is left to do but what the scheduler holds.

    Private: ``ExecutionEngine._start``; `spider_is_idle` counts the scheduler in.
    """
    engine = _engine(crawler)
    if engine is None or engine._slot is None or engine._slot.closing is not None:
        return False
    scraper_slot = engine.scraper.slot
    return (
        engine._start is None
        and not engine.downloader.active
        and scraper_slot is not None
        and scraper_slot.is_idle()
    )


def reason_to_close(crawler: Crawler, spider: Spider, reason: str) -> str | None:
    """Ask the spider_idle handlers, as the engine does, whether the spider may be closed.

    Returns:
        None when it is to stay open, else *reason*, or that of the last handler that raised
        CloseSpider.
    """
    results = crawler.signals.send_catch_log(
        signals.spider_idle, spider=spider, dont_log=(DontCloseSpider, CloseSpider)
    )
    raised = [result.value for _, result in results if isinstance(result, Failure)]
    if any(isinstance(error, DontCloseSpider) for error in raised):
        return None
    own = [error.reason for error in raised if isinstance(error, CloseSpider)]
    return own[-1] if own else reason


def keep_slot(slot: Slot, delay: float) -> None:
    """Let a download slot hold the promise too: one at a time, no downward jitter.

    Args:
        delay: seconds for ``slot.delay``.
    """
    slot.concurrency, slot.delay = 1, delay
    if hasattr(slot, "jitter"):
        slot.jitter = 0.0
    else:  # Scrapy before 2.17
        slot.randomize_delay = False


def slot_of(crawler: Crawler, request: Request) -> Slot | None:
    """Return the download slot that a request is or was in, None when it is gone."""
    key = request.meta.get("download_slot")
    engine = _engine(crawler)
    return engine.downloader.slots.get(key) if key is not None and engine else None


def handler_of(crawler: Crawler, scheme: str) -> tuple[Any, str | None]:
    """Return the download handler of a scheme, or None and why there is none.

    The reason is in Scrapy's words, and None when the user wants no handler there.
    Private: ``DownloadHandlers._get_handler``, ``_schemes`` and ``_notconfigured``.
    """
    engine = _engine(crawler)
    if engine is None:
        return None, None
    handlers = engine.downloader.handlers
    handler = handlers._get_handler(scheme)
    wanted = handler is None and scheme in handlers._schemes
    return handler, handlers._notconfigured.get(scheme) if wanted else None


def forbid_repeats(handler: Any) -> None:
    """Switch off a connection pool's own repeat of a request on a dropped kept-alive connection.

    The server would see a second hit without any wait.  Scrapy's retry goes through the clock.
    A handler that a user's own one keeps as an attribute counts too.
    Private: the handlers' ``_pool`` and ``_session``, and aiohttp's ``_retry_connection``.
    """
    for part in (handler, *getattr(handler, "__dict__", {}).values()):
        pool: Any = getattr(part, "_pool", None)
        if hasattr(pool, "retryAutomatically"):
            pool.retryAutomatically = False
        session: Any = getattr(part, "_session", None)  # of aiohttp
        if hasattr(session, "_retry_connection"):
            session._retry_connection = False


def _engine(crawler: Crawler) -> Any:
    # Scrapy 2.19 raises before the engine is there, older ones have None.
    try:
        return crawler.engine
    except RuntimeError:
        return None
