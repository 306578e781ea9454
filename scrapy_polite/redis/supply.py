"""What keeps a worker supplied with requests: it asks the shelf, and has the engine ask again.

Rules:

- The engine is woken when the next request may be ready, when another worker queued one for a host
  that had none, and when the server is back.
- A request is done with when the engine has scraped what came of it; with work left undone it is
  kept for the next run, which begins when no other worker is at it.
- The worker shows that it is alive, also while it has no free place.
- That the server stops answering, and that it answers again, is one line in the log.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING

from scrapy.utils.asyncio import CallLaterResult, call_later, create_looping_call

from scrapy_polite import engine
from scrapy_polite.state.protocol import StoreUnavailable

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.crawler import Crawler

    from scrapy_polite.redis.shelf import Answer, Shelf, Taken
    from scrapy_polite.state.redis import RedisStore

logger = logging.getLogger(__name__)
AGAIN = 1.0  # seconds until a server that was not there is asked again


class Supply:
    """Requests from a shelf; see the rules above.

    Args:
        look_every: seconds until the next look at the latest, when nobody says that there is
            something.
        is_kept: whether a request is to be fetched again by a next run; asked when it is done.
    """

    def __init__(
        self,
        crawler: Crawler,
        shelf: Shelf,
        store: RedisStore,
        look_every: float,
        is_kept: Callable[[Request], bool],
    ) -> None:
        self._crawler = crawler
        self._shelf = shelf
        self._store = store
        self._look_every = look_every
        self.left = len(shelf)  # requests that no worker is done with
        self.is_failing = False
        self._is_kept = is_kept
        self._mine: dict[Request, Taken] = {}
        self._to_keep: list[str] = []
        self._timer: CallLaterResult | None = None
        self._entering = False
        self._heart = create_looping_call(self._beat)

    def start(self) -> None:
        """Show that we are alive, and listen, from now on; begin with what was kept."""
        again = self._shelf.restore()
        self.left += again
        if again:
            logger.info("%d requests that the last run did not finish: again", again)
        session = self._store.session
        self._heart.start(session.wire.terms.heartbeat, now=False)
        session.listen(self._shelf.outbox.channel, lambda: engine.wake(self._crawler))

    def stop(self) -> None:
        """Wake nobody any more."""
        if self._timer is not None:
            self._timer.cancel()
        if self._heart.running:
            self._heart.stop()

    def take(self, limit: int) -> list[Taken]:
        """Take at most so many requests; with less than that the engine is woken in time."""
        if limit <= 0:
            return []
        answer = self._ask(limit)
        if answer is None:
            return []
        if len(answer.taken) < limit:
            look = self._look_every if answer.next_look is None else answer.next_look
            self._wake_in(min(look, self._look_every))
        return answer.taken

    def given(self, request: Request, taken: Taken) -> None:
        """A request goes to the engine."""
        self._mine[request] = taken

    def has(self, request: Request) -> bool:
        """Return whether the engine was given a request, which was not found done with yet."""
        return request in self._mine

    def settle(self) -> None:
        """Find the requests that are done with, and those that are to be kept."""
        for request in list(self._mine):
            if not engine.in_progress(self._crawler, request):
                kept = self._is_kept(request)
                number = self._mine.pop(request).number
                self._to_keep += [number] * kept
                self._shelf.done([number] * (not kept))
        if self._to_keep:
            with suppress(StoreUnavailable):  # then with the next question
                self._shelf.keep(self._to_keep)
                self._to_keep = []

    def _ask(self, limit: int) -> Answer | None:
        self.settle()
        try:
            answer = self._shelf.take(limit)
        except StoreUnavailable as error:
            self._note(error)
            return None
        if answer is None:
            self._enter()
            return None
        self._note(None)
        self.left = answer.left
        if answer.back:
            logger.warning("%d requests of a worker that is gone are back", answer.back)
        return answer

    def _beat(self) -> None:
        self._ask(0)

    def _enter(self) -> None:
        if not self._entering:
            self._entering = True
            engine.spawn(self._entered())

    async def _entered(self) -> None:
        try:
            await engine.wait_for(self._store.open())
            self._wake_in(0.0)
        except StoreUnavailable as error:
            self._note(error)
        finally:
            self._entering = False

    def _note(self, error: StoreUnavailable | None) -> None:
        if error is not None:
            self._wake_in(AGAIN)
        if (error is not None) is self.is_failing:
            return
        self.is_failing = error is not None
        if error is not None:
            logger.error("No request until the queue's server answers: %s", error)
        else:
            logger.info("The queue's server answers again")

    def _wake_in(self, seconds: float) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = call_later(seconds, self._wake)

    def _wake(self) -> None:
        self._timer = None
        engine.wake(self._crawler)
