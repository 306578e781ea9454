"""scrapy-deltafetch: what an earlier run made items of is not asked for again."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from scrapy import Request, Spider
from scrapy.http import Response

from company.needing import need_package
from crawls.judging import MANY, paths
from crawls.promise import assert_no_lease_left
from harness import Web, crawl_here

DeltaFetch: Any = need_package("scrapy-deltafetch", "scrapy_deltafetch").DeltaFetch
pytestmark = [
    pytest.mark.crawl,
    pytest.mark.filterwarnings("ignore::scrapy.exceptions.ScrapyDeprecationWarning"),
    pytest.mark.usefixtures("in_process"),
]

ITEMS = ["/item0", "/item1", "/item2"]


class AsyncDeltaFetch(DeltaFetch):  # type: ignore[misc]
    """With the method that Scrapy 2.19 asks for and scrapy-deltafetch 2.1 lacks."""

    async def process_spider_output_async(
        self, response: Response, result: AsyncIterator[Any], spider: Any = None
    ) -> AsyncIterator[Any]:
        async for output in result:
            for kept in self.process_spider_output(response, [output], spider):
                yield kept


@pytest.mark.parametrize("job", [None, "job"], ids=["in memory", "JOBDIR"])
async def test_second_run(web: Web, tmp_path: Path, job: str | None) -> None:
    """The second run fetches the start page and what is new; the queues have nothing left."""
    site = web.site({"/robots.txt": "", "*": ""})
    links: list[str] = list(ITEMS)

    def parse(self: Spider, response: Response, asked_url: str) -> Any:
        if response.url.endswith("/"):
            for path in links:
                yield Request(site.url(path), self.parse, cb_kwargs={"asked_url": path})
        else:
            yield {"path": asked_url}

    settings = {
        **MANY,
        "SPIDER_MIDDLEWARES": {AsyncDeltaFetch: 100},
        "DELTAFETCH_ENABLED": True,
        "DELTAFETCH_DIR": str(tmp_path / "delta"),
    }
    runs = []
    for number in range(2):
        more = {"JOBDIR": str(tmp_path / f"{job}{number}")} if job else {}
        runs.append(await crawl_here(web, [site.url("/")], settings | more, {"parse": parse}))
        links.append("/new")
    first, second = runs
    assert sorted(paths(first, site)) == ["/", *ITEMS, "/robots.txt"]
    assert sorted(paths(second, site)) == ["/", "/new", "/robots.txt"]
    assert second.stats["deltafetch/skipped"] == len(ITEMS)
    assert_no_lease_left(second)
