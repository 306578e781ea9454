"""Cookies and HTTP authentication: a session outlasts waits and refusals, and stays at home."""

from __future__ import annotations

from typing import Any

import pytest

from crawls.judging import MANY, moved
from crawls.promise import FREE, assert_ten_times
from harness import Answer, Asked, Web, crawl_here
from harness.spider import Asking

pytestmark = pytest.mark.crawl


def greet(asked: Asked) -> Answer:
    """Return a page that hands out a session to whom it does not know."""
    known = "session=" in asked.headers.get("cookie", "")
    return Answer(headers={} if known else {"Set-Cookie": "session=first"}, delay=0.01)


async def test_a_session_outlasts_waits_and_refusals(web: Web) -> None:
    """A refused request comes back with the session as it is by then, once, as all after it do."""
    refusal = Answer(429, {"Retry-After": "1", "Set-Cookie": "session=second"})
    site = web.site({**FREE, "/refused": [refusal, 200], "*": greet})
    order = ["/login", "/1", "/refused", "/2", "/3"]
    asked: list[Asking] = [
        {"url": site.url(path), "priority": -10 * number} for number, path in enumerate(order)
    ]
    run = await crawl_here(web, asked)
    assert [(seen.path, seen.headers.get("cookie")) for seen in run.arrivals] == [
        ("/robots.txt", None),
        ("/login", None),
        ("/1", "session=first"),
        ("/refused", "session=first"),
        ("/refused", "session=second"),
        ("/2", "session=second"),
        ("/3", "session=second"),
    ]
    assert run.arrivals[4].start_at - run.arrivals[3].end_at >= 1
    assert_ten_times(run.arrivals)


async def test_cookie_jars_stay_apart(web: Web) -> None:
    """Requests of several cookie jars take turns at a host, and each keeps its own session."""

    def number(asked: Asked) -> Answer:
        jar = asked.path.rpartition("/")[2]
        return Answer(headers={"Set-Cookie": f"session={jar}; Path=/"}, delay=0.01)

    site = web.site({**FREE, "*": number})
    asked: list[Any] = [
        {"url": site.url(f"/{page}/{jar}"), "meta": {"cookiejar": jar}, "priority": -page}
        for page in range(3)
        for jar in ("a", "b")
    ]
    run = await crawl_here(web, asked)
    pages = [seen for seen in run.arrivals if seen.path != "/robots.txt"]
    for seen in pages[2:]:
        assert seen.headers["cookie"] == f"session={seen.path.rpartition('/')[2]}"
    assert len(pages) == len(asked)
    assert_ten_times(run.arrivals)


@pytest.mark.filterwarnings("ignore:Use the HTTPAUTH_USER")
@pytest.mark.parametrize("everywhere", [False, True])
async def test_http_auth(web: Web, everywhere: bool) -> None:
    """A spider's http_user goes with pages and robots.txt, and not to where a robots.txt leads.

    With http_auth_domain None Scrapy sends it with the pages of every host; robots hops stay out.
    """
    other = web.site({"/robots.txt": 404, "*": ""})
    home = web.site({"/robots.txt": moved(other.url("/rules")), "*": ""})
    spider = {
        "http_user": "me",
        "http_pass": "secret",
        "http_auth_domain": None if everywhere else f"{home.host}:{home.port}",
    }
    run = await crawl_here(web, [home.url("/page"), other.url("/page")], MANY, spider)
    sent = {(seen.host, seen.path): "authorization" in seen.headers for seen in run.arrivals}
    assert sent == {
        (home.host, "/robots.txt"): True,
        (home.host, "/page"): True,
        (other.host, "/rules"): False,
        (other.host, "/robots.txt"): everywhere,
        (other.host, "/page"): everywhere,
    }
