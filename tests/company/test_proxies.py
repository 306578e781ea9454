"""scrapy-rotating-proxies: a site sees many addresses, and still one request at a time."""

from __future__ import annotations

from dataclasses import replace
from urllib.parse import urlsplit

import pytest

from company.needing import need_package
from crawls.promise import assert_no_lease_left, assert_ten_times
from harness import Answer, Asked, Web, crawl_here, gaps

need_package("scrapy-rotating-proxies", "rotating_proxies.middlewares")
pytestmark = [
    pytest.mark.crawl,
    pytest.mark.filterwarnings("ignore::scrapy.exceptions.ScrapyDeprecationWarning"),
    pytest.mark.usefixtures("in_process"),  # its tasks need a reactor
]

MIDDLEWARES = {
    "rotating_proxies.middlewares.RotatingProxyMiddleware": 610,
    "rotating_proxies.middlewares.BanDetectionMiddleware": 620,
}


async def test_one_clock_through_all_proxies(web: Web) -> None:
    """Its download slots, one per proxy, and its own retries leave the host's clock alone.

    Nothing is fetched past the proxies, and a refusal through one of them is one of the host.
    """
    page = Answer(body="page", delay=0.02)
    pages = {"http://site.test/robots.txt": "User-agent: *\nDisallow: /private\n"}
    first = {"/3": [Answer(503)], "/4": [Answer(delay=0.02, drop=True)]}  # whichever proxy it is

    def answer(asked: Asked) -> Answer:
        once = first.get(urlsplit(asked.path).path)
        return once.pop() if once else page

    proxies = [web.site({**pages, "*": answer}) for _ in range(3)]
    settings = {
        "ROTATING_PROXY_LIST": [proxy.url("") for proxy in proxies],
        "DOWNLOADER_MIDDLEWARES": MIDDLEWARES,
        "POLITE_BACKOFF_MIN": 0.5,
    }
    wanted = [f"http://site.test/{number}" for number in range(8)]
    run = await crawl_here(web, [*wanted, "http://site.test/private"], settings)
    assert {url: told[-1] for url, told in run.outcome.items()} == {
        **dict.fromkeys(wanted, 200),
        "http://site.test/private": "IgnoreRequest",
    }
    assert len({seen.host for seen in run.arrivals}) > 1
    as_seen_there = [replace(seen, host="site.test") for seen in run.arrivals]
    assert_ten_times(as_seen_there)
    [after] = [gap for gap in gaps(as_seen_there) if gap.before.status == 503]
    assert after.wait >= 0.5
    assert_no_lease_left(run)
