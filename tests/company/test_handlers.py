"""Other people's download handlers: they are given turns and identity like Scrapy's own.

scrapy-playwright has a module of its own.
"""

from __future__ import annotations

import base64
import json

import pytest

from company.needing import need_package
from crawls.judging import DISALLOW, paths
from crawls.promise import SLOW, assert_no_lease_left, assert_ten_times
from harness import Answer, Web, crawl_here, gaps
from harness.pages import Page
from harness.spider import Asking

SCRAPYS = "scrapy.core.downloader.handlers.http11.HTTP11DownloadHandler"
pytestmark = [pytest.mark.crawl, pytest.mark.usefixtures("in_process", "asyncio_reactor")]


async def test_scrapy_impersonate(web: Web) -> None:
    """Pages through curl obey robots.txt, wait their turn and say who really asks.

    What fails in curl is retried by Scrapy, after the wait.
    """
    need_package("scrapy-impersonate", "scrapy_impersonate")
    moved = Answer(302, {"Location": "/moved"}, delay=0.03)
    pages: dict[str, Page] = {"/r": moved, "/d": [Answer(delay=0.03, drop=True), SLOW], "*": SLOW}
    sites = [web.site({**pages, "/robots.txt": DISALLOW}) for _ in range(2)]
    asked = [
        {"url": site.url(path), "meta": {"impersonate": "chrome"}}
        for site in sites
        for path in ("/1", "/private/page", "/r", "/d", "/2")
    ]
    handler = "scrapy_impersonate.ImpersonateDownloadHandler"
    run = await crawl_here(web, asked, {"DOWNLOAD_HANDLERS": {"http": handler}})
    for site in sites:
        seen = ["/1", "/2", "/d", "/d", "/moved", "/r", "/robots.txt"]
        assert sorted(paths(run, site)) == seen
    assert_ten_times(run.arrivals)
    agents = {seen.headers["user-agent"] for seen in run.arrivals}
    assert agents == {"HarnessBot/1.0 (ops@harness.test)"}
    assert_no_lease_left(run)


async def test_scrapy_zyte_api(web: Web) -> None:
    """Pages through an API obey their site's robots.txt and keep its floor, one at a time.

    What the API needed says nothing of the site: the package has delays left as they are.
    """
    need_package("scrapy-zyte-api", "scrapy_zyte_api")
    api = web.site({"*": [of_the_api("/robots.txt", DISALLOW), of_the_api("/page", "hi")]})
    settings = {
        "DOWNLOAD_HANDLERS": {"http": "scrapy_zyte_api.handler.ScrapyZyteAPIHTTPDownloadHandler"},
        "DOWNLOADER_MIDDLEWARES": {"scrapy_zyte_api.ScrapyZyteAPIDownloaderMiddleware": 633},
        "ZYTE_API_FALLBACK_HTTP_HANDLER": SCRAPYS,
        "ZYTE_API_TRANSPARENT_MODE": True,
        "ZYTE_API_KEY": "none",
        "ZYTE_API_URL": api.url("/v1/"),
        "POLITE_MIN_DELAY": 0.3,
    }
    page, forbidden = "http://site.test/page", "http://site.test/private/page"
    asked: list[Asking] = [*[{"url": page, "dont_filter": True}] * 4, forbidden]
    run = await crawl_here(web, asked, settings)
    assert run.outcome == {page: [200] * 4, forbidden: ["IgnoreRequest"]}
    assert len(paths(run, api)) == 1 + 4
    assert all(gap.wait >= 0.3 for gap in gaps(run.arrivals))
    assert_no_lease_left(run)


def of_the_api(path: str, body: str) -> Answer:
    """Return what the API answers when it fetched a page."""
    fetched = {
        "url": f"http://site.test{path}",
        "statusCode": 200,
        "httpResponseBody": base64.b64encode(body.encode()).decode(),
        "httpResponseHeaders": [{"name": "content-type", "value": "text/plain"}],
    }
    return Answer(200, {"Content-Type": "application/json"}, json.dumps(fetched), delay=0.1)
