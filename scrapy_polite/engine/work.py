"""Which page some work is for, and what comes of it: private parts of Scrapy's scraper."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractContextManager
from contextvars import Context, copy_context
from functools import wraps
from inspect import isawaitable
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from scrapy.utils.asyncio import is_asyncio_available
from scrapy.utils.defer import deferred_from_coro, ensure_awaitable, maybe_deferred_to_future
from twisted.internet.defer import Deferred

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.crawler import Crawler
    from twisted.python.failure import Failure

T = TypeVar("T")


class WorkWatch(Protocol):
    """Who is told which page some work is for, and may withhold what comes of it."""

    def begins(self, page: Request) -> None:
        """What came of a page is scraped, in this context."""

    def goes_on(self) -> bool:
        """Return whether what a page's callback yields is to go on."""

    def item(self) -> AbstractContextManager[None]:
        """Return what an item goes through the pipelines in."""

    def passed(self, error: BaseException | None = None) -> None:
        """An item was in a pipeline, which did without what came to this error; may raise."""

    def is_known(self, error: BaseException, page: Request) -> bool:
        """Return whether an error of a page's callback needs no telling."""


def watch_work(crawler: Crawler, watch: WorkWatch) -> None:
    """Tell of all that is scraped and of each item between its pipelines.

    There are signals for what is over only.
    Private: ``ExecutionEngine.scraper``, its ``enqueue_scrape``, ``_process_spidermw_output_async``
    and ``handle_spider_error`` (without asyncio ``handle_spider_output_async`` and
    ``_process_spidermw_output`` too); of the item pipelines ``methods``, ``middlewares`` and
    ``_mw_methods_requiring_spider``.
    """
    scraper: Any = crawler.engine.scraper
    enqueue, go_on, tell = (
        scraper.enqueue_scrape,
        scraper._process_spidermw_output_async,
        scraper.handle_spider_error,
    )

    def enqueue_scrape(result: Any, request: Request) -> Any:
        context = copy_context()
        context.run(watch.begins, request)
        return context.run(enqueue, result, request)

    async def process_output(output: Any, *args: Any) -> None:
        if output is None or watch.goes_on():
            await go_on(output, *args)

    def handle_spider_error(failure: Failure, request: Request, *args: Any) -> None:
        if failure.value is None or not watch.is_known(failure.value, request):
            tell(failure, request, *args)

    scraper.enqueue_scrape = enqueue_scrape
    scraper._process_spidermw_output_async = process_output
    scraper.handle_spider_error = handle_spider_error
    if not is_asyncio_available():
        _carry_context(scraper)
    _watch_items(scraper.itemproc, watch)


def _carry_context(scraper: Any) -> None:
    """Have what a callback yields handled in the callback's context.

    Without asyncio Scrapy leaves that to a Cooperator of Twisted, which begins with none.
    """
    handle, process = scraper.handle_spider_output_async, scraper._process_spidermw_output
    contexts: dict[int, Context] = {}  # by id of what is being handled

    async def handle_spider_output_async(result: Any, request: Request, response: Any) -> None:
        contexts[id(response)] = context = copy_context()
        if isinstance(result, AsyncIterator):
            result = _in_context(result, context)
        try:
            await handle(result, request, response)
        finally:
            del contexts[id(response)]

    def process_spidermw_output(output: Any, response: Any) -> Any:
        return contexts[id(response)].copy().run(process, output, response)

    scraper.handle_spider_output_async = handle_spider_output_async
    scraper._process_spidermw_output = process_spidermw_output


async def _in_context(iterator: AsyncIterator[T], context: Context) -> AsyncIterator[T]:
    over = object()

    async def step() -> Any:
        return await anext(iterator, over)

    while True:
        step_done: Deferred[Any] = context.copy().run(deferred_from_coro, step())
        output = await maybe_deferred_to_future(step_done)
        if output is over:
            return
        yield output


def _watch_items(pipelines: Any, watch: WorkWatch) -> None:
    name = "process_item_async" if hasattr(pipelines, "process_item_async") else "process_item"
    process = getattr(pipelines, name)

    async def process_item_async(item: Any, *args: Any) -> Any:
        with watch.item():
            return await ensure_awaitable(process(item, *args))

    def process_item(item: Any, *args: Any) -> Any:
        return deferred_from_coro(process_item_async(item, *args))

    setattr(pipelines, name, process_item_async if name.endswith("async") else process_item)
    methods: Any = getattr(pipelines, "methods", {}).get("process_item", ())
    for number, method in enumerate(methods):
        methods[number] = _between_pipelines(method, watch)
        if method in pipelines._mw_methods_requiring_spider:
            pipelines._mw_methods_requiring_spider.add(methods[number])
    for pipeline in getattr(pipelines, "middlewares", ()):
        if hasattr(pipeline, "item_completed"):
            pipeline.item_completed = _when_completed(pipeline.item_completed, watch)


def _between_pipelines(process: Callable[..., Any], watch: WorkWatch) -> Callable[..., Any]:
    def passed(item: T) -> T:
        watch.passed()
        return item

    async def awaited(result: Awaitable[T]) -> T:
        return passed(await result)

    @wraps(process)
    def process_item(item: Any, *args: Any) -> Any:
        result = process(item, *args)
        if isinstance(result, Deferred):
            return result.addCallback(passed)
        return awaited(result) if isawaitable(result) else passed(result)

    return process_item


def _when_completed(complete: Callable[..., Any], watch: WorkWatch) -> Callable[..., Any]:
    """Look at what a media pipeline got before it makes do with that."""

    @wraps(complete)
    def item_completed(results: Any, *args: Any, **kwargs: Any) -> Any:
        for succeeded, value in results:
            if not succeeded:
                watch.passed(value.value)
        return complete(results, *args, **kwargs)

    return item_completed
