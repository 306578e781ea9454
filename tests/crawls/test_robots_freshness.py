"""How long robots.txt stands, and what is asked again (RFC 9309 section 2.4)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pytest

from crawls.judging import ALLOW, ALLOWED, DISALLOW, FORBIDDEN, MANY, Verdict, moved, verdict
from harness import Answer, Asked, Web, crawl_here, robots_fetches

pytestmark = pytest.mark.crawl

SHORT = {"Cache-Control": "max-age=1"}
ETAG, DATE = {"ETag": '"one"'}, {"Last-Modified": "Mon, 02 Feb 2026 02:02:02 GMT"}


@dataclass(frozen=True, slots=True)
class Ageing:
    """A robots.txt that is asked for again, or not, while its host is crawled for two seconds.

    Args:
        robots: the answers, in turn.
        late: the verdict on a page asked for at the end, of which the file forbids the like first.
        sent: per fetch of the file, the conditional headers that were sent.
    """

    robots: list[Any]
    late: Verdict
    sent: list[Mapping[str, str]]


def answer(body: str, *headers: Mapping[str, str]) -> Answer:
    """Return a file with such headers."""
    return Answer(body=body, headers={k: v for some in headers for k, v in some.items()})


def unchanged(asked: Asked) -> Answer:
    """Confirm the copy, of which only who has one can make use."""
    return Answer(304, headers={"Cache-Control": "max-age=3600"})


FILES = {
    "no word of age": Ageing([DISALLOW], FORBIDDEN, [{}]),
    "max-age of an hour": Ageing(
        [answer(DISALLOW, {"Cache-Control": "public, max-age=3600"})], FORBIDDEN, [{}]
    ),
    "max-age of a second": Ageing([answer(DISALLOW, SHORT), ALLOW], ALLOWED, [{}, {}]),
    "404, then rules": Ageing(
        [answer(DISALLOW, SHORT), Answer(404, headers=SHORT), DISALLOW], FORBIDDEN, [{}] * 3
    ),
    "ETag confirmed": Ageing(
        [answer(DISALLOW, SHORT, ETAG), unchanged], FORBIDDEN, [{}, {"if-none-match": '"one"'}]
    ),
    "ETag changed": Ageing(
        [answer(DISALLOW, SHORT, ETAG), ALLOW], ALLOWED, [{}, {"if-none-match": '"one"'}]
    ),
    "Last-Modified confirmed": Ageing(
        [answer(DISALLOW, SHORT, DATE), unchanged],
        FORBIDDEN,
        [{}, {"if-modified-since": DATE["Last-Modified"]}],
    ),
    "ETag of another resource": Ageing([moved("/rules"), ALLOW], ALLOWED, [{}, {}]),
    "unreachable later": Ageing(
        [answer(DISALLOW, SHORT), Answer(500, body=ALLOW)], FORBIDDEN, [{}, {}]
    ),
    "refused later": Ageing(
        [answer(DISALLOW, SHORT), Answer(503, {"Retry-After": "1"}), ALLOW], ALLOWED, [{}] * 3
    ),
}


async def test_rfc9309_2_4_freshness(web: Web) -> None:
    """Max-age is heard, validators are sent back, and 304 confirms the copy on hand.

    RFC 9309 section 2.3.1.4: while the file is unreachable, the copy on hand serves.
    """
    sites = {
        name: web.site(
            {
                "/robots.txt": list(file.robots),
                "/rules": answer(DISALLOW, SHORT, ETAG),
                "*": "",
            }
        )
        for name, file in FILES.items()
    }
    paths = ["/private/first", "/1", "/2", "/3", "/4", "/private/last"]
    asked = [
        {"url": site.url(path), "priority": -number}
        for site in sites.values()
        for number, path in enumerate(paths)
    ]
    settings = {**MANY, "POLITE_ROBOTS_MIN_AGE": 0, "POLITE_MIN_DELAY": 0.4}
    run = await crawl_here(web, asked, settings)
    fetches = {name: robots_fetches(run.arrivals, site.host) for name, site in sites.items()}
    sent = {
        name: [{k: v for k, v in seen.headers.items() if k.startswith("if-")} for seen in them]
        for name, them in fetches.items()
    }
    assert sent == {name: file.sent for name, file in FILES.items()}
    for name, site in sites.items():
        assert (name, verdict(run, site, "/private/first")) == (name, FORBIDDEN)
        assert (name, verdict(run, site, "/private/last")) == (name, FILES[name].late)
        assert {verdict(run, site, path) for path in paths[1:5]} == {ALLOWED}


async def test_bounds_of_age(web: Web) -> None:
    """POLITE_ROBOTS_MIN_AGE and POLITE_ROBOTS_MAX_AGE bound what max-age asks for."""
    long = {"Cache-Control": "max-age=9999999"}
    sites = [
        web.site({"/robots.txt": answer(ALLOW, headers), "*": ""})
        for headers in (long, {"Cache-Control": "no-store"}, {})
    ]
    asked = [site.url(f"/{number}") for site in sites for number in range(4)]
    bounds = {"POLITE_ROBOTS_MIN_AGE": 1, "POLITE_ROBOTS_MAX_AGE": 1}
    run = await crawl_here(web, asked, {**MANY, **bounds, "POLITE_MIN_DELAY": 0.4})
    for site in sites:
        first, second, *_ = robots_fetches(run.arrivals, site.host)
        assert second.start_at - first.start_at >= 1
