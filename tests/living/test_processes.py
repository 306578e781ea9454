"""Several crawls in one process, and every way to start one."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from scrapy import Spider
from scrapy.crawler import AsyncCrawlerRunner
from scrapy.http import Response
from scrapy.utils.defer import deferred_from_coro, maybe_deferred_to_future
from scrapy.utils.reactor import is_asyncio_reactor_installed
from twisted.internet.defer import DeferredList

from crawls.judging import DISALLOW
from crawls.promise import SLOW, assert_ten_times
from harness import POLITE, Crawl, Web, crawl_here, robots_fetches
from harness.child import environment

SCRIPT = """
import json, sys
from scrapy import Spider
from scrapy import crawler

kind, settings, crawls = json.loads(sys.argv[1])

class Guest(Spider):
    name = "guest"

    def parse(self, response):
        pass

process = getattr(crawler, kind)(settings)
for urls in crawls:
    process.crawl(Guest, start_urls=urls)
process.start()
"""
STARTS: dict[str, tuple[str, dict[str, Any]]] = {
    "CrawlerProcess": ("CrawlerProcess", {}),
    "AsyncCrawlerProcess": ("AsyncCrawlerProcess", {}),
    "AsyncCrawlerProcess without a reactor": (
        "AsyncCrawlerProcess",
        {"TWISTED_REACTOR_ENABLED": False},
    ),
}
"""How a script of a user's runs crawls: class of the process, settings."""


@pytest.mark.slow
def test_scripts(web: Web, tmp_path: Path) -> None:
    """Two crawlers of a process that share a POLITE_STATE keep one promise, however started.

    One has less to do than the other and closes while that is at work.
    """
    sites = {
        name: [web.site({"/robots.txt": DISALLOW, "*": SLOW}) for _ in range(2)] for name in STARTS
    }
    started = {}
    for number, (name, (kind, more)) in enumerate(STARTS.items()):
        settings = {**POLITE, **more, "POLITE_STATE": str(tmp_path / f"{number}.db")}
        crawls = [
            [site.url(f"/{letter}{n}") for n in range(count) for site in sites[name]]
            for letter, count in (("a", 1), ("b", 4))
        ]
        started[name] = subprocess.Popen(
            [sys.executable, "-c", SCRIPT, json.dumps([kind, settings, crawls])],
            env=environment(),
            cwd=tmp_path,
            stderr=subprocess.PIPE,
            text=True,
        )
    logs = {name: process.communicate(timeout=60)[1] for name, process in started.items()}
    for name, log in logs.items():
        assert started[name].returncode == 0, log
        assert "Traceback" not in log, log
        for site in sites[name]:
            seen = [arrival.path for arrival in web.arrivals(site.host)]
            assert seen[0] == "/robots.txt", name
            assert sorted(seen[1:]) == ["/a0", "/b0", "/b1", "/b2", "/b3"], name
    assert_ten_times(web.arrivals())


async def two_at_once(
    web: Web, urls: list[str], first: dict[str, Any], second: dict[str, Any]
) -> tuple[Crawl, Crawl]:
    """Run two crawls of the same URLs side by side in this process."""
    runs = [deferred_from_coro(crawl_here(web, urls, settings)) for settings in (first, second)]
    (_, left), (_, right) = await maybe_deferred_to_future(DeferredList(runs))
    return left, right


@pytest.mark.crawl
@pytest.mark.usefixtures("in_process")
async def test_crawlers_share_nothing_unasked(web: Web) -> None:
    """Crawlers side by side share nothing: each keeps its own clocks and verdicts."""
    site = web.site({"/robots.txt": "User-agent: Left\nDisallow: /\n", "*": SLOW})
    pages = [site.url(f"/{number}") for number in range(3)]
    left, right = await two_at_once(
        web, pages, {"POLITE_PRODUCT": "Left"}, {"POLITE_PRODUCT": "Right"}
    )
    assert {tuple(told) for told in left.outcome.values()} == {("IgnoreRequest",)}
    assert right.outcome == {page: [200] for page in pages}
    asked_right = [a for a in web.arrivals() if a.headers["user-agent"].startswith("Right")]
    assert len(asked_right) == 4
    assert_ten_times(asked_right)


@pytest.mark.crawl
@pytest.mark.usefixtures("in_process")
async def test_crawlers_that_share_a_file(web: Web, tmp_path: Path) -> None:
    """With one POLITE_STATE crawlers of a process take turns at a host and share its robots.txt.

    Each is judged by its own name all the same.
    """
    rules = "User-agent: Left\nDisallow: /private/\n"
    sites = [web.site({"/robots.txt": rules, "*": SLOW}) for _ in range(2)]
    pages = [site.url(path) for path in ("/private/1", "/2") for site in sites]
    state = {"POLITE_STATE": str(tmp_path / "polite.db")}
    left, right = await two_at_once(
        web, pages, {**state, "POLITE_PRODUCT": "Left"}, {**state, "POLITE_PRODUCT": "Right"}
    )
    assert left.outcome == {p: ["IgnoreRequest"] if "private" in p else [200] for p in pages}
    assert right.outcome == {page: [200] for page in pages}
    assert len(robots_fetches(web.arrivals())) == len(sites)
    assert_ten_times(web.arrivals())


@pytest.mark.crawl
@pytest.mark.usefixtures("in_process")
async def test_async_crawler_runner(web: Web) -> None:
    """AsyncCrawlerRunner runs polite crawls too, one after the other in a process."""
    if not is_asyncio_reactor_installed():
        pytest.skip("AsyncCrawlerRunner needs the asyncio reactor")
    site = web.site({"/robots.txt": DISALLOW, "*": SLOW})

    class Guest(Spider):
        name = "guest"

        def parse(self, response: Response) -> None:
            pass

    runner = AsyncCrawlerRunner(POLITE)
    for path in ("/1", "/2"):
        await runner.crawl(Guest, start_urls=[site.url(path), site.url(f"/private{path}")])
    assert [seen.path for seen in web.arrivals()] == ["/robots.txt", "/1", "/robots.txt", "/2"]
