"""The spider of a soak: chains of pages without end, each page the next one's cause.

Rules: a chain has one request at any time, so their number stays what it was, whatever goes wrong.
What became of each page is a line of the diary, a file.  Nothing is kept in memory.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from random import Random
from typing import Any

from scrapy import Request, Spider
from scrapy.http import Response
from scrapy.spidermiddlewares.httperror import HttpError
from twisted.python.failure import Failure

from soak.books import STOPPED
from soak.weather import PRIVATE

STAYS = 0.9  # share of pages whose next one is on the same host


class SoakSpider(Spider):
    """Follows its chains until it is stopped.

    Args:
        chains: the URL of the site that each chain starts on; none in a resumed crawl.
        sites: URLs of the sites that chains may go on to.
        diary: path of the diary.
        seed: of the way that chains take.
    """

    name = "soak"

    def __init__(self, chains: list[str], sites: list[str], diary: str, seed: int) -> None:
        super().__init__()
        self._chains, self._sites, self._seed = chains, sites, seed
        self._diary = Path(diary).open("a", buffering=1)  # noqa: SIM115

    async def start(self) -> AsyncIterator[Any]:
        for chain, site in enumerate(self._chains):
            yield self._page(site, chain, 0)

    def parse(self, response: Response, **page: Any) -> Iterator[Request]:
        return self._ended(response.status, **page)

    def failed(self, failure: Failure) -> Iterator[Request]:
        error = failure.value
        got = error.response.status if isinstance(error, HttpError) else type(error).__name__
        return self._ended(got, **failure.request.cb_kwargs)  # type: ignore[attr-defined]

    def closed(self, reason: str) -> None:
        self._diary.close()

    def _ended(self, got: int | str, site: str, chain: int, number: int) -> Iterator[Request]:
        self._diary.write(json.dumps({"chain": chain, "number": number, "got": got}) + "\n")
        if got == STOPPED:
            return
        random = Random(f"{self._seed} {chain} {number}")
        stays = random.random() < STAYS and got != "RobotsUnreachable"
        yield self._page(site if stays else random.choice(self._sites), chain, number + 1)

    def _page(self, site: str, chain: int, number: int) -> Request:
        folder = PRIVATE if number % 9 == 4 else "/"
        return Request(
            f"{site}/{chain}{folder}{number}",
            callback=self.parse,
            errback=self.failed,
            cb_kwargs={"site": site, "chain": chain, "number": number},
        )
