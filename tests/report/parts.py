"""Components that note in the stats what a crawl tells; crawls name them by path."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from scrapy import signals
from scrapy.extensions.telnet import update_telnet_vars

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.http import Response


class Noter:
    """A downloader middleware that notes request.meta["polite"] as ``why/HOST/PATH``."""

    def __init__(self, crawler: Crawler) -> None:
        self._stats = crawler.stats

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Noter:
        return cls(crawler)

    def process_response(self, request: Request, response: Response) -> Response:
        self._note(request)
        return response

    def process_exception(self, request: Request, exception: Exception) -> None:
        self._note(request)

    def _note(self, request: Request) -> None:
        parts = urlsplit(request.url)
        why = json.dumps(request.meta.get("polite"))
        self._stats.set_value(f"why/{parts.hostname}{parts.path}", why)


class Asker:
    """An extension that asks the telnet variable ``polite`` at each response."""

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler
        self._urls: list[str] = crawler.settings.getlist("ASKED_URLS")
        crawler.signals.connect(self._received, signals.response_received)

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Asker:
        return cls(crawler)

    def _received(self) -> None:
        known: dict[str, Any] = {}
        self._crawler.signals.send_catch_log(update_telnet_vars, telnet_vars=known)
        asked = [repr(known["polite"]), *map(known["polite"].why, self._urls)]
        stats = self._crawler.stats
        stats.set_value("asked", "\n".join([stats.get_value("asked", ""), *asked]))
