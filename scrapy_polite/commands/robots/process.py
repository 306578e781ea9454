"""Runs a visit to its end, under the reactor of the project's crawls, or without one."""

from __future__ import annotations

from typing import Any

from scrapy import Spider
from scrapy.crawler import AsyncCrawlerProcess, CrawlerProcess
from scrapy.settings import Settings
from twisted.internet.defer import Deferred
from twisted.python.failure import Failure

from scrapy_polite.commands.robots.question import CannotTell
from scrapy_polite.commands.robots.visit import Errand, Visit, Visitor
from scrapy_polite.robots.lines import printable

_ASYNCIO = "twisted.internet.asyncioreactor.AsyncioSelectorReactor"


def visit(settings: Settings, errand: Errand) -> Visit:
    """Return what came of an errand; it blocks, and can be called once in a process.

    Args:
        settings: those of `visit_settings.for_visit`.

    Raises:
        CannotTell: the visit could not start, or was broken off.
    """
    visits: list[Visit] = []
    try:
        error = run(settings, Visitor, errand=errand, done=visits.append)
    except Exception as broken:  # an add-on of the project's, for instance
        error = broken
    if visits:
        return visits[0]
    origin, hint = errand.question.origin, "(-L ERROR shows more)"
    if error is None:
        raise CannotTell(f"The visit to {origin} was broken off {hint}.")
    why = printable(f"{type(error).__name__}: {error}")
    raise CannotTell(f"The visit to {origin} could not start: {why} {hint}.")


def run(settings: Settings, spider: type[Spider], **arguments: Any) -> BaseException | None:
    """Run a crawl to its end and return the error that it could not start for.

    Args:
        arguments: those of the spider.
    """
    with_reactor = settings.getbool("TWISTED_REACTOR_ENABLED")
    if with_reactor and settings["TWISTED_REACTOR"] != _ASYNCIO:
        failures: list[Failure] = []
        process = CrawlerProcess(settings)
        crawling: Deferred[None] = process.crawl(spider, **arguments)
        crawling.addErrback(failures.append)
        process.start()
        return failures[0].value if failures else None
    asynchronous = AsyncCrawlerProcess(settings)
    task = asynchronous.crawl(spider, **arguments)
    asynchronous.start()
    return task.exception() if task.done() and not task.cancelled() else None
