"""What is told of requests on the wire: every part is told, whatever another one raises."""

from __future__ import annotations

from typing import Any

import pytest
from scrapy import Request, signals
from scrapy.http import Response
from scrapy.signalmanager import SignalManager

from crawls.judging import paths
from crawls.promise import FREE, SLOW, assert_no_lease_left, assert_ten_times
from harness import Web, crawl_here
from scrapy_polite import stats
from scrapy_polite.policy.delay import DURATION, FLOOR
from scrapy_polite.runtime.wire import Wire

REQUEST = Request("http://site.test/")
RESPONSE = Response(REQUEST.url)


def fail(*news: object) -> None:
    raise RuntimeError("I am broken")


def test_all_are_told_in_order(caplog: pytest.LogCaptureFixture) -> None:
    """Each signal reaches all of its parts, in the order in which they came; errors are logged."""
    manager = SignalManager()
    wire, told = Wire(manager), list[tuple[object, ...]]()
    everyone: tuple[list[Any], ...] = (wire.leaving, wire.heard, wire.answered)
    for number, parts in enumerate(everyone):
        parts += [
            lambda *news, number=number: told.append((number, "first", *news)),
            fail,
            lambda *news, number=number: told.append((number, "last", *news)),
        ]
    manager.send_catch_log(signals.request_reached_downloader, request=REQUEST)
    manager.send_catch_log(signals.headers_received, request=REQUEST, headers={}, body_length=1)
    manager.send_catch_log(signals.response_downloaded, request=REQUEST, response=RESPONSE)
    news: list[tuple[object, ...]] = [(REQUEST,), (REQUEST,), (RESPONSE, REQUEST)]
    assert told == [
        (number, place, *new) for number, new in enumerate(news) for place in ("first", "last")
    ]
    errors = [record.exc_info for record in caplog.records]
    assert [error and str(error[1]) for error in errors] == ["I am broken"] * 3


@pytest.mark.crawl
async def test_a_part_that_is_broken(web: Web) -> None:
    """A part that raises whenever it is told costs no page, no wait, no turn and no figure."""
    site = web.site({**FREE, "*": SLOW})
    asked = [site.url(f"/{number}") for number in range(3)]
    run = await crawl_here(web, asked, {"EXTENSIONS": {"crawls.parts.Broken": 0}}, timeout=20)
    assert run.outcome == {url: [200] for url in asked}
    assert paths(run, site) == ["/robots.txt", "/0", "/1", "/2"]
    assert "I am broken" in run.log
    reasons = [run.stats.get(stats.WAIT_REASON.format(reason=why), 0) for why in (DURATION, FLOOR)]
    assert sum(reasons) == 4
    assert stats.TROUBLE not in run.stats
    assert_ten_times(run.arrivals)
    assert_no_lease_left(run)
