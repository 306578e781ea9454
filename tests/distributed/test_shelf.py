"""The shelf of requests that workers share: order, turns, and what returns."""

from __future__ import annotations

import signal
import time
from collections.abc import Iterator
from contextlib import ExitStack, suppress

import pytest

from distributed.servers import RedisServer, shared_server
from scrapy_polite.policy.host import HostState
from scrapy_polite.redis.shelf import Answer, Shelf, Taken
from scrapy_polite.runtime.lanes import Lane
from scrapy_polite.state.charge import Charge
from scrapy_polite.state.memory import LEASED
from scrapy_polite.state.protocol import StoreUnavailable
from scrapy_polite.state.redis import RedisStore, Terms
from state.kit import Driven

TERMS = Terms(ttl=1.0, heartbeat=0.2, charge=Charge(most=1.0))


class Worker:
    """A worker: a store, and a shelf on the same server."""

    def __init__(
        self, server: RedisServer, prefix: str, stack: ExitStack, timeout: float = 2.0
    ) -> None:
        store = RedisStore(server.url, prefix=prefix, terms=TERMS, timeout=1.0)
        self.store = stack.enter_context(Driven(store))
        self.store.open()
        self.shelf = Shelf(server.url, f"{prefix}queue", store, timeout=timeout)

    def push(self, host: str, request: str, score: float = 0.0, scheme: str = "http") -> None:
        lane = Lane(host, f"{scheme}://{host}" if host else "")
        self.shelf.outbox.put(lane, score, request.encode())
        with suppress(StoreUnavailable):
            self.shelf.outbox.send()

    def ask(self, limit: int = 10) -> Answer:
        """Ask the shelf, in the thread of the store's loop as a crawl does."""

        async def asking() -> Answer | None:
            return self.shelf.take(limit)

        answer = self.store.run(asking())
        assert answer is not None
        return answer

    def take(self, limit: int = 10) -> list[Taken]:
        return self.ask(limit).taken

    def requests(self) -> list[str]:
        return [taken.request.decode() for taken in self.take()]

    def end(self, taken: Taken, delay: float = 0.0) -> None:
        """End the fetch of a request, and be done with it."""
        assert taken.lease is not None
        assert self.store.release(taken.lease, delay, HostState(delay=delay))
        self.shelf.turn_ended(taken.host, delay)
        self.shelf.done([taken.number])


@pytest.fixture
def crew() -> Iterator[list[Worker]]:
    """Two workers of one queue."""
    server = shared_server()
    prefix = server.fresh_prefix()
    with ExitStack() as stack:
        yield [Worker(server, prefix, stack) for _ in range(2)]


def test_one_request_of_each_host_at_a_time(crew: list[Worker]) -> None:
    """Whoever asks gets one request of a host that is due, and the turn with it."""
    one, two = crew
    for request in ("a1", "a2", "b1"):
        one.push(f"{request[0]}.test", request)
    assert sorted(two.requests()) == ["a1", "b1"]
    assert one.requests() == []
    assert one.store.wait("a.test")[1] == LEASED


def test_best_score_first_then_in_order(crew: list[Worker]) -> None:
    """Within a host the lowest score goes first; equals go in the order in which they came."""
    one, two = crew
    for request, score in (("x", 0.0), ("y", 0.0), ("first", -10.0), ("last", 5.0)):
        one.push("a.test", request, score)
    got = []
    for _ in range(4):
        [taken] = two.take()
        got.append(taken.request.decode())
        two.end(taken)
    assert got == ["first", "x", "y", "last"]


def test_host_is_left_alone_for_its_delay(crew: list[Worker]) -> None:
    """The next request of a host comes when the host is due, and the shelf says when that is."""
    one, two = crew
    one.push("a.test", "a1")
    one.push("a.test", "a2")
    [taken] = one.take()
    one.end(taken, 0.5)
    answer = one.ask()
    assert answer.taken == []
    assert answer.next_look is not None
    assert 0.3 < answer.next_look <= 0.5
    assert two.take() == []
    time.sleep(answer.next_look)
    assert two.requests() == ["a2"]


def test_request_without_clock_needs_no_turn(crew: list[Worker]) -> None:
    """What is not http(s) goes at any time, any number at once."""
    one, two = crew
    one.push("", "data:,1")
    one.push("", "data:,2")
    assert [taken.lease for taken in two.take()] == [None]
    assert [taken.lease for taken in one.take()] == [None]


def test_request_is_seen_where_it_is_queued(crew: list[Worker]) -> None:
    """A request that two workers found is queued once, and marked for the others in that step."""
    lane, seen = Lane("a.test", "http://a.test"), shared_server().fresh_prefix() + "seen"
    for worker in crew:
        worker.shelf.outbox.seen_key = seen
        worker.shelf.outbox.put(lane, 0.0, b"a1", "mark")
        assert worker.shelf.outbox.has("mark")
    assert not shared_server().client.exists(seen)
    for worker in crew:
        worker.shelf.outbox.send()
        assert not worker.shelf.outbox.has("mark")
        assert shared_server().client.sismember(seen, "mark")
    assert len(crew[0].shelf) == 1
    assert crew[1].requests() == ["a1"]


def test_what_is_put_back_is_where_it_was(crew: list[Worker]) -> None:
    """A request that could not go yet is the next one of its host again."""
    one, two = crew
    one.push("a.test", "a1")
    one.push("a.test", "a2")
    [taken] = one.take()
    one.shelf.put_back([taken])
    assert taken.lease is not None
    one.store.give_back([taken.lease])
    assert two.requests() == ["a1"]


def test_held_lane_leaves_the_others_of_its_host(crew: list[Worker]) -> None:
    """What is put back for a while holds its own origin; the host's best other request goes."""
    one, two = crew
    one.push("a.test", "a1")
    one.push("a.test", "late", 1.0, scheme="https")
    one.push("a.test", "better", scheme="https")
    one.push("a.test", "a2")
    [taken] = one.take()
    assert taken.request == b"a1"
    one.shelf.put_back([taken], 0.5)
    assert taken.lease is not None
    one.store.give_back([taken.lease])
    for request in (b"better", b"late"):
        [taken] = two.take()
        assert taken.request == request
        two.end(taken)
    answer = two.ask()
    assert answer.taken == []
    assert answer.next_look is not None
    time.sleep(answer.next_look)
    assert two.requests() == ["a1"]


def test_only_parked_hosts_are_left(crew: list[Worker]) -> None:
    """That is so when all hosts wait for long or are named, and nobody works on a request."""
    one, two = crew
    assert one.shelf.only_parked(60.0, []) is None
    for request in ("a1", "a2", "b1"):
        one.push(f"{request[0]}.test", request)
    first, second = one.take()
    one.end(first, 100.0)
    one.ask()
    assert two.shelf.only_parked(60.0, ["b.test"]) is None  # b1 may yield more
    one.end(second, 1.0)
    one.push("b.test", "b2")
    one.ask()
    assert two.shelf.only_parked(60.0, []) is None
    assert two.shelf.only_parked(200.0, ["b.test"]) is None
    left = two.shelf.only_parked(60.0, ["b.test", "c.test"])
    assert left is not None
    assert (left.hosts, left.requests) == (2, 2)
    assert left.wait <= 1.0
    assert [two.shelf.queued(host) for host in ("a.test", "c.test")] == [1, 0]


def test_left_counts_until_done(crew: list[Worker]) -> None:
    """A request that somebody works on is left, for he may die; one that is done with is not."""
    one, two = crew
    one.push("a.test", "a1")
    [taken] = one.take()
    assert two.ask().left == 1
    one.end(taken)
    one.ask()
    assert two.ask().left == 0
    assert len(two.shelf) == 0


def test_dead_workers_requests_return(crew: list[Worker]) -> None:
    """What a worker had that was not heard of for a ttl is back, once its turns have lapsed."""
    one, two = crew
    one.push("a.test", "a1")
    [taken] = one.take()
    one.store.close()  # and so his heart
    until, back = time.monotonic() + 10.0, 0
    while not (again := two.ask()).taken:
        back += again.back
        assert time.monotonic() < until
        time.sleep(0.1)
    assert back + again.back == 1
    assert [item.request for item in again.taken] == [taken.request]


def test_request_that_was_never_heard_of_returns() -> None:
    """When the answer to a question was lost, what it gave is put back with the next one."""
    with RedisServer() as server, ExitStack() as stack:
        prefix = server.fresh_prefix()
        one = Worker(server, prefix, stack, timeout=0.3)
        one.push("", "data:,1")
        server.send(signal.SIGSTOP)
        with pytest.raises(StoreUnavailable):
            one.take()
        server.send(signal.SIGCONT)
        assert one.requests() == ["data:,1"]


def test_what_is_pushed_while_the_server_is_down_is_queued_later() -> None:
    """Nothing that a spider yields is lost while Redis restarts."""
    with RedisServer() as server, ExitStack() as stack:
        one = Worker(server, server.fresh_prefix(), stack)
        server.kill()
        one.push("", "data:,1")
        server.start()
        one.shelf.outbox.send()
        assert len(one.shelf) == 1


def test_queue_is_not_cleared_under_others(crew: list[Worker]) -> None:
    """A worker that goes first leaves the queue to the others; the last one clears it."""
    one, two = crew
    one.push("a.test", "a1")
    one.push("b.test", "b1")
    one.take(1)
    two.take(0)
    assert one.shelf.clear() == 1
    assert len(one.shelf) == 2
    two.shelf.leave()
    assert one.shelf.clear() == 0
    assert len(one.shelf) == 0
    assert one.requests() == []


def test_workers_are_told_of_new_hosts(crew: list[Worker]) -> None:
    """A message wakes the others when a host gets its first request, not for each one more."""
    one, _ = crew
    listener = shared_server().client.pubsub(ignore_subscribe_messages=True)
    listener.subscribe(one.shelf.outbox.channel)
    for request in ("a1", "a2", "b1"):
        one.push(f"{request[0]}.test", request)
    heard = [listener.get_message(timeout=0.1) for _ in range(8)]
    assert len(list(filter(None, heard))) == 2
    listener.close()


def test_what_is_kept_is_for_the_next_run(crew: list[Worker]) -> None:
    """A kept request is nobody's and nobody waits for it; it is queued again when no other worker
    is at it."""
    one, two = crew
    one.push("a.test", "a1")
    assert two.take(0) == []
    [taken] = one.take()
    assert taken.lease is not None
    one.shelf.keep([taken.number])
    one.store.release(taken.lease, 0.0, HostState())
    assert len(one.shelf) == 0
    assert one.shelf.restore() == 0
    two.shelf.leave()
    assert one.shelf.restore() == 1
    assert len(one.shelf) == 1
    assert one.requests() == ["a1"]
    assert one.shelf.restore() == 0
