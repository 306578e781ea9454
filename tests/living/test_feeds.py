"""Feed exports: a feed has the items of every page that was answered, however the crawl went."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from scrapy import Spider
from scrapy.http import Response

from crawls.promise import FREE, assert_ten_times
from harness import Answer, Web, crawl_here

pytestmark = [pytest.mark.crawl, pytest.mark.usefixtures("in_process")]


def parse(self: Spider, response: Response, asked_url: str) -> Any:
    """Yield an item per page."""
    yield {"url": response.url}


async def test_pages_after_a_refusal_are_in_the_feed(web: Web, tmp_path: Path) -> None:
    """Each page is in the feed once, those that were refused or failed at first too."""
    first = (
        Answer(429, {"Retry-After": "1"}),
        Answer(503, {"Retry-After": "1"}),
        Answer(drop=True),
    )
    sites = [web.site({**FREE, "/1": [answer, "page"], "*": "page"}) for answer in first]
    pages = [site.url(f"/{number}") for site in sites for number in range(4)]
    path = tmp_path / "items.jsonl"
    run = await crawl_here(web, pages, settings(path), {"parse": parse})
    assert sorted(items(path)) == sorted(pages)
    assert_ten_times(run.arrivals)


async def test_a_feed_is_complete_after_each_stop(web: Web, tmp_path: Path) -> None:
    """A crawl that is stopped and resumed has written whatever it fetched, and all in the end."""
    sites = [web.site({**FREE, "*": Answer(body="page", delay=0.01)}) for _ in range(3)]
    pages = [site.url(f"/{number}") for site in sites for number in range(5)]
    path = tmp_path / "items.jsonl"
    stops = {"JOBDIR": str(tmp_path / "job"), "CLOSESPIDER_ITEMCOUNT": 4}
    for _ in range(6):
        run = await crawl_here(web, pages, {**settings(path), **stops}, {"parse": parse})
        fetched = [f"http://{a.host}:{a.port}{a.path}" for a in web.arrivals() if a.status == 200]
        assert sorted(items(path)) == sorted(fetched)
        if run.stats["finish_reason"] == "finished":
            break
    assert sorted(items(path)) == sorted(pages)


def settings(path: Path) -> dict[str, Any]:
    """Return settings that write a feed, after what it has already."""
    return {"FEEDS": {path.as_uri(): {"format": "jsonlines", "overwrite": False}}}


def items(path: Path) -> list[str]:
    """Return the URLs in a feed."""
    return [json.loads(line)["url"] for line in path.read_text().splitlines()]
