"""robots.txt in the company of Scrapy's other components and of users' own ones."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
from scrapy import signals
from scrapy.robotstxt import ProtegoRobotParser

from crawls.judging import (
    ALLOW,
    ALLOWED,
    DISALLOW,
    FORBIDDEN,
    MANY,
    UNREACHABLE,
    Case,
    expected,
    judge,
    moved,
    paths,
    verdict,
)
from harness import Answer, Web, crawl_here, gaps, robots_fetches

pytestmark = pytest.mark.crawl

MIDDLEWARE = "crawls.parts.Middleware"


@pytest.mark.parametrize("position", [10, 540, 960])
async def test_users_middlewares(web: Web, position: int) -> None:
    """What a user's middleware breaks of a robots.txt fetch makes the file unreachable: no page.

    One that repeats the request is served; one that answers for robots.txt itself is believed.
    """
    tricks = {
        "drop": UNREACHABLE,
        "fail": UNREACHABLE,
        "rewrite": UNREACHABLE,
        "make_new": UNREACHABLE,
        "answer_for_another": UNREACHABLE,
        "answer": ALLOWED,
        "repeat": FORBIDDEN,
    }
    sites = {trick: web.site({"/robots.txt": DISALLOW, "*": ""}) for trick in tricks}
    settings = {
        **MANY,
        "DOWNLOADER_MIDDLEWARES": {MIDDLEWARE: position},
        "USERS_PARTS": {f"{site.host}/robots.txt": trick for trick, site in sites.items()},
    }
    run = await crawl_here(web, [site.url("/private/page") for site in sites.values()], settings)
    assert {trick: verdict(run, site) for trick, site in sites.items()} == tricks


async def test_scrapys_middlewares(web: Web) -> None:
    """Retry, cookies, referer and default headers leave the robots.txt fetch alone."""
    cases = {
        "503": Case(503, UNREACHABLE),
        "dropped": Case(Answer(drop=True), UNREACHABLE),
        "sets a cookie": Case(Answer(headers={"Set-Cookie": "a=1"}, body=ALLOW), ALLOWED),
        "meta refresh": Case(
            Answer(
                headers={"Content-Type": "text/html"},
                body=DISALLOW + '# <meta http-equiv="refresh" content="0; url=/mine">',
            ),
            FORBIDDEN,
        ),
    }
    got, run, sites = await judge(web, cases, {"RETRY_ENABLED": True, "RETRY_TIMES": 5})
    assert got == expected(cases)
    for name in ("503", "dropped"):
        assert paths(run, sites[name]) == ["/robots.txt"]
    assert not any("cookie" in seen.headers for seen in run.arrivals)


async def test_a_sessions_cookie_stays_out(web: Web) -> None:
    """A cookie of the site's pages is not sent with robots.txt."""
    page = Answer(headers={"Set-Cookie": "session=1"})
    site = web.site({"/robots.txt": Answer(headers={"Cache-Control": "max-age=1"}), "*": page})
    ages = {"POLITE_ROBOTS_MIN_AGE": 0, "POLITE_MIN_DELAY": 0.4}
    run = await crawl_here(web, [site.url(f"/{n}") for n in range(5)], {**MANY, **ages})
    with_cookie = {seen.path for seen in run.arrivals if "cookie" in seen.headers}
    assert len(robots_fetches(run.arrivals)) > 1
    assert with_cookie and "/robots.txt" not in with_cookie


async def test_http_cache(web: Web, tmp_path: Path) -> None:
    """HttpCache neither keeps robots.txt nor answers for it, though it does for pages."""
    site = web.site({"/robots.txt": [ALLOW, DISALLOW], "*": "page"})
    cache = {"HTTPCACHE_ENABLED": True, "HTTPCACHE_DIR": str(tmp_path)}
    first = await crawl_here(web, [site.url("/a")], {**MANY, **cache})
    second = await crawl_here(web, [site.url("/a"), site.url("/private/page")], {**MANY, **cache})
    assert paths(first, site) == ["/robots.txt", "/a"]
    assert paths(second, site) == ["/robots.txt"]
    assert second.outcome == {site.url("/a"): [200], site.url("/private/page"): ["IgnoreRequest"]}


async def test_stats_and_signal(web: Web) -> None:
    """Scrapy's robotstxt/* stats and the robots_parsed signal go on working."""
    sites = [
        web.site({"/robots.txt": robots, "*": "", "/rules": DISALLOW})
        for robots in (DISALLOW, ALLOW, 404, moved("/rules"), Answer(drop=True), 500)
    ]
    settings = {**MANY, "EXTENSIONS": {"crawls.parts.Listener": 0}}
    run = await crawl_here(web, [site.url("/private/page") for site in sites], settings)
    ours = {k: v for k, v in run.stats.items() if k.startswith("robotstxt/")}
    [failed] = [name for name in ours if name.startswith("robotstxt/exception_count/")]
    assert ours == {
        "robotstxt/request_count": 6,
        "robotstxt/response_count": 5,
        "robotstxt/response_status_count/200": 3,
        "robotstxt/response_status_count/404": 1,
        "robotstxt/response_status_count/500": 1,
        "robotstxt/forbidden": 2,
        failed: 1,
    }
    if hasattr(signals, "robots_parsed"):  # Scrapy 2.17
        assert (run.stats["heard/forbidden"], run.stats["heard/allowed"]) == (2, 2)


async def test_exempt_requests(web: Web) -> None:
    """`dont_obey_robotstxt` and a spider's own look at /robots.txt need no verdict."""
    site = web.site({"/robots.txt": DISALLOW, "*": ""})
    exempt = {"url": site.url("/private/page"), "meta": {"dont_obey_robotstxt": True}}
    run = await crawl_here(web, [exempt], MANY)
    assert paths(run, site) == ["/private/page"]

    run = await crawl_here(web, [exempt, site.url("/robots.txt"), site.url("/private/2")], MANY)
    assert sorted(paths(run, site)) == ["/private/page", "/robots.txt", "/robots.txt"]
    assert run.outcome[site.url("/robots.txt")] == [200]
    assert verdict(run, site, "/private/2") == FORBIDDEN


async def test_not_obeyed(web: Web) -> None:
    """With ROBOTSTXT_OBEY False nobody asks for robots.txt, and the log says what that means."""
    site = web.site({"/robots.txt": DISALLOW, "*": ""})
    run = await crawl_here(web, [site.url("/private/page")], {**MANY, "ROBOTSTXT_OBEY": False})
    assert paths(run, site) == ["/private/page"]
    assert "robots.txt is not obeyed" in run.log


async def test_another_parser(web: Web) -> None:
    """ROBOTSTXT_PARSER stays pluggable; Crawl-delay is kept, though Scrapy's know none."""
    rules = DISALLOW + "Crawl-delay: 0.3\n"
    site = web.site({"/robots.txt": rules, "*": ""})
    parser = {"ROBOTSTXT_PARSER": "scrapy.robotstxt.ProtegoRobotParser"}
    asked = [site.url(path) for path in ("/private/page", "/a", "/b")]
    run = await crawl_here(web, asked, {**MANY, **parser})
    assert paths(run, site) == ["/robots.txt", "/a", "/b"]
    assert verdict(run, site) == FORBIDDEN
    assert all(gap.wait >= 0.3 for gap in gaps(run.arrivals))


class NanParser(ProtegoRobotParser):  # type: ignore[misc]
    """A parser that reads a Crawl-delay as Python reads a float."""

    def crawl_delay(self, user_agent: str) -> float:
        return math.nan


async def test_a_parser_whose_crawl_delay_is_no_number(web: Web, tmp_path: Path) -> None:
    """The file's own Crawl-delay is kept instead, the state file goes on, and no page is lost."""
    site = web.site({"/robots.txt": DISALLOW + "Crawl-delay: 0.3\n", "*": ""})
    other = web.site({"/robots.txt": DISALLOW + "Crawl-delay: nan\n", "*": ""})
    settings = {
        **MANY,
        "ROBOTSTXT_PARSER": "crawls.test_robots_company.NanParser",
        "POLITE_STATE": str(tmp_path / "polite.db"),
    }
    asked = [place.url(path) for place in (site, other) for path in ("/a", "/b")]
    run = await crawl_here(web, asked, settings)
    assert paths(run, site) == paths(run, other) == ["/robots.txt", "/a", "/b"]
    assert all(gap.wait >= 0.3 for gap in gaps(run.arrivals) if gap.host == site.host)
