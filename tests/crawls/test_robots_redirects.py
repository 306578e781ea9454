"""Redirects of robots.txt (RFC 9309 section 2.3.1.2), and of pages into what is forbidden."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from crawls.judging import (
    ALLOW,
    ALLOWED,
    DISALLOW,
    FORBIDDEN,
    MANY,
    UNREACHABLE,
    Case,
    chain,
    expected,
    judge,
    moved,
    paths,
    verdict,
)
from harness import Answer, Asked, Web, crawl_here, robots_fetches

pytestmark = pytest.mark.crawl


async def test_rfc9309_2_3_1_2_hops(web: Web) -> None:
    """Five redirects of any kind are followed; more, loops and dead ends are unavailable: go."""
    followed = {
        f"five of {status}": chain(5, DISALLOW, FORBIDDEN, status=status)
        for status in (301, 302, 303, 307, 308)
    }
    ends = {
        "six": chain(6, DISALLOW, ALLOWED),
        "to itself": Case(moved("/robots.txt"), ALLOWED),
        "to itself by another name": Case(moved("../robots.txt#top"), ALLOWED),
        "round": chain(2, moved("/1"), ALLOWED),
        "nowhere": Case(Answer(302, body=DISALLOW), ALLOWED),
        "ftp": Case(moved("ftp://127.0.0.1/robots.txt"), ALLOWED),
        "no host": Case(moved("http:///robots.txt"), ALLOWED),
        "no port": Case(moved("http://127.0.0.1:99999/robots.txt"), ALLOWED),
        "to 404": chain(1, Answer(404, body=DISALLOW), ALLOWED),
        "to 503": chain(1, Answer(503, body=ALLOW), UNREACHABLE),
        "to 429": chain(2, Answer(429, body=ALLOW), UNREACHABLE),
        "relative": Case(moved("r/../rules.txt?a=b c#d"), FORBIDDEN, {"/rules.txt": DISALLOW}),
    }
    got, run, sites = await judge(web, followed | ends)
    assert got == expected(followed | ends)
    assert "/6" not in paths(run, sites["six"])
    assert len(robots_fetches(run.arrivals, sites["to itself"].host)) == 1
    assert paths(run, sites["round"])[:3] == ["/robots.txt", "/1", "/2"]


async def test_rfc9309_2_3_1_2_other_hosts(web: Web) -> None:
    """Other hosts are asked too, off-site ones as well; their rules count for who sent us there.

    Credentials that the crawl sends with every request stay at home.
    """
    other = web.site({"/rules.txt": DISALLOW, "/robots.txt": ALLOW, "/private/page": ""})

    def onward(write: Callable[[str, int], str]) -> Callable[[Asked], Any]:
        return lambda asked: moved(write(other.host, asked.port))

    cases = {
        "absolute": Case(onward(lambda h, p: f"http://{h}:{p}/rules.txt"), FORBIDDEN),
        "no scheme": Case(onward(lambda h, p: f"//{h}:{p}/rules.txt"), FORBIDDEN),
        "userinfo": Case(onward(lambda h, p: f"http://me:secret@{h}:{p}/rules.txt"), FORBIDDEN),
        "its robots.txt": Case(onward(lambda h, p: f"http://{h}:{p}/robots.txt"), ALLOWED),
        "its 404": Case(onward(lambda h, p: f"http://{h}:{p}/none"), ALLOWED),
    }
    secrets = {"Authorization": "Basic bWU6c2VjcmV0", "Cookie": "session=secret"}
    got, run, _ = await judge(web, cases, {"DEFAULT_REQUEST_HEADERS": secrets})
    assert got == expected(cases)
    for seen in robots_fetches(run.arrivals):
        at_home = seen.host != other.host
        assert ("authorization" in seen.headers, "cookie" in seen.headers) == (at_home, at_home)


async def test_rfc9309_2_3_1_4_to_who_does_not_answer(web: Web) -> None:
    """A redirect to a dead host, or to a scheme that nobody speaks there, is unreachable."""
    dead = web.deserted()
    cases = {
        "a dead host": Case(lambda _: moved(dead.url("/robots.txt")), UNREACHABLE),
        "another scheme": Case(lambda a: moved(f"https://{a.host}:{a.port}/rules"), UNREACHABLE),
    }
    got, _, _ = await judge(web, cases, {"POLITE_ROBOTS_TIMEOUT": 1})
    assert got == expected(cases)


async def test_rfc9309_2_3_1_2_rules_belong_to_the_origin_first_asked(web: Web) -> None:
    """A host that lends its rules to another one is still asked for its own."""
    lender = web.site({"/robots.txt": DISALLOW, "*": ""})
    borrower = web.site({"/robots.txt": moved(lender.url("/robots.txt")), "*": ""})
    asked = [site.url(path) for site in (lender, borrower) for path in ("/private/page", "/open")]
    run = await crawl_here(web, asked, MANY)
    for site in (lender, borrower):
        assert verdict(run, site) == FORBIDDEN
        assert verdict(run, site, "/open") == ALLOWED
    assert len(robots_fetches(run.arrivals, lender.host)) == 2


async def test_one_deadline_for_the_chain(web: Web) -> None:
    """POLITE_ROBOTS_TIMEOUT counts the seconds on the wire of all hops together."""
    cases = {"slow": chain(4, ALLOW, UNREACHABLE, delay=0.4)}
    got, run, sites = await judge(web, cases, {"POLITE_ROBOTS_TIMEOUT": 1})
    assert got == expected(cases)
    assert "/4" not in paths(run, sites["slow"])


async def test_redirected_pages_are_judged_at_each_hop(web: Web) -> None:
    """A redirect of a page into what its target's origin forbids is not followed."""
    strict = web.site({"/robots.txt": DISALLOW, "/go": moved("/private/page"), "*": ""})
    open_ = web.site(
        {"/robots.txt": 404, "/go": moved(strict.url("/private/2")), "/ok": moved("/private/a")}
    )
    asked = [strict.url("/go"), open_.url("/go"), open_.url("/ok")]
    run = await crawl_here(web, asked, MANY)
    assert paths(run, strict) == ["/robots.txt", "/go"]
    assert [run.outcome[url] for url in asked] == [["IgnoreRequest"], ["IgnoreRequest"], [404]]
