"""Pages that are given up because of their robots.txt: one warning for each origin, with a count.

The line comes as soon as those that waited are out.  What is given up later is in one more line at
the end.
"""

from __future__ import annotations

import logging
from collections import Counter
from typing import TYPE_CHECKING

from scrapy import signals
from scrapy.utils.asyncio import CallLaterResult, call_later

from scrapy_polite.runtime.telling import one_line

if TYPE_CHECKING:
    from scrapy.crawler import Crawler

logger = logging.getLogger(__name__)
SOON = 1.0  # seconds from the first page of an origin to the line
LISTED = 50  # origins whose later pages are told of at the end, one by one


class GivenUp:
    """Counts the pages of origins that are given up, and tells of them; see above.

    Args:
        at_once: whether somebody at a terminal waits for the line.
    """

    def __init__(self, crawler: Crawler, *, at_once: bool) -> None:
        self._at_once = at_once
        self._untold: Counter[str] = Counter()  # origin -> pages
        self._why: dict[str, str] = {}
        self._told: set[str] = set()
        self._timer: CallLaterResult | None = None
        crawler.signals.connect(self._closed, signals.spider_closed)

    def page(self, origin: str, why: str) -> None:
        """A page of an origin is given up; *why* says what is the matter, as a sentence's end."""
        self._untold[origin] += 1
        if origin in self._told:
            return
        self._told.add(origin)
        self._why[origin] = one_line(why)
        if self._at_once:
            self._tell()
        elif self._timer is None:
            self._timer = call_later(SOON, self._tell)

    def _tell(self) -> None:
        self._timer = None
        why, self._why = self._why, {}
        for origin, reason in why.items():
            logger.warning("%s: %s (pages given up: %d)", origin, reason, self._untold.pop(origin))

    def _closed(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._tell()
        listed = self._untold.most_common(LISTED)
        for origin, count in listed:
            logger.warning("%s: pages given up later, for the same reason: %d", origin, count)
        if len(self._untold) > len(listed):
            more = len(self._untold) - len(listed)
            logger.warning("Pages were given up later of %d more origins", more)
        self._untold.clear()
