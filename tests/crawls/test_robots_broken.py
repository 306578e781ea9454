"""Code that fails while a robots.txt is to be fetched: its host's turn goes back."""

from __future__ import annotations

from typing import Any

import pytest
from scrapy.utils.defer import deferred_f_from_coro_f

from crawls.promise import assert_no_lease_left
from harness import Web, crawl_here
from scrapy_polite.runtime import robots_fetch

pytestmark = [pytest.mark.crawl, pytest.mark.usefixtures("in_process")]


@deferred_f_from_coro_f
async def test_an_error_before_the_fetch_leaves_the_host_to_others(
    web: Web, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A page that needs no robots.txt is fetched all the same; the one that does is not."""

    async def broken(*args: Any, **kwargs: Any) -> None:
        raise RuntimeError("before the request was made")

    monkeypatch.setattr(robots_fetch, "fetch", broken)
    site = web.site({"*": 200})
    free = {"url": site.url("/free"), "meta": {"dont_obey_robotstxt": True}, "priority": -1}
    settings = {"POLITE_ROBOTS_HOLD": 0.5, "CLOSESPIDER_TIMEOUT": 20}
    run = await crawl_here(web, [site.url("/page"), free], settings, timeout=30)
    assert run.stats["finish_reason"] == "finished"
    assert [seen.path for seen in run.arrivals] == ["/free"]
    assert_no_lease_left(run)
