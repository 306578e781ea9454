"""Middlewares that give requests other names: what a site sees is who really asks."""

from __future__ import annotations

from typing import Any

import pytest

from company.needing import need_package
from crawls.judging import MANY, paths
from harness import Web, crawl_here

pytestmark = [
    pytest.mark.crawl,
    pytest.mark.filterwarnings("ignore::scrapy.exceptions.ScrapyDeprecationWarning"),
]

OURS = ("HarnessBot/1.0 (ops@harness.test)", "ops@harness.test")
# as the packages' own pages say, but for their retries, which this Scrapy does not run
PACKAGES: dict[str, tuple[str, dict[str, Any]]] = {
    "scrapy-user-agents": (
        "scrapy_user_agents.middlewares",
        {"scrapy_user_agents.middlewares.RandomUserAgentMiddleware": 400},
    ),
    "scrapy-fake-useragent": (
        "scrapy_fake_useragent.middleware",
        {"scrapy_fake_useragent.middleware.RandomUserAgentMiddleware": 400},
    ),
}


async def names(web: Web, middlewares: dict[str, Any]) -> tuple[set[tuple[str, str]], str]:
    """Crawl a page and one that is retried; return all (User-Agent, From) seen, and the log."""
    site = web.site({"/robots.txt": "", "/1": [500, 200], "*": ""})
    settings = {
        **MANY,
        "RETRY_ENABLED": True,
        "DOWNLOADER_MIDDLEWARES": middlewares,
        "FAKEUSERAGENT_PROVIDERS": ["scrapy_fake_useragent.providers.FakerProvider"],
    }
    run = await crawl_here(web, [site.url("/0"), site.url("/1")], settings)
    assert sorted(paths(run, site)) == ["/0", "/1", "/1", "/robots.txt"]
    seen = {(a.headers["user-agent"], a.headers["from"]) for a in run.arrivals}
    return seen, run.log


@pytest.mark.parametrize("package", PACKAGES)
async def test_packages(web: Web, package: str) -> None:
    """Packages that rotate names have no effect, on retries neither."""
    module, middlewares = PACKAGES[package]
    need_package(package, module)
    builtin = {"scrapy.downloadermiddlewares.useragent.UserAgentMiddleware": None}
    seen, _ = await names(web, builtin | middlewares)
    assert seen == {OURS}


@pytest.mark.parametrize("position", [400, 543, 970])
async def test_by_hand(web: Web, position: int) -> None:
    """Neither does one by hand, wherever it stands; where it would hide ours, one warning says so.

    Scrapy's project template lists middlewares at 543.
    """
    seen, log = await names(web, {"company.parts.Renamer": position})
    assert seen == {OURS}
    assert log.count("it has no effect, HarnessBot/1.0") == (position > 490)


async def test_on_purpose(web: Web) -> None:
    """Who switches our middleware off goes under another name; the start says what that means."""
    off = {"scrapy_polite.PoliteIdentityMiddleware": None, "company.parts.Renamer": 543}
    seen, log = await names(web, off)
    assert {agent[:11] for agent, _ in seen} == {"Mozilla/5.0"}
    assert log.count("requests do not say who asks") == 1


@pytest.mark.parametrize("headers", [{}, {"PLAYWRIGHT_PROCESS_REQUEST_HEADERS": None}], ids=repr)
async def test_browsers(web: Web, headers: dict[str, Any]) -> None:
    """One warning at the start names the setting that keeps our headers from a browser."""
    run = await crawl_here(web, [], headers)
    assert run.log.count("the browser does not say who asks") == len(headers)
