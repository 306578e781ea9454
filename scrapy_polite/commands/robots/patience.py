"""How long a person waits for a host's turn."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from scrapy.crawler import Crawler
from scrapy.utils.asyncio import call_later

from scrapy_polite.commands.robots.trouble import NoTurn
from scrapy_polite.exceptions import CrawlStopping
from scrapy_polite.runtime.runtime import Runtime


class Patience:
    """Sends what waits for a turn away when something takes too long; no turn comes after that.

    Args:
        seconds: how long each thing may take.
    """

    def __init__(self, crawler: Crawler, seconds: float) -> None:
        self._crawler = crawler
        self._seconds = seconds
        self._is_over = False

    @contextmanager
    def wait(self) -> Iterator[None]:
        """Bound what happens inside.

        Raises:
            NoTurn: it took too long.
            CrawlStopping: somebody else stopped the crawl.
        """
        timer = call_later(self._seconds, self._give_up)
        try:
            yield
        except CrawlStopping as stopping:
            if self._is_over:
                raise NoTurn from stopping
            raise
        finally:
            if not self._is_over:
                timer.cancel()

    def _give_up(self) -> None:
        self._is_over = True
        Runtime.of(self._crawler).turns.stop()
