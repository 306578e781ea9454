"""Hosts that nobody serves: their pages fail as they do with stock Scrapy, and soon.

Waiting for a robots.txt is for hosts where a server is: where none is, none can be asked to wait.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from scrapy import Request, Spider
from scrapy.http import Response

from crawls.judging import MANY
from harness import Answer, Asked, Crawl, Site, Web, crawl_here

pytestmark = pytest.mark.crawl

NAMELESS = "http://nobody.invalid"
RETRYING = {**MANY, "POLITE_ROBOTS_HOLD": 600, "RETRY_ENABLED": True}
BOTH = ("CannotResolveHostError", "DownloadConnectionRefusedError")


def of_pages(run: Crawl) -> dict[str, Any]:
    """Return the stats of failures, without those of robots.txt."""
    return {
        name: value
        for name, value in run.stats.items()
        if name.startswith("retry/") or name == "log_count/ERROR"
    }


def lines(log: str, words: str) -> list[str]:
    """Return the lines of a log that hold these words."""
    return [line for line in log.splitlines() if words in line]


@pytest.mark.parametrize("retries", [{}, {"RETRY_ENABLED": False}])
async def test_as_stock(web: Web, retries: Mapping[str, Any]) -> None:
    """Errbacks, retries and ERROR lines are stock Scrapy's; each origin has one WARNING more."""
    refused, well = web.deserted(), web.site({"/robots.txt": 404})
    urls = [f"{base}/{n}" for base in (NAMELESS, refused.url("")) for n in range(4)]
    settings = {**RETRYING, **retries}
    run = await crawl_here(web, [*urls, well.url()], settings)
    bare = {name: value for name, value in settings.items() if not name.startswith("POLITE_")}
    stock = await crawl_here(
        web, [*urls, well.url()], {**bare, "ROBOTSTXT_OBEY": False}, polite=False
    )
    assert run.outcome == stock.outcome
    assert {told for url in urls for told in run.outcome[url]} == set(BOTH)
    assert of_pages(run) == of_pages(stock)
    told = lines(run.log, "no server is there")
    assert len(told) == 2
    assert all("WARNING" in line and "(pages given up: 4)" in line for line in told)
    assert run.stats["polite/robots/nobody"] == 8
    assert "polite/robots/dropped" not in run.stats
    tries = 6 if settings["RETRY_ENABLED"] else 2  # for all pages together
    assert run.stats["polite/robots/access/unreachable"] == tries


@pytest.mark.usefixtures("in_process")
async def test_asked_again(web: Web, monkeypatch: pytest.MonkeyPatch) -> None:
    """What comes later fails at once, and after a while one try shows whether somebody came."""
    monkeypatch.setattr("scrapy_polite.policy.absence.AGAIN_FIRST", 2.0)
    home, closed = web.site({"/robots.txt": 404, "/late": Answer(delay=4)}), web.deserted()
    opened: list[Site] = []

    def parse(self: Spider, response: Response, asked_url: str) -> Any:
        if asked_url.endswith("/soon"):
            yield Request(closed.url("/2"), cb_kwargs={"asked_url": closed.url("/2")})
        elif asked_url.endswith("/late"):
            opened.append(web.site({"*": 200}, closed.host))
            yield Request(closed.url("/3"), callback=lambda response: ended.append("3"))

    ended: list[str] = []
    asked = [closed.url("/1"), home.url("/soon"), home.url("/late")]
    run = await crawl_here(web, asked, {**RETRYING, "RETRY_TIMES": 1}, {"parse": parse})
    assert run.outcome[closed.url("/1")] == [BOTH[1]]
    assert ended == ["3"]
    assert [seen.path for seen in run.arrivals if seen.host == closed.host] == ["/robots.txt", "/3"]


@pytest.mark.usefixtures("in_process")
async def test_our_own_outage_comes_first(web: Web) -> None:
    """While the fault is ours nobody is given up: the host is asked once more when it is over."""

    def page(asked: Asked) -> Answer:
        pages.append(asked.path)
        if len(pages) == 7:
            opening.start()
        return Answer(drop=6 < len(pages) <= 9)

    pages: list[str] = []
    sites = [web.site({"/robots.txt": 404, "*": page}) for _ in range(3)]
    closed = web.deserted()
    opening = threading.Timer(2.0, lambda: web.site({"*": 200}, closed.host))
    new = closed.url("/new")  # a refused connection takes 0.3 s

    def parse(self: Spider, response: Response, asked_url: str) -> Any:
        if len(pages) >= 6 and not asked:
            asked.append(new)
            yield Request(new, callback=lambda response: told.append(response.status))

    asked: list[str] = []
    told: list[int] = []
    urls = [site.url(f"/{number}") for number in range(8) for site in sites]
    settings = {**RETRYING, "RETRY_TIMES": 0}
    run = await crawl_here(web, urls, settings, {"parse": parse}, timeout=40)
    opening.join()
    assert told == [200]
    assert run.stats["polite/outages"] == 1


@pytest.mark.usefixtures("in_process")
async def test_files(web: Web, tmp_path: Path) -> None:
    """An item whose file is on a dead host comes with its other files, and Scrapy's warning."""
    home = web.site({"/robots.txt": 404, "*": "page"})
    items: list[Any] = []

    def parse(self: Spider, response: Response, asked_url: str) -> Any:
        yield {"file_urls": [f"{NAMELESS}/file", home.url("/file")]}

    settings = {
        **RETRYING,
        "FILES_STORE": str(tmp_path),
        "ITEM_PIPELINES": {"scrapy.pipelines.files.FilesPipeline": 1, Keeper: 2},
    }
    Keeper.items = items
    run = await crawl_here(web, [home.url("/")], settings, {"parse": parse})
    assert [[file["url"] for file in item["files"]] for item in items] == [[home.url("/file")]]
    assert len(lines(run.log, "CannotResolveHostError")) >= 1
    assert lines(run.log, "File (unknown-error): Error downloading")


class Keeper:
    """A pipeline that keeps items where the test finds them."""

    items: list[Any]

    def process_item(self, item: Any) -> Any:
        self.items.append(item)
        return item
