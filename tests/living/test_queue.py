"""The order of a host's requests, and requests that are asked for again: memory and disk alike."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from crawls.judging import paths
from crawls.promise import FREE, assert_ten_times
from harness import Answer, Web, crawl_here
from harness.spider import Asking

pytestmark = pytest.mark.crawl


@pytest.mark.parametrize("disk", [False, True], ids=["memory", "disk"])
async def test_order_inside_a_host(web: Web, tmp_path: Path, disk: bool) -> None:
    """The highest priority goes first, whatever the slots; a refused page comes right behind."""
    refused = [Answer(429, {"Retry-After": "1"}), ""]
    pages: dict[str, Any] = {"/robots.txt": Answer(404, delay=0.05), "/3": refused, "*": ""}
    site = web.site(pages)
    asked: list[Asking] = [
        {"url": site.url(f"/{n}"), "priority": 10 * n, "meta": {"download_slot": f"slot {n % 2}"}}
        for n in (0, 3, -2, 5, 1)
    ]
    asked += [{"url": site.url("/5"), "priority": 40, "dont_filter": True}, site.url("/5")]
    settings: dict[str, Any] = {"JOBDIR": str(tmp_path)} if disk else {}
    run = await crawl_here(web, asked, settings)
    assert paths(run, site) == ["/robots.txt", "/5", "/5", "/3", "/3", "/1", "/0", "/-2"]
    assert_ten_times(run.arrivals)
    assert run.arrivals[4].start_at - run.arrivals[3].end_at >= 1


async def test_the_same_page_again_and_again(web: Web) -> None:
    """`dont_filter` fetches a page as often as it is asked for, never two at once."""
    site = web.site({**FREE, "*": Answer(delay=0.02)})
    asked: list[Asking] = [{"url": site.url("/page"), "dont_filter": True}] * 5
    run = await crawl_here(web, [*asked, site.url("/page"), site.url("/page")])
    assert paths(run, site) == ["/robots.txt", *["/page"] * 6]
    assert_ten_times(run.arrivals)
