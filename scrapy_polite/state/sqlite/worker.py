"""One thread that does the file work of one store, and the way back to the main thread.

Rules: calls run one after the other, in the order in which they were made.  Their Deferreds fire in
the thread of the asyncio loop or of the reactor, whichever runs the crawl.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, TypeVar

from scrapy.utils.asyncio import is_asyncio_available
from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IReactorFromThreads
from twisted.internet.task import LoopingCall

T = TypeVar("T")


class Worker:
    """A thread of its own; it starts with the first call."""

    def __init__(self) -> None:
        self._pool = ThreadPoolExecutor(1, thread_name_prefix="polite-state")

    def run(self, work: Callable[[], T]) -> Deferred[T]:
        """Do some work in the thread; the Deferred fires in this one."""
        in_main_thread = _main_thread()
        told: Deferred[T] = Deferred()

        def hand_over(done: Future[T]) -> None:
            with contextlib.suppress(RuntimeError):  # the loop was closed: nobody listens
                in_main_thread(_tell, told, done)

        self._pool.submit(work).add_done_callback(hand_over)
        return told

    def stop(self) -> None:
        """End the thread once its work is done."""
        self._pool.shutdown(wait=False)


def _tell(told: Deferred[T], done: Future[T]) -> None:
    error = done.exception()
    if error is None:
        told.callback(done.result())
    else:
        told.errback(error)


def _main_thread() -> Callable[..., Any]:
    """Return what calls a function in the thread of the loop or the reactor."""
    if is_asyncio_available():
        return asyncio.get_event_loop().call_soon_threadsafe
    reactor = LoopingCall(int).clock  # the installed one; importing it would choose it for others
    in_main_thread: Callable[..., Any] = IReactorFromThreads(reactor).callFromThread
    return in_main_thread
