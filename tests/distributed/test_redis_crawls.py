"""Ordinary crawls, each with a queue of its own, that share their hosts' turns through Redis."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from distributed.crew import overlaps, short_waits
from distributed.servers import RedisServer
from harness import Answer, Web, crawl, robots_fetches
from harness.crawl import Crawl

CRAWLS, HOSTS, PAGES = 3, 10, 5
ROBOTS = Answer(body="User-agent: *\nDisallow: /private/\n", delay=0.02)


@pytest.mark.slow
def test_crawls_outlive_a_server_that_forgets(web: Web) -> None:
    """Redis is killed and comes back empty: all pages come, each host waits, one robots.txt."""
    sites = [web.site({"/robots.txt": ROBOTS, "*": Answer(delay=0.05)}) for _ in range(HOSTS)]

    with RedisServer() as server, ThreadPoolExecutor(CRAWLS) as pool:
        server.settle("polite:")

        def run(number: int) -> Crawl:
            urls = [site.url(f"/{number}/{page}") for page in range(PAGES) for site in sites]
            return crawl(web, urls, {"POLITE_STATE": server.url}, timeout=110.0)

        crawls = [pool.submit(run, number) for number in range(CRAWLS)]
        while len(web.arrivals()) < 4 * HOSTS and not any(one.done() for one in crawls):
            time.sleep(0.1)
        server.kill()
        time.sleep(1.0)
        server.start()
        ended = [one.result() for one in crawls]
    arrivals = web.arrivals()
    assert overlaps(arrivals) == {}
    assert short_waits(arrivals) == []
    assert [list(one.outcome.values()) for one in ended] == [[[200]] * PAGES * HOSTS] * CRAWLS
    assert len(robots_fetches(arrivals)) == HOSTS
    assert all("answers again" in one.log for one in ended)
