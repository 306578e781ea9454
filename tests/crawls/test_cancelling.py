"""Downloads that somebody stops waiting for: the host goes on, at its pace, and nobody is let in.

A spider gives a download of its own up at each point where it can wait; then pages of the same host
follow.  Judged by what the server saw.
"""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from scrapy import Request, Spider
from scrapy.utils.asyncio import call_later
from scrapy.utils.defer import (
    deferred_f_from_coro_f,
    deferred_from_coro,
    maybe_deferred_to_future,
)
from twisted.internet import defer

from crawls.promise import FREE, assert_no_lease_left, assert_ten_times
from crawls.running import run_spider
from harness import Answer, Web
from harness.pages import Page

pytestmark = [pytest.mark.crawl, pytest.mark.usefixtures("in_process")]
FIRST = Answer(delay=0.06)  # its host waits for 0.6 s afterwards


class Impatient(Spider):
    """Fetches a page, waits for another one for some seconds only, and goes on with three more."""

    name = "impatient"
    site: Any
    patience: float
    told: list[str]
    meta: dict[str, Any]
    first = "/first"

    async def start(self) -> Any:
        yield Request(self.site.url(self.first), callback=self.impatient)

    async def impatient(self, response: Any) -> Any:
        if self.meta:  # the first one of a download slot goes at once
            await self.download("/before", patience=20.0)
        self.told.append(await self.download("/given-up", self.patience))
        for number in range(3):
            yield Request(self.site.url(f"/{number}"), callback=self.others)

    async def download(self, path: str, patience: float) -> str:
        """Return "answered", or "given up" after so many seconds."""
        wanted = Request(self.site.url(path), meta=self.meta)
        download = deferred_from_coro(self.crawler.engine.download_async(wanted))
        timer = call_later(patience, download.cancel)
        try:
            await maybe_deferred_to_future(download)
        except (asyncio.CancelledError, defer.CancelledError):
            return "given up"
        timer.cancel()
        return "answered"

    def others(self, response: Any) -> None:
        """The answer came, which is all that is asked."""


POINTS: dict[str, tuple[dict[str, Page], float, dict[str, Any]]] = {
    "waiting for its turn": ({"/first": FIRST, "*": 200}, 0.1, {}),
    "at the moment of its turn": ({"/first": FIRST, "*": 200}, 0.6, {}),
    "on the wire": ({"/first": 200, "/given-up": Answer(delay=0.3), "*": 200}, 0.15, {}),
    "in the middle of the body": (
        {"/first": 200, "/given-up": Answer(body="x" * 9, body_delay=0.3), "*": 200},
        0.15,
        {},
    ),
    "in its download slot": ({"/first": 200, "*": 200}, 0.5, {"download_slot": "slow"}),
}


@pytest.mark.parametrize("point", POINTS)
@deferred_f_from_coro_f
async def test_a_download_that_is_given_up_frees_its_host(web: Web, point: str) -> None:
    """The pages after it are fetched, one at a time and ten durations apart."""
    pages, patience, meta = POINTS[point]
    site = web.site({**FREE, **pages})
    settings = {"CLOSESPIDER_TIMEOUT": 40, "DOWNLOAD_SLOTS": {"slow": {"delay": 1.0}}}
    told: list[str] = []
    arguments = {"site": site, "patience": patience, "meta": meta, "told": told}
    run = await run_spider(web, Impatient, settings, **arguments)
    assert run.stats["finish_reason"] == "finished"
    assert told == ["given up"] or point == "at the moment of its turn"
    assert {"/0", "/1", "/2"} <= {seen.path for seen in run.arrivals}
    assert_ten_times(run.arrivals)
    assert_no_lease_left(run)


class AtOnce(Impatient):
    """Gives the first page of a host up, while its robots.txt is fetched."""

    async def start(self) -> Any:
        async for request in self.impatient(None):
            yield request


@deferred_f_from_coro_f
async def test_a_download_that_is_given_up_before_its_verdict_frees_its_host(web: Web) -> None:
    """robots.txt is read to its end, the page that nobody wants is not fetched, the others are."""
    site = web.site({"/robots.txt": Answer(404, delay=0.3), "*": 200})
    settings = {"CLOSESPIDER_TIMEOUT": 40, "POLITE_DELAY_FACTOR": 1}
    told: list[str] = []
    run = await run_spider(web, AtOnce, settings, site=site, patience=0.1, meta={}, told=told)
    assert (run.stats["finish_reason"], told) == ("finished", ["given up"])
    assert sorted(seen.path for seen in run.arrivals) == ["/0", "/1", "/2", "/robots.txt"]
    assert_no_lease_left(run)
