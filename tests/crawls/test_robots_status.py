"""The status of robots.txt decides, whatever its body says (RFC 9309 section 2.3.1)."""

from __future__ import annotations

import pytest

from crawls.judging import ALLOW, ALLOWED, DISALLOW, FORBIDDEN, UNREACHABLE, Case, expected, judge
from harness import Answer, Web, robots_fetches

pytestmark = pytest.mark.crawl


def case_of(status: int) -> Case:
    """Return a site whose robots.txt has this status and a body that says the opposite."""
    if status == 204:  # it has no body to obey
        return Case(status, ALLOWED)
    if status < 200 or status == 429 or status >= 500:
        return Case(Answer(status, body=ALLOW), UNREACHABLE)
    return Case(Answer(status, body=DISALLOW), FORBIDDEN if status < 300 else ALLOWED)


@pytest.mark.parametrize("hundred", [100, 200, 300, 400, 500])
async def test_rfc9309_2_3_1_each_status(web: Web, hundred: int) -> None:
    """2xx is read; 3xx to nowhere and 4xx but 429 allow; all else, 1xx with no answer too, stops.

    Neither what a 404 forbids nor what a 503 allows counts.
    """
    cases = {str(status): case_of(status) for status in range(hundred, hundred + 100)}
    settings = {"POLITE_ROBOTS_TIMEOUT": 1} if hundred == 100 else {}
    got, run, _ = await judge(web, cases, settings)
    assert got == expected(cases)
    assert len(robots_fetches(run.arrivals)) == len(cases)


async def test_rfc9309_2_3_1_no_usable_answer(web: Web) -> None:
    """What cannot be read forbids: a dropped or refused connection, silence, broken encodings."""
    gzip = {"Content-Encoding": "gzip"}
    final = f"HTTP/1.1 200 OK\r\nContent-Length: {len(DISALLOW)}\r\n\r\n"
    cases = {
        "dropped": Case(Answer(drop=True), UNREACHABLE),
        "silent": Case(Answer(hang=True), UNREACHABLE),
        "no gzip after all": Case(Answer(headers=gzip, body=ALLOW), UNREACHABLE),
        "shorter than it says": Case(
            Answer(headers={"Content-Length": "999", "Connection": "close"}, body=ALLOW),
            UNREACHABLE,
        ),
        "broken chunks": Case(
            Answer(headers={"Transfer-Encoding": "chunked"}, body="zz\r\n" + ALLOW), UNREACHABLE
        ),
        "another protocol": Case(
            Answer(headers={"Content-Length": "-1", "Connection": "close"}, body=ALLOW),
            UNREACHABLE,
        ),
        "1xx before the answer": Case(Answer(103, body=final + DISALLOW), FORBIDDEN),
    }
    lax = {"POLITE_ROBOTS_TIMEOUT": 2, "DOWNLOAD_FAIL_ON_DATALOSS": False}
    got, _, _ = await judge(web, cases, lax)
    assert got == expected(cases)


async def test_rfc9309_2_3_1_3_forbidden_by_choice(web: Web) -> None:
    """POLITE_ROBOTS_FORBIDDEN = "disallow" makes 401 and 403 forbid, and no other status."""
    cases = {
        str(status): Case(
            Answer(status, body=ALLOW), FORBIDDEN if status in (401, 403) else ALLOWED
        )
        for status in (400, 401, 402, 403, 404, 410)
    }
    got, _, _ = await judge(web, cases, {"POLITE_ROBOTS_FORBIDDEN": "disallow"})
    assert got == expected(cases)
