"""Several scrapy-redis workers keep the promise together, whatever becomes of one or of Redis.

Rules: the verdict is the web's record.  Where Redis forgets its data it forgets what was queued
too, so that pages are missing then is no failure; that a host is asked too soon is.
"""

from __future__ import annotations

import re
import signal
import time
from collections.abc import Callable, Iterator

import pytest

from distributed.crew import TERMS, Crew, crew, fetched_robots, overlaps, seed, short_waits
from distributed.servers import PERSISTENT, RedisServer

pytestmark = pytest.mark.slow
ERRORS = re.compile(r"^.*(?:ERROR|CRITICAL).*$", re.MULTILINE)


@pytest.fixture
def server() -> Iterator[RedisServer]:
    with RedisServer(*PERSISTENT) as server:
        server.settle("polite:")
        yield server


@pytest.fixture
def forgetful() -> Iterator[RedisServer]:
    """A server that keeps nothing on disk."""
    with RedisServer() as server:
        server.settle("polite:")
        yield server


def assert_polite(crew: Crew) -> None:
    """No host had two requests at once or less than its wait."""
    arrivals = crew.web.stop()
    assert overlaps(arrivals) == {}
    assert short_waits(arrivals) == []


def assert_complete(crew: Crew, pages: int) -> None:
    """All pages were fetched, and each robots.txt once."""
    arrivals = crew.web.arrivals()
    hosts = len(crew.web.sites)
    assert len(crew.pages_of(arrivals)) == hosts * pages
    assert fetched_robots(arrivals) == hosts


def test_three_workers_crawl_40_hosts_as_one(server: RedisServer) -> None:
    """One request of a host at a time, ten times its duration between, one robots.txt for all."""
    with crew(server, workers=3, hosts=40, pages=12) as it:
        logs = it.wait()
        assert_polite(it)
        assert_complete(it, 12)
        assert [ERRORS.findall(log) for log in logs] == [[], [], []]
        left = list(server.client.scan_iter("crew:requests:*"))
        assert server.client.get("crew:requests:left") == b"0"
        assert sorted(left) == [b"crew:requests:left", b"crew:requests:number"]


def test_seeds_are_taken_while_hosts_wait(server: RedisServer) -> None:
    """A seed that comes late is fetched before the queue is empty, as soon as there is a place."""
    with crew(server, workers=1, hosts=2, pages=12, seeded=1) as it:
        first, second = it.web.sites
        while len(it.web.arrivals()) < 2:
            time.sleep(0.1)
        seed(server, second.url("/"))
        it.wait()
        arrivals = it.web.stop()
        began_at = min(seen.start_at for seen in arrivals if seen.host == second.host)
        ended_at = max(seen.start_at for seen in arrivals if seen.host == first.host)
        assert began_at < ended_at


def test_killed_workers_requests_return(server: RedisServer) -> None:
    """What a worker had when it was killed is done by the others, after its turns have lapsed."""
    with crew(server, workers=3, hosts=40, pages=12) as it:
        it.wait_for_pages()
        it.workers[0].send(signal.SIGKILL)
        it.wait()
        assert_polite(it)
        assert_complete(it, 12)


def test_stopped_worker_comes_back_politely(server: RedisServer) -> None:
    """A worker that slept beyond the ttl has lost its turns, and knows it when it wakes up."""
    with crew(server, workers=3, hosts=20, pages=8) as it:
        it.wait_for_pages()
        it.workers[0].send(signal.SIGSTOP)
        time.sleep(2 * TERMS["ttl"])
        it.workers[0].send(signal.SIGCONT)
        it.wait()
        assert_polite(it)
        assert_complete(it, 8)


def restart(server: RedisServer) -> None:
    server.kill()
    time.sleep(0.5)
    server.start()


def stop_for_long(server: RedisServer) -> None:
    server.send(signal.SIGSTOP)
    time.sleep(1.5 * TERMS["ttl"])
    server.send(signal.SIGCONT)


def flush(server: RedisServer) -> None:
    server.client.flushall()


@pytest.mark.parametrize("trouble", [restart, stop_for_long], ids=["kill -9", "SIGSTOP"])
def test_nothing_is_lost_by_trouble_of_a_persistent_server(
    server: RedisServer, trouble: Callable[[RedisServer], None]
) -> None:
    """The crew waits for Redis and goes on where it was."""
    with crew(server, workers=3, hosts=20, pages=8) as it:
        it.wait_for_pages()
        trouble(server)
        it.wait()
        assert_polite(it)
        assert_complete(it, 8)


@pytest.mark.parametrize("lose", [restart, flush], ids=["kill -9", "FLUSHALL"])
def test_crew_stays_polite_when_the_server_forgets(
    forgetful: RedisServer, lose: Callable[[RedisServer], None]
) -> None:
    """The queue is gone, but not what hosts are due: new seeds wait for that."""
    with crew(forgetful, workers=3, hosts=20, pages=8) as it:
        it.wait_for_pages()
        lose(forgetful)
        seed(forgetful, *(site.url("/again") for site in it.web.sites))
        it.wait()
        assert_polite(it)
        pages = it.pages_of(it.web.arrivals())
        assert {host for host, path in pages if path == "/again"} == {
            site.host for site in it.web.sites
        }
