"""nginx refuses who is impolite: stock Scrapy very often, a crawl with the pack never.

The referee of the pack is the stricter one: it takes no request in advance of the rate, that of
stock Scrapy takes ten.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import pytest

from harness.record import by_host, gaps, most_at_once, robots_fetches
from referee.crawling import PACK, STOCK, crawl
from referee.figures import ROBOTS, connections, figures
from referee.nginx import PAUSE, ROUNDING, Referee, Seen
from referee.sites import OPEN, OWNERS, PRODUCT, UNREACHABLE, pages

TICK = 0.005  # seconds; a step of nginx's clock, rounded up


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_a_crawl_with_the_pack_is_never_refused() -> None:
    """Over 500 pages of 12 sites: each that is allowed is fetched once, and nobody is bothered."""
    with Referee(OWNERS) as referee:
        crawl(referee, PACK, timeout=200)
        log = referee.log()
    assert {(seen.limit_conn, seen.limit_req) for seen in log} == {("PASSED", "PASSED")}
    assert_each_page_once(referee, log)
    assert_robots_first(referee, log)
    assert_one_at_a_time(log)
    assert_ten_times(referee, log)
    assert_http_as_usual(log)


def test_a_crawl_with_stock_scrapy_is_refused() -> None:
    """The same spider with stock Scrapy is refused for its rate and for its connections."""
    with Referee([OPEN, OPEN, OPEN, UNREACHABLE], burst=10) as referee:
        crawl(referee, STOCK, timeout=60)
        seen = figures(referee.log(), referee.owners)
    assert min(seen.refused[429], seen.refused[503]) >= 10
    assert seen.got < seen.to_get / 2
    assert seen.forbidden > 0
    assert seen.connections > 1


def assert_each_page_once(referee: Referee, log: Sequence[Seen]) -> None:
    """Assert that each page that is allowed and can be reached was fetched once, and no other."""
    expected = [
        (address, path, status)
        for address, owner in referee.owners.items()
        for path, status in pages(owner).items()
    ]
    assert sum(status == 200 for _, _, status in expected) >= 500
    assert {status for _, _, status in expected} == {200, 301, 404}
    seen = [(one.host, one.path, one.status) for one in log if one.path not in ROBOTS]
    assert Counter(seen) == Counter(expected)


def assert_robots_first(referee: Referee, log: Sequence[Seen]) -> None:
    """Assert that each site was asked for its robots.txt once, and before anything else of its own.

    A site to whose rules another one redirects may be asked for these at any time.
    """
    robots = robots_fetches(log)
    assert sorted(seen.host for seen in robots) == sorted(referee.owners)
    own = [seen for seen in log if seen.path != "/rules.txt"]
    assert [seen[0] for seen in by_host(own).values()] == robots
    assert {503, 403, 404, 301, 302, 200} == {seen.status for seen in robots}


def assert_one_at_a_time(log: Sequence[Seen]) -> None:
    """Assert that no site had two requests or two busy connections at once."""
    for seen in by_host(log).values():
        assert most_at_once(seen) == 1
        assert most_at_once(connections(seen)) == 1


def assert_ten_times(referee: Referee, log: Sequence[Seen]) -> None:
    """Assert that each wait was ten times the fetch before, and as long as Crawl-delay says."""
    assert min(seen.duration for seen in log) >= PAUSE - TICK, "the pauses do not work"
    for gap in gaps(log):
        assert gap.wait >= 10 * (gap.before.duration - ROUNDING) - ROUNDING, gap
        assert gap.wait >= referee.owners[gap.host].crawl_delay - ROUNDING, gap


def assert_http_as_usual(log: Sequence[Seen]) -> None:
    """Assert that pages came compressed, on connections kept alive, to who says its name."""
    read = [seen for seen in log if seen.path.startswith("/tutorial/")]
    assert {seen.encoding for seen in read} == {"gzip"}
    assert len({seen.connection for seen in log}) < len(log) / 2
    assert {seen.headers["user-agent"].partition("/")[0] for seen in log} == {PRODUCT}
