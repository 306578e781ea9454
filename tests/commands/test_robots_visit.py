"""`scrapy robots URL`: what a visit asks of a site, and what the report makes of the answers."""

from __future__ import annotations

import gzip
from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from scrapy.crawler import CrawlerRunner
from scrapy.settings import Settings
from scrapy.utils.asyncio import call_later
from scrapy.utils.defer import maybe_deferred_to_future
from scrapy.utils.reactor import is_asyncio_reactor_installed
from twisted.internet.defer import Deferred

from harness import Answer, Arrival, Asked, Web, gaps, most_at_once
from scrapy_polite import config
from scrapy_polite.commands.robots import visit_settings
from scrapy_polite.commands.robots.plain import to_plain
from scrapy_polite.commands.robots.question import parse
from scrapy_polite.commands.robots.report import Report, make_report
from scrapy_polite.commands.robots.text import to_text
from scrapy_polite.commands.robots.visit import Errand, Visit, Visitor

pytestmark = pytest.mark.crawl

RULES = b"User-agent: *\nDisallow: /private\n"
NAMED: dict[str, Any] = {
    "POLITE_PRODUCT": "VisitBot/2.0",
    "POLITE_CONTACT_EMAIL": "ops@visit.test",
    "POLITE_MIN_DELAY": 0,
}


async def visit(
    url: str,
    paths: Sequence[str] = (),
    settings: Mapping[str, Any] = NAMED,
    token: str = "VisitBot",
) -> Report:
    """Return the report on a site, as the command makes it."""
    own = Settings(
        {**settings, **({} if is_asyncio_reactor_installed() else {"TWISTED_REACTOR": None})}
    )
    merged = visit_settings.for_visit(own)
    read, nameless = config.read(merged), not visit_settings.says_who(own)
    question = parse(url, paths)
    errand = Errand(question, token, read, looks=not nameless, say=lambda text: None)
    visits: list[Visit] = []
    runner = CrawlerRunner(merged)
    await maybe_deferred_to_future(runner.crawl(Visitor, errand=errand, done=visits.append))
    [made] = visits
    return make_report(question, read, made.reading, made, nameless=nameless)


async def _recorded(web: Web, count: int) -> list[Arrival]:
    """Return the record once so many are in it: a client that left is noticed a little later."""
    for _ in range(100):
        if len(web.arrivals()) >= count:
            break
        later: Deferred[None] = Deferred()
        call_later(0.05, later.callback, None)
        await maybe_deferred_to_future(later)
    return web.arrivals()


def _moved(to: str) -> Answer:
    return Answer(301, {"Location": to})


STATUSES: dict[str, tuple[Any, int, str, str]] = {
    "200": (RULES, 1, "successful", "Answer       200: its rules count"),
    "gzip": (
        Answer(headers={"Content-Encoding": "gzip"}, body=gzip.compress(RULES)),
        1,
        "successful",
        "Size         33 octets",
    ),
    "UTF-16": (RULES.decode().encode("utf-16"), 1, "successful", "UTF-16, with a byte order mark"),
    "204": (204, 0, "successful", "Size         0 octets"),
    "404 with rules": (
        Answer(404, body=RULES),
        0,
        "unavailable",
        "The status is 404, so the rules in the body do not count.",
    ),
    "403": (403, 0, "unavailable", "403: there are no rules, everything is allowed"),
    "a loop": (_moved("/robots.txt"), 0, "unavailable", "301: the redirects lead nowhere"),
    "429": (
        Answer(429, {"Retry-After": "77"}),
        2,
        "unreachable",
        "429: nothing is allowed until the file can be read\n  Retry-After  77",
    ),
    "503 with rules": (
        Answer(503, body=RULES),
        2,
        "unreachable",
        "so the rules in the body do not",
    ),
    "soft 404": (
        Answer(headers={"Content-Type": "text/html"}, body="<!doctype html><p>No such page"),
        0,
        "successful",
        "a 'soft 404', if the site has none",
    ),
    "media type": (
        Answer(headers={"Content-Type": "application/json"}, body=RULES),
        1,
        "successful",
        "The media type is application/json; the standard asks for text/plain.",
    ),
    "no media type": (
        Answer(headers={"Content-Type": ""}, body=RULES),
        1,
        "successful",
        "The answer names no media type; the standard asks for text/plain.",
    ),
    "too long": (
        Answer(body=RULES, size_bytes=3_000_000),
        1,
        "successful",
        "more than 512,000 octets, of which the first 32 are read",
    ),
}


@pytest.mark.parametrize("name", STATUSES)
async def test_rfc9309_2_3_answers(web: Web, name: str) -> None:
    """Each kind of answer has its access, its exit status and its words."""
    answer, status, access, said = STATUSES[name]
    site = web.site({"/robots.txt": answer})
    report = await visit(site.url(), ["/private"])
    plain = to_plain(report)
    assert (report.exit_status, plain["fetch"]["access"], plain["fetch"]["error"]) == (
        status,
        access,
        None,
    )
    assert said in to_text(report)
    assert [seen.path for seen in web.arrivals()].count("/robots.txt") == 1


FAILURES = {
    "refused": (None, "it refuses connections"),
    "dropped": (Answer(drop=True), "it broke the connection off"),
    "silent": (Answer(hang=True), "it did not answer within 0.5 s"),
    "slow hop": (_moved("/slow"), "it did not answer within 0.5 s"),
}


@pytest.mark.parametrize("name", FAILURES)
async def test_no_answer(web: Web, name: str) -> None:
    """A site that gives no answer is told in one sentence, and nothing is known of its pages."""
    answer, words = FAILURES[name]
    site = web.deserted()
    if answer:
        site = web.site({"/robots.txt": answer, "/slow": Answer(hang=True)})
    report = await visit(site.url(), settings={**NAMED, "POLITE_ROBOTS_TIMEOUT": 0.5})
    url = site.url("/robots.txt")
    assert report.failure == f"{url} could not be fetched: {words}."
    assert report.exit_status == 2
    assert to_plain(report)["pages"][0]["allowed"] is None


async def test_rfc9309_2_3_1_2_redirects(web: Web) -> None:
    """Hops are told with their statuses, and the rules belong to the origin that was asked."""
    target = web.site({"/rules": Answer(body=RULES)})
    site = web.site({"/robots.txt": _moved(target.url("/rules")), "/ok": ""})
    report = await visit(site.url("/ok"), ["/private"])
    fetch = to_plain(report)["fetch"]
    assert fetch["hops"] == [
        {"url": site.url("/robots.txt"), "status": 301},
        {"url": target.url("/rules"), "status": 200},
    ]
    assert f"Redirect     301 {site.url('/robots.txt')}" in to_text(report)
    assert f"Ends at      {target.url('/rules')}" in to_text(report)
    assert [page.ruling.allowed for page in report.pages] == [True, False]


async def test_identity(web: Web) -> None:
    """Every request carries the identity of the crawls."""
    site = web.site({"/robots.txt": RULES, "/ok": ""})
    await visit(site.url("/ok"))
    assert [seen.path for seen in web.arrivals()] == ["/robots.txt", "/ok"]
    for seen in web.arrivals():
        assert seen.headers["user-agent"] == "VisitBot/2.0 (ops@visit.test)"
        assert seen.headers["from"] == "ops@visit.test"


async def test_nobody_has_said_who_asks(web: Web) -> None:
    """Then robots.txt is asked for in Scrapy's name, no page is fetched, and a note says so."""
    site = web.site({"/robots.txt": RULES, "/ok": ""})
    report = await visit(site.url("/ok"), settings={}, token="Scrapy")
    [seen] = web.arrivals()
    assert seen.path == "/robots.txt"
    assert seen.headers["user-agent"].startswith("Scrapy/")
    assert "from" not in seen.headers
    assert "Note: Nobody has said who asks" in to_text(report)
    assert to_plain(report)["fetch"]["nameless"] is True


LOOKS: dict[str, tuple[Any, list[tuple[str, str]], str]] = {
    "nothing": ("<p>Hello", [], "looked at, status 200: it does not say noindex"),
    "header": (
        Answer(headers={"X-Robots-Tag": "noindex"}),
        [("X-Robots-Tag", "*")],
        'it says noindex to everyone: X-Robots-Tag "noindex"',
    ),
    "two headers": (
        Answer(headers=[("X-Robots-Tag", "nofollow"), ("X-Robots-Tag", "googlebot: none")]),
        [("X-Robots-Tag", "googlebot")],
        'it says noindex to googlebot: X-Robots-Tag "googlebot: none"',
    ),
    "meta": (
        "<html><meta name=robots content='noindex, follow'>",
        [("meta", "*")],
        'it says noindex to everyone: meta "noindex, follow"',
    ),
    "meta for us": ("<meta name=visitbot content=none>", [("meta", "visitbot")], "to visitbot:"),
    "no web page": (
        Answer(
            headers={"Content-Type": "application/pdf", "X-Robots-Tag": "noindex"},
            size_bytes=100,
            body_delay=20,
        ),
        [("X-Robots-Tag", "*")],
        "to everyone",
    ),
    "far down": (
        f"<p>{' ' * 1_400_000}<meta name=robots content=noindex>",
        [],
        "looked at, status 200: it does not say noindex",
    ),
    "404": (Answer(404, {"X-Robots-Tag": "noindex"}), [], "for noindex: it answered 404"),
    "503": (Answer(503, {"Retry-After": "9"}), [], "for noindex: it answered 503"),
    "redirect": (_moved("/other"), [], "it answered 301, which leads to /other"),
    "dropped": (Answer(drop=True), [], "for noindex: it broke the connection off"),
}


@pytest.mark.parametrize("name", LOOKS)
async def test_looks(web: Web, name: str) -> None:
    """An allowed page is asked for once, and whether it says noindex is told."""
    answer, found, said = LOOKS[name]
    site = web.site({"/robots.txt": RULES, "/page": answer, "/other": ""})
    report = await visit(site.url(), ["/page", "/page"])
    look = to_plain(report)["pages"][0]["look"]
    assert [(each["where"], each["agent"]) for each in look["noindex"]] == found
    text = to_text(report)
    assert said in text
    assert ("a Disallow would hide it from them" in " ".join(text.split())) == bool(found)
    log = await _recorded(web, 2)
    assert [seen.path for seen in log] == ["/robots.txt", "/page"]
    if name == "no web page":
        assert log[1].ended == "left"


async def test_what_else_a_page_says(web: Web) -> None:
    """A look tells other directives and the page's own preferences, whatever the crawls are for."""
    answer = Answer(
        headers={"X-Robots-Tag": "nofollow", "Content-Usage": "train-ai=n"},
        body="<meta name=visitbot content=noai><meta name=otherbot content=nosnippet>",
    )
    site = web.site({"/robots.txt": RULES, "/page": answer})
    settings = {**NAMED, "POLITE_PURPOSE": ["train-ai"], "POLITE_PAGE_DIRECTIVES": ["nofollow"]}
    report = await visit(site.url(), ["/page"], settings)
    text = to_text(report)
    assert 'it says nofollow: X-Robots-Tag "nofollow"' in text
    assert 'it says noai: meta "noai"' in text
    assert "nosnippet" not in text
    assert 'train-ai: disallow by Content-Usage "train-ai=n"' in text
    look = to_plain(report)["pages"][0]["look"]
    assert set(look["directives"]) == {"nofollow", "noai"}
    assert look["usage"]["train-ai"]["says"] == "disallow"


async def test_what_is_not_looked_at(web: Web) -> None:
    """Neither what is disallowed, nor the front page that nobody named, nor what cannot be told."""
    site = web.site({"/robots.txt": RULES, "*": ""})
    assert (await visit(site.url("/private/a"))).pages[0].look is None
    assert (await visit(site.url())).pages[0].look is None
    broken = web.site({"/robots.txt": 503, "*": ""})
    assert (await visit(broken.url("/ok"))).pages[0].look is None
    assert {seen.path for seen in web.arrivals()} == {"/robots.txt"}


async def test_looks_are_polite(web: Web) -> None:
    """One request at a time, and between two ten times the first one's duration."""
    site = web.site({"/robots.txt": Answer(delay=0.05, body=RULES), "*": Answer(delay=0.1)})
    await visit(site.url(), ["/a", "/b"])
    log = web.arrivals()
    assert [seen.path for seen in log] == ["/robots.txt", "/a", "/b"]
    assert most_at_once(log) == 1
    assert all(gap.wait >= 10 * (gap.before.end_at - gap.before.start_at) for gap in gaps(log))


async def test_looks_wait_for_the_crawl_delay(web: Web) -> None:
    """Crawl-delay holds from the first look on."""
    site = web.site({"/robots.txt": b"User-agent: visitbot\nCrawl-delay: 1\n", "*": ""})
    await visit(site.url(), ["/a", "/b"])
    assert len(web.arrivals()) == 3
    assert all(gap.wait >= 1.0 for gap in gaps(web.arrivals()))


async def test_a_crawl_delay_that_nobody_waits_for(web: Web) -> None:
    """When the wait is longer than POLITE_ROBOTS_TIMEOUT no page is looked at, and that is told."""
    site = web.site({"/robots.txt": b"User-agent: *\nCrawl-delay: 60\n", "*": ""})
    report = await visit(site.url("/a"))
    assert "its Crawl-delay of 60 s is too long to wait for here" in to_text(report)
    assert [seen.path for seen in web.arrivals()] == ["/robots.txt"]


async def test_a_turn_that_does_not_come(web: Web) -> None:
    """A wait that is longer than twice POLITE_ROBOTS_TIMEOUT is not waited for."""
    site = web.site({"/robots.txt": RULES, "*": ""})
    settings = {**NAMED, "POLITE_MIN_DELAY": 30, "POLITE_ROBOTS_TIMEOUT": 0.3}
    report = await visit(site.url(), ["/a", "/b"], settings)
    words = "its turn did not come within 0.6 s"
    assert words in to_text(report)
    assert [seen.path for seen in web.arrivals()] == ["/robots.txt"]


async def test_cookies_and_redirects_of_a_page_stay_there(web: Web) -> None:
    """A cookie that robots.txt sets is not sent to a page."""
    cookie = {"Set-Cookie": "a=b"}
    site = web.site({"/robots.txt": Answer(headers=cookie, body=RULES), "/a": ""})
    await visit(site.url("/a"))
    assert "cookie" not in web.arrivals()[-1].headers


PROSPECTS: dict[str, tuple[Any, dict[str, Any], dict[str, str]]] = {
    "rules": (
        RULES,
        {},
        {"2xx": "rules", "4xx but 429": "allowed", "429, 5xx, no answer": "rules"},
    ),
    "nothing": (
        404,
        {},
        {"2xx": "rules", "4xx but 429": "allowed", "429, 5xx, no answer": "unreachable"},
    ),
    "a ban": (
        403,
        {"POLITE_ROBOTS_FORBIDDEN": "disallow"},
        {
            "2xx": "rules",
            "401, 403": "disallowed",
            "other 4xx but 429": "allowed",
            "429, 5xx, no answer": "disallowed",
        },
    ),
}


@pytest.mark.parametrize("name", PROSPECTS)
async def test_rfc9309_2_3_1_4_what_later_answers_mean(web: Web, name: str) -> None:
    """What another answer would mean depends on the one that is known."""
    answer, settings, standings = PROSPECTS[name]
    site = web.site({"/robots.txt": answer})
    plain = to_plain(await visit(site.url(), settings={**NAMED, **settings}))
    assert {row["answers"]: row["standing"] for row in plain["later"]} == standings


async def test_freshness_is_told(web: Web) -> None:
    """When the file is asked for again follows its Cache-Control, within the bounds."""
    for max_age, said in ((7200, "2 h from now"), (1, "1 h from now"), (10**9, "1 d from now")):
        headers = {"Cache-Control": f"max-age={max_age}"}
        site = web.site({"/robots.txt": Answer(headers=headers, body=RULES)})
        assert said in to_text(await visit(site.url()))


async def test_the_rules_are_read_for_the_one_who_was_named(web: Web) -> None:
    """--agent changes whom the rules are read for, never who asks."""

    def answer(asked: Asked) -> bytes:
        return b"User-agent: otherbot\nDisallow: /\n" + asked.headers["user-agent"].encode()

    site = web.site({"/robots.txt": answer})
    report = await visit(site.url(), token="OtherBot")
    assert report.exit_status == 1
    assert web.arrivals()[0].headers["user-agent"].startswith("VisitBot/2.0")
