"""The report (POLITE_REPORT): computed from the event log once the crawl is over.

The engine stops after the spider has closed, so the log is complete by then.  A report that cannot
be written costs one line in the crawl's log, and the event log stays.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from scrapy import signals
from scrapy.exceptions import NotConfigured

from scrapy_polite import config
from scrapy_polite.report.load import from_log, save
from scrapy_polite.report.promises import BROKEN
from scrapy_polite.report.reader import NotReadable
from scrapy_polite.report.text import headline
from scrapy_polite.runtime.runtime import Runtime

if TYPE_CHECKING:
    from pathlib import Path

    from scrapy.crawler import Crawler

    from scrapy_polite.report.summary import Report

logger = logging.getLogger(__name__)


class PoliteReport:
    """Writes the report of a crawl, and one line about it."""

    def __init__(self, crawler: Crawler) -> None:
        if not config.is_enabled(crawler.settings):
            raise NotConfigured
        self._runtime = Runtime.of(crawler)
        where = self._runtime.report_paths()
        if where is None or where.report is None:
            raise NotConfigured
        self._where = where
        self._report = where.report
        crawler.signals.connect(self._stopped, signals.engine_stopped)

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> PoliteReport:
        """Make one as Scrapy does."""
        return cls(crawler)

    def _stopped(self) -> None:
        if self._runtime.event_log is None:
            logger.error("No politeness report: this crawl has no event log")
            return
        try:
            report = from_log(self._where.log)
            save(report, self._report)
        except (OSError, NotReadable) as error:
            logger.error("No politeness report: %s", error)
            return
        _tell(report, self._report)
        if not self._where.keeps_log:
            self._where.log.unlink(missing_ok=True)


def _tell(report: Report, path: Path) -> None:
    broken = [promise for promise in report.promises if promise.verdict == BROKEN]
    logger.log(
        logging.WARNING if broken else logging.INFO,
        "Politeness report in %s. %s%s",
        path,
        headline(report),
        "".join(f" {promise.title}: {promise.detail}." for promise in broken),
    )
