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
        f"five of {status}": Case(404, FORBIDDEN, chain(5, DISALLOW, status))
        for status in (301, 302, 303, 307, 308)
    }
    ends = {
        "six": Case(404, ALLOWED, chain(6, DISALLOW)),
        "to itself": Case(moved("/robots.txt"), ALLOWED),
        "to itself by another name": Case(moved("../robots.txt#top"), ALLOWED),
        "round": Case(404, ALLOWED, chain(2, moved("/1"))),
        "nowhere": Case(Answer(302, body=DISALLOW), ALLOWED),
        "ftp": Case(moved("ftp://127.0.0.1/robots.txt"), ALLOWED),
        "javascript": Case(moved("javascript:alert(1)"), ALLOWED),
        "no host": Case(moved("http:///robots.txt"), ALLOWED),
        "no port": Case(moved("http://127.0.0.1:99999/robots.txt"), ALLOWED),
        "to 404": Case(404, ALLOWED, chain(1, Answer(404, body=DISALLOW))),
        "to 503": Case(404, UNREACHABLE, chain(1, Answer(503, body=ALLOW))),
        "to 429": Case(404, UNREACHABLE, chain(2, Answer(429, body=ALLOW))),
        "to a drop": Case(404, UNREACHABLE, chain(1, Answer(drop=True))),
        "relative": Case(moved("r/../rules.txt?a=b c#d"), FORBIDDEN, {"/rules.txt": DISALLOW}),
    }
    got, run, sites = await judge(web, followed | ends)
    assert got == expected(followed | ends)
    assert "/6" not in paths(run, sites["six"])
    assert len(robots_fetches(run.arrivals, sites["to itself"].host)) == 1
    assert paths(run, sites["round"])[:3] == ["/robots.txt", "/1", "/2"]


async def test_rfc9309_2_3_1_2_other_hosts(web: Web) -> None:
    """Other hosts are asked too, off-site ones as well; their rules count for who sent us there.

    What a host says of itself counts for its own pages only.
    """
    other = web.site({"/rules.txt": DISALLOW, "/robots.txt": ALLOW, "*": ""})
    dead = web.deserted()

    def onward(write: Callable[[str, int], str]) -> Callable[[Asked], Any]:
        return lambda asked: moved(write(other.host, asked.port))

    cases = {
        "absolute": Case(onward(lambda h, p: f"http://{h}:{p}/rules.txt"), FORBIDDEN),
        "no scheme": Case(onward(lambda h, p: f"//{h}:{p}/rules.txt"), FORBIDDEN),
        "userinfo": Case(onward(lambda h, p: f"http://me:secret@{h}:{p}/rules.txt"), FORBIDDEN),
        "its robots.txt": Case(onward(lambda h, p: f"http://{h}:{p}/robots.txt"), ALLOWED),
        "its 404": Case(onward(lambda h, p: f"http://{h}:{p + 0}/none"), ALLOWED),
        "another scheme": Case(onward(lambda h, p: f"https://{h}:{p}/rules.txt"), UNREACHABLE),
        "a dead host": Case(lambda _: moved(dead.url("/robots.txt")), UNREACHABLE),
    }
    other.pages["/none"] = 404  # type: ignore[index]
    got, run, _ = await judge(web, cases, {"POLITE_ROBOTS_TIMEOUT": 3})
    assert got == expected(cases)
    assert not any("authorization" in seen.headers for seen in run.arrivals)


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
    slow = {
        path: lambda _, page=page: Answer(**page, delay=0.4)
        for path, page in chain(4, {"body": ALLOW}).items()
    }
    cases = {"slow": Case(404, UNREACHABLE, slow)}
    got, run, sites = await judge(web, cases, {"POLITE_ROBOTS_TIMEOUT": 1})
    assert got == expected(cases)
    assert "/4" not in paths(run, sites["slow"])


async def test_redirected_pages_are_judged_at_each_hop(web: Web) -> None:
    """A redirect of a page into what its target's origin forbids is not followed."""
    strict = web.site({"/robots.txt": DISALLOW, "/go": moved("/private/page"), "*": ""})
    open_ = web.site(
        {"/robots.txt": 404, "/go": moved(strict.url("/private/page")), "/ok": moved("/private/a")}
    )
    asked = [strict.url("/go"), open_.url("/go"), open_.url("/ok")]
    run = await crawl_here(web, asked, MANY)
    assert paths(run, strict) == ["/robots.txt", "/go"]
    assert [run.outcome[url] for url in asked] == [["IgnoreRequest"], ["IgnoreRequest"], [404]]
