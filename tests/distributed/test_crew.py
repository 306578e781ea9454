"""Several scrapy-redis workers keep the promise together, whatever becomes of one or of Redis.

Rules: the verdict is the web's record.  Where Redis forgets its data it forgets what was queued
too, so that pages are missing then is no failure; that a host is asked too soon is.
"""

from __future__ import annotations

import pickle
import re
import signal
import time
from collections.abc import Callable, Iterator

import pytest
from scrapy import Request

from distributed.crew import (
    PATIENCE,
    POLITELY,
    TERMS,
    Crew,
    crew,
    fetched_robots,
    overlaps,
    seed,
    short_waits,
)
from distributed.servers import PERSISTENT, RedisServer
from scrapy_polite.redis.server import bare

pytestmark = pytest.mark.slow
QUEUE = "crew:requests"
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


def test_request_that_cannot_be_read(server: RedisServer) -> None:
    """One whose callback the spider lost is named and dropped; its host and the others go on."""
    with crew(server, workers=1, hosts=1, pages=4, seeded=0) as it:
        [site] = it.web.sites
        told = {**Request(site.url("/old")).to_dict(), "callback": "parse_of_last_week"}
        for octets in (pickle.dumps(told), b"no request"):
            letter = [site.host, site.url("/").rstrip("/"), 0, octets, ""]
            push = [f"{QUEUE}:wake", *letter]
            server.client.eval(bare("push").text, 2, QUEUE, "", *push)
        seed(server, site.url("/"))
        [log] = it.wait()
        assert_polite(it)
        assert_complete(it, 4)
        assert log.count(f"A request of {site.host} cannot be read and is dropped: ") == 2
        assert "'polite/queue/unreadable': 2" in log
        assert server.client.get(f"{QUEUE}:left") == b"0"


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
    settings = {**POLITELY, "AUTOTHROTTLE_MAX_DELAY": 10}  # or it waits for ten times its sleep
    with crew(server, workers=3, hosts=20, pages=8, settings=settings) as it:
        it.wait_for_pages()
        it.workers[0].send(signal.SIGSTOP)
        time.sleep(2 * TERMS["ttl"])
        it.workers[0].send(signal.SIGCONT)
        it.wait()
        assert_polite(it)
        assert_complete(it, 8)


def test_only_parked_hosts_are_left(server: RedisServer) -> None:
    """Workers whose idle time is over end then, and say why; what is queued stays so."""
    links = "".join(f'<a href="/{number}">' for number in range(3))
    refusal = {"status": 429, "headers": {"Retry-After": "200000"}}
    refusing = {"/robots.txt": 404, "/": {"body": links}, "*": refusal}
    with crew(server, workers=2, hosts=2, pages=3, more={"127.8.9.1": refusing}) as it:
        logs = it.wait()
        arrivals = it.web.stop()
        assert [seen.status for seen in arrivals if seen.host == "127.8.9.1"] == [404, 200, 429]
        assert server.client.get("crew:requests:left") == b"3"
        for log in logs:
            assert log.count("Only parked hosts are left: 1, with 3 requests") == 1
            assert "Closing spider (polite_parked)" in log
        assert sum("127.8.9.1 is parked" in log for log in logs) == 1


@pytest.mark.slow
def test_pages_that_need_a_parked_host_are_kept(server: RedisServer) -> None:
    """The crew ends without them, says so, and the next one begins with them."""
    refusing = {"/robots.txt": 404, "*": {"status": 429, "headers": {"Retry-After": "200000"}}}
    needing = {"/robots.txt": 404, "/": {"body": '<a href="/1">'}, "*": {"body": "text"}}
    settings = {
        **POLITELY,
        "SPIDER_MIDDLEWARES": {"distributed.needing.Needing": 500},
        "NEEDING": "127.8.9.2",
        "NEEDS": "http://127.8.9.1:80/",
    }
    more = {"127.8.9.1": refusing, "127.8.9.2": needing}
    with crew(server, workers=0, hosts=0, pages=0, more=more) as it:
        of_host = {site.host: site for site in it.web.sites}
        settings["NEEDS"] = of_host["127.8.9.1"].url("/needed")
        server.client.delete("crew:start_urls")
        seed(server, of_host["127.8.9.2"].url("/"))
        logs = [it.run(settings) for _ in range(2)]
        arrivals = it.web.stop()
    assert "Pages kept for the next run: 1" in logs[0]
    assert "1 requests that the last run did not finish: again" in logs[1]
    assert server.client.get("crew:requests:left") == b"0"
    assert [seen.path for seen in arrivals if seen.host == "127.8.9.2"].count("/") == 2


def test_unreachable_origin_leaves_the_others_of_its_host(server: RedisServer) -> None:
    """A page that waits for the robots.txt of another port keeps no page of its host back."""
    with crew(server, workers=1, hosts=1, pages=5, seeded=0) as it:
        [site] = it.web.sites
        seed(server, f"http://{site.host}:1/", site.url("/"))
        until = time.monotonic() + PATIENCE
        while len(it.pages_of(it.web.arrivals())) < 5:
            assert time.monotonic() < until
            time.sleep(0.1)
        assert server.client.get("crew:requests:left") != b"0"
        assert_polite(it)


def test_one_probe_at_a_time_while_nobody_answers(server: RedisServer) -> None:
    """When all hosts fall silent one request goes out after a while, and is counted."""
    answer, silence = {"delay": 0.3}, {"delay": 0.1, "drop": True}
    links = "".join(f'<a href="/{number}">' for number in range(3))
    site = {"/robots.txt": 404, "/": {"body": links}, "*": [answer, silence, answer]}
    hosts = {f"127.8.9.{number}": site for number in range(1, 4)}
    with crew(server, workers=1, hosts=0, pages=0, more=hosts) as it:
        [log] = it.wait()
        arrivals = it.web.stop()
    silent = [seen for seen in arrivals if seen.ended == "dropped"]
    after = [seen for seen in arrivals if seen.start_at > silent[-1].start_at]
    assert len(silent) == len(hosts)
    assert after[0].start_at - silent[-1].end_at > 3.0
    assert after[1].start_at >= after[0].end_at
    assert "'polite/outages/probes': 1," in log
    answered = [seen for seen in arrivals if seen.ended == "answered"]
    assert len(it.pages_of(answered)) == 4 * len(hosts)


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
