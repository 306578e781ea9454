"""Who asks: User-Agent and From on every request, and no crawl without a contact."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from scrapy import Spider
from scrapy.http import Response
from scrapy.utils.defer import deferred_from_coro, maybe_deferred_to_future
from twisted.internet.defer import DeferredList

from crawls.judging import MANY, moved
from crawls.promise import fetch_directly
from harness import CrawlFailed, Web, crawl_here
from harness.spider import Asking

pytestmark = pytest.mark.crawl

CONTACT = {
    "POLITE_PRODUCT": "GuestBot/2.0",
    "POLITE_CONTACT_URL": "https://guest.test/bot",
    "POLITE_CONTACT_EMAIL": "ops@guest.test",
}
NOBODY = {"POLITE_PRODUCT": None, "POLITE_CONTACT_EMAIL": None}
AGENT = "GuestBot/2.0 (+https://guest.test/bot; ops@guest.test)"


@pytest.mark.usefixtures("in_process")
async def test_every_request_names_us(web: Web, tmp_path: Path) -> None:
    """Pages, robots.txt and its redirects, hops, media and direct downloads all say who asks.

    Headers that settings or requests bring along do not hide it.
    """
    other = web.site({"/robots.txt": 404, "*": ""})
    home = web.site(
        {"/robots.txt": moved("/rules"), "/rules": "", "/go": moved(other.url("/hop")), "*": ""}
    )

    async def parse(self: Spider, response: Response, asked_url: str) -> Any:
        yield {"file_urls": [other.url("/file")]}
        await fetch_directly(self, [other.url("/direct")])

    settings = {
        **MANY,
        **CONTACT,
        "DEFAULT_REQUEST_HEADERS": {"User-Agent": "Mozilla/5.0", "From": "me@hidden.test"},
        "ITEM_PIPELINES": {"scrapy.pipelines.files.FilesPipeline": 1},
        "FILES_STORE": str(tmp_path),
    }
    asked: list[Asking] = [
        home.url("/go"),
        {"url": home.url("/a"), "headers": {"User-Agent": "Chrome"}},
    ]
    run = await crawl_here(web, asked, settings, {"parse": parse})
    assert {(a.headers["user-agent"], a.headers["from"]) for a in run.arrivals} == {
        (AGENT, "ops@guest.test")
    }
    seen = {seen.path for seen in run.arrivals}
    assert seen == {"/robots.txt", "/rules", "/go", "/a", "/hop", "/direct", "/file"}


@pytest.mark.usefixtures("in_process")
async def test_contacts_by_spider(web: Web) -> None:
    """`custom_settings` give each spider a contact of its own, also side by side in a process."""
    site = web.site({"/robots.txt": 404, "*": ""})
    crawls = [
        crawl_here(
            web,
            [site.url(f"/{name}")],
            {**MANY, **CONTACT},
            {
                "custom_settings": {
                    "POLITE_PRODUCT": name,
                    "POLITE_CONTACT_URL": None,
                    "POLITE_CONTACT_EMAIL": f"{name}@guest.test",
                }
            },
        )
        for name in ("Left", "Right")
    ]
    await maybe_deferred_to_future(DeferredList(list(map(deferred_from_coro, crawls))))
    agents = {a.headers["user-agent"] for a in web.arrivals() if a.path == "/Left"}
    assert agents == {"Left/1.0 (Left@guest.test)"}
    assert {a.headers["user-agent"] for a in web.arrivals() if a.path == "/robots.txt"} == {
        "Left/1.0 (Left@guest.test)",
        "Right/1.0 (Right@guest.test)",
    }


async def test_a_user_agent_that_names_a_contact(web: Web) -> None:
    """USER_AGENT is sent as it is when it names a contact, and its token counts in robots.txt."""
    rules = "User-agent: LegacyBot\nDisallow: /private/\n\nUser-agent: *\nAllow: /\n"
    site = web.site({"/robots.txt": rules, "*": ""})
    agent = "LegacyBot/0.9 (+https://legacy.test/bot)"
    asked = [site.url("/a"), site.url("/private/b")]
    run = await crawl_here(web, asked, {**MANY, **NOBODY, "USER_AGENT": agent})
    assert {seen.headers["user-agent"] for seen in run.arrivals} == {agent}
    assert [seen.path for seen in run.arrivals] == ["/robots.txt", "/a"]


async def test_robotstxt_user_agent(web: Web) -> None:
    """ROBOTSTXT_USER_AGENT decides which group applies, and POLITE_PRODUCT what is sent."""
    rules = "User-agent: OtherBot\nDisallow: /private/\n\nUser-agent: *\nAllow: /\n"
    site = web.site({"/robots.txt": rules, "*": ""})
    run = await crawl_here(
        web, [site.url("/private/a")], {**MANY, **CONTACT, "ROBOTSTXT_USER_AGENT": "OtherBot"}
    )
    assert [(a.path, a.headers["user-agent"]) for a in run.arrivals] == [("/robots.txt", AGENT)]


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        (NOBODY, "POLITE_CONTACT"),
        ({"POLITE_CONTACT_EMAIL": "you@example.com"}, "POLITE_CONTACT_EMAIL"),
        ({"POLITE_CONTACT_EMAIL": "bad\r\nX-Evil: 1"}, "POLITE_CONTACT_EMAIL"),
        ({"POLITE_CONTACT_URL": "https://scrapy.org"}, "POLITE_CONTACT_URL"),
        ({"POLITE_CONTACT_URL": "no url"}, "POLITE_CONTACT_URL"),
        ({"POLITE_PRODUCT": "My Bot 3"}, "POLITE_PRODUCT"),
        ({**NOBODY, "USER_AGENT": "Mozilla/5.0 (X11; Linux) Firefox/99"}, "USER_AGENT"),
    ],
    ids=repr,
)
async def test_no_crawl_without_a_contact(web: Web, settings: dict[str, Any], said: str) -> None:
    """A missing, placeholder or broken identity stops the crawl; the message names the setting."""
    site = web.site({"*": ""})
    with pytest.raises(CrawlFailed, match=f"ValueError: .*{said}"):
        await crawl_here(web, [site.url()], settings)
    assert web.arrivals() == []
