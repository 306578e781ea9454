"""What our components raise."""

from __future__ import annotations

from scrapy.exceptions import DropItem, IgnoreRequest


class RobotsUnreachable(IgnoreRequest):
    """The origin's robots.txt could not be read for longer than POLITE_ROBOTS_HOLD."""


class PurposeDisallowed(IgnoreRequest):
    """The page's owner disallows what the crawl is for (POLITE_PURPOSE).

    Attributes:
        was_fetched: whether only the page's own header says so.
    """

    was_fetched = False


class CrawlStopping(IgnoreRequest):
    """The crawl stopped while the request waited for its host's turn."""


class HostParked(IgnoreRequest):
    """The request's host is parked: it is not asked again in this run."""


class ItemWithheld(DropItem):
    """The item lacks what was not fetched in this run; the next one fetches its page again."""

    def __init__(self) -> None:
        super().__init__("it lacks what the next run fetches", log_level="DEBUG")
