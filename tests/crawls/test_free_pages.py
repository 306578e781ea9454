"""Pages that need no turn share with pages that have one: neither waits for the other to end."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from scrapy import Request, Spider, signals
from scrapy.utils.defer import deferred_f_from_coro_f

from crawls.running import run_spider
from harness import Web

pytestmark = [pytest.mark.crawl, pytest.mark.usefixtures("in_process")]
MANY = 300


class Mixed(Spider):
    """Reads many files, and a few pages of sites."""

    name = "mixed"
    folder: Path
    sites: list[Any]
    priority = 0
    order: list[str]

    async def start(self) -> Any:
        self.crawler.signals.connect(self._leaves, signals.request_reached_downloader)
        requests = [
            *(Request((self.folder / f"{number}.txt").as_uri()) for number in range(MANY)),
            *(Request(site.url("/page"), priority=self.priority) for site in self.sites),
        ]
        for request in requests:  # all are queued before the first one goes
            self.crawler.engine.crawl(request)
        return
        yield

    def _leaves(self, request: Request) -> None:
        self.order.append(request.url)

    def parse(self, response: Any) -> None:
        pass


@pytest.mark.parametrize("priority", [0, 100])
@deferred_f_from_coro_f
async def test_files_do_not_go_before_all_sites(web: Web, tmp_path: Path, priority: int) -> None:
    """The pages of three ready hosts are not the last of three hundred files."""
    for number in range(MANY):
        (tmp_path / f"{number}.txt").write_text("text")
    order: list[str] = []
    sites = [web.site({"*": 200}) for _ in range(3)]
    settings = {"ROBOTSTXT_OBEY": False, "CONCURRENT_REQUESTS": 4}
    arguments = {"folder": tmp_path, "sites": sites, "order": order, "priority": priority}
    run = await run_spider(web, Mixed, settings, **arguments)
    assert run.stats["finish_reason"] == "finished"
    assert len(order) == MANY + 3
    last = max(order.index(site.url("/page")) for site in sites)
    assert last < MANY / 2
