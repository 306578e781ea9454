"""The promise as assertions: one request of a host at a time, and ten times its duration between.

The server's record never shows a wait shorter than it was for the crawl, nor an answered fetch
longer; only where the crawl left first does the server notice late, hence `LATE`.
"""

from __future__ import annotations

from collections.abc import Iterable

from scrapy import Request, Spider
from scrapy.utils.asyncio import call_later
from scrapy.utils.defer import deferred_from_coro, maybe_deferred_to_future
from twisted.internet.defer import Deferred, gatherResults

from harness import Answer, Arrival, Crawl, gaps, most_at_once
from harness.pages import Page
from scrapy_polite.runtime.runtime import Runtime

LATE = 0.01  # seconds until the server notices that the crawl left
SLOW = Answer(delay=0.03)
FREE: dict[str, Page] = {"/robots.txt": 404}


def assert_ten_times(log: Iterable[Arrival]) -> None:
    """Assert that no host was asked twice at once, nor sooner than ten durations after a fetch."""
    log = list(log)
    assert {host: most_at_once(log, host) for host in {seen.host for seen in log}} == {
        seen.host: 1 for seen in log
    }
    for gap in gaps(log):
        late = LATE if gap.before.ended == "left" else 0.0
        assert gap.wait >= 10 * (gap.before.duration - late), (gap.before, gap.after)


def assert_no_lease_left(run: Crawl) -> None:
    """Assert that every turn was given back; unknown of a crawl in another process."""
    if run.crawler is not None:
        assert list(Runtime.of(run.crawler).turns.leases) == []


async def pause(seconds: float) -> None:
    """Wait under every reactor."""
    over: Deferred[None] = Deferred()
    call_later(seconds, over.callback, None)
    await maybe_deferred_to_future(over)


async def fetch_directly(spider: Spider, urls: Iterable[str]) -> list[int | str]:
    """Fetch through the engine, past the scheduler and all at once.

    Returns:
        Per URL its status, or the name of the exception instead.
    """

    async def fetch(url: str) -> int | str:
        try:
            return (await spider.crawler.engine.download_async(Request(url))).status
        except Exception as error:
            return type(error).__name__

    told: list[int | str] = await maybe_deferred_to_future(
        gatherResults([deferred_from_coro(fetch(url)) for url in urls])
    )
    return told
