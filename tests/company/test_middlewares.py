"""Users' middlewares that take answers and failures away: no turn is lost, others go on.

What they do to requests is in `crawls.test_survival`.
"""

from __future__ import annotations

from typing import Any

import pytest

from crawls.judging import paths
from crawls.promise import FREE, assert_no_lease_left, assert_ten_times
from harness import Answer, Web, crawl_here

pytestmark = pytest.mark.crawl

DROPPED = Answer(delay=0.02, drop=True)
PAGE = Answer(delay=0.02)
OTHERS = ["/1", "/2", "/3"]

# what is done to /page -> how the server answers it, how often it is asked, what the spider is told
TRICKS: dict[str, tuple[Any, int, int | str]] = {
    "response drop": (PAGE, 1, "IgnoreRequest"),
    "response fail": (PAGE, 1, "ValueError"),
    "response answer": (PAGE, 1, 200),
    "response again": (PAGE, 2, 200),
    "exception drop": (DROPPED, 1, "IgnoreRequest"),
    "exception fail": (DROPPED, 1, "ValueError"),
    "exception answer": (DROPPED, 1, 200),
    "exception again": ([DROPPED, PAGE], 2, 200),
}


def with_page(turn: int) -> list[str]:
    """Return the paths to ask for, /page in its turn.

    Hosts that fail one after the other, and nobody answers between, would be taken for an outage.
    """
    return [*OTHERS[:turn], "/page", *OTHERS[turn:]]


@pytest.mark.parametrize("position", [10, 600, 960])
async def test_answers_that_are_taken_away(web: Web, position: int) -> None:
    """Whatever a middleware makes of an answer or failure, its host rests and is asked again."""
    sites = {
        trick: web.site({**FREE, "/page": page, "*": PAGE})
        for trick, (page, _, _) in TRICKS.items()
    }
    asked = [
        {"url": site.url(path), "priority": -turn}
        for number, site in enumerate(sites.values())
        for turn, path in enumerate(with_page(number % 4))
    ]
    settings = {
        "CONCURRENT_REQUESTS": 3,
        "RETRY_ENABLED": False,
        "DOWNLOADER_MIDDLEWARES": {"company.parts.Answers": position},
        "COMPANY_TRICKS": {site.host: trick for trick, site in sites.items()},
    }
    run = await crawl_here(web, asked, settings)
    for trick, (_, times, told) in TRICKS.items():
        site = sites[trick]
        assert run.outcome[site.url("/page")] == [told], trick
        assert sorted(paths(run, site)) == sorted(["/robots.txt", *OTHERS, *["/page"] * times])
    assert_ten_times(run.arrivals)
    assert_no_lease_left(run)
