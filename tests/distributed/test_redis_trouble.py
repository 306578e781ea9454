"""The Redis store while its server is killed, restarted, stopped, flushed, full or not there."""

from __future__ import annotations

import logging
import signal
import time
from collections.abc import Callable, Coroutine, Iterator
from contextlib import suppress
from typing import Any

import pytest
from scrapy.utils.defer import deferred_from_coro
from twisted.internet.defer import Deferred

from distributed.servers import PATIENCE, PERSISTENT, RedisServer, shared_server
from scrapy_polite.policy.backoff import Backoff
from scrapy_polite.policy.host import HostState
from scrapy_polite.policy.robots_cache import RobotsRecord
from scrapy_polite.state.memory import LEASED, NOT_DUE
from scrapy_polite.state.protocol import Acquired, Lease, StoreUnavailable
from scrapy_polite.state.redis import RedisStore, Terms
from scrapy_polite.state.redis.client import script
from state.kit import Driven

SHORT = Terms(ttl=1.0, heartbeat=0.2)
CLOSED = "closed"
REFUSED = HostState(delay=2.0, backoff=Backoff(refusals=1, rung=60.0))


class Store(Driven):
    """A Redis store that is asked again when its server was not there."""

    store: RedisStore

    def soon(self, host: str) -> Acquired:
        """Ask for a host, again while the server is not reached."""
        until = time.monotonic() + PATIENCE
        while True:
            try:
                return self.acquire(host)
            except StoreUnavailable:
                assert time.monotonic() < until

    def reason(self, host: str) -> str:
        """Return why a host is not to be had."""
        return self.soon(host).waits[host][1]

    def close(self) -> None:
        with suppress(StoreUnavailable):
            super().close()


def store_on(server: RedisServer, prefix: str = "polite:", terms: Terms = SHORT) -> Store:
    """Return a store with little patience."""
    return Store(RedisStore(server.url, prefix=prefix, terms=terms, timeout=0.3))


@pytest.fixture(params=[(), PERSISTENT], ids=["without persistence", "with persistence"])
def server(request: pytest.FixtureRequest) -> Iterator[RedisServer]:
    with RedisServer(*request.param) as server:
        server.settle("polite:")
        yield server


@pytest.fixture
def forgetful() -> Iterator[RedisServer]:
    """A server that keeps nothing on disk."""
    with RedisServer() as server:
        server.settle("polite:")
        yield server


def restart(server: RedisServer) -> None:
    server.kill()
    server.start()


def flush(server: RedisServer) -> None:
    server.client.flushall()


def flush_with_scripts(server: RedisServer) -> None:
    server.client.flushall()
    server.client.script_flush()


LOSSES = {"kill -9 and restart": restart, "FLUSHALL": flush, "and SCRIPT FLUSH": flush_with_scripts}


@pytest.mark.parametrize("lose", LOSSES.values(), ids=LOSSES)
def test_nothing_is_granted_for_a_ttl_after_a_loss(
    server: RedisServer, lose: Callable[[RedisServer], None]
) -> None:
    """A turn in hand and a wait outlive the server's memory; others are closed out meanwhile."""
    with store_on(server) as holder, store_on(server) as other:
        other.open()
        in_hand = holder.lease("in-hand.test")
        holder.release(holder.lease("waiting.test"), 60.0, REFUSED)
        lose(server)
        lost_at = time.monotonic()
        assert other.reason("free.test") == CLOSED
        assert other.reason("in-hand.test") == CLOSED
        while other.soon("free.test").leases == []:
            time.sleep(0.05)
        assert time.monotonic() - lost_at >= SHORT.ttl * 0.9
        assert other.reason("in-hand.test") == LEASED
        seconds, reason = other.wait("waiting.test")
        assert (50.0 < seconds < 60.0, reason) == (True, NOT_DUE)
        assert holder.release(in_hand, 0.0)
        assert other.lease("in-hand.test").token > in_hand.token


def test_states_are_told_again_after_a_loss(forgetful: RedisServer) -> None:
    """What was remembered of a refusal is known to others after FLUSHALL."""
    with store_on(forgetful) as holder, store_on(forgetful) as other:
        holder.release(holder.lease("a.test"), 0.0, REFUSED)
        forgetful.client.flushall()
        assert holder.reason("b.test") == CLOSED
        time.sleep(SHORT.ttl + 0.1)
        assert other.lease("a.test").state == REFUSED


def test_records_are_told_again_after_a_loss(forgetful: RedisServer) -> None:
    """A robots.txt that was read before FLUSHALL is known to others before anything is granted."""
    with store_on(forgetful) as holder, store_on(forgetful) as other:
        holder.put_robots(RobotsRecord("http://a.test", status=404))
        forgetful.client.flushall()
        other.put_robots(RobotsRecord("http://b.test", status=404))
        assert holder.reason("b.test") == CLOSED  # he meets the loss
        assert holder.reason("b.test") == CLOSED  # and tells what he knows with the next question
        known = other.get_robots("http://a.test")
        assert known is not None
        assert known.status == 404


def test_restart_with_an_older_dump(forgetful: RedisServer) -> None:
    """What the dump does not know, waits and turns and who is done, the holders tell it again."""
    with store_on(forgetful) as holder, store_on(forgetful) as other:
        done, kept = holder.lease("done.test"), holder.lease("kept.test")
        forgetful.client.save()
        holder.release(done, 60.0, REFUSED)
        later = holder.lease("later.test")
        restart(forgetful)
        assert other.reason("later.test") == CLOSED
        while other.soon("free.test").leases == []:
            time.sleep(0.05)
        seconds, reason = other.wait("done.test")
        assert (50.0 < seconds <= 60.0, reason) == (True, NOT_DUE)
        for lease in (kept, later):
            assert other.reason(lease.host) == LEASED
            assert holder.release(lease, 0.0)
            assert other.lease(lease.host).token > lease.token


@pytest.mark.parametrize("step", [3600.0, -3600.0], ids=["forward", "back"])
def test_clock_of_the_server_is_set(step: float, forgetful: RedisServer) -> None:
    """It takes no turn from anybody whose heart beats, and no later grant has an older token."""
    steps = [0.0]

    def clock() -> float:
        return time.time() + steps[0]

    def store() -> Store:
        return Store(RedisStore(forgetful.url, terms=SHORT, server_clock=clock))

    with store() as holder, store() as other:
        other.open()
        lease = holder.lease("a.test")
        steps[0] = step
        until = time.monotonic() + 2 * SHORT.ttl
        while time.monotonic() < until:
            assert other.reason("a.test") == LEASED
            assert holder.store.holds(lease)
            time.sleep(0.05)
        assert holder.release(lease, 0.0)
        assert other.lease("a.test").token > lease.token


def test_new_server_grants_nothing_for_a_ttl() -> None:
    """A server that has just started may have forgotten turns: it grants none for one ttl."""
    with RedisServer() as server, store_on(server) as store:
        assert store.reason("a.test") == CLOSED


def test_server_that_is_met_first_and_up_for_long_grants_at_once() -> None:
    """A server that runs for longer than a ttl and never met us has lost nothing of ours."""
    with RedisServer() as server, store_on(server) as store:
        time.sleep(SHORT.ttl + 2.5)  # uptime is counted in whole seconds
        assert store.lease("a.test")


def test_lost_data_is_told_from_a_first_meeting() -> None:
    """Who comes after FLUSHALL does not take the empty server for one that was never asked."""
    with RedisServer() as server, store_on(server) as holder, store_on(server) as late:
        time.sleep(SHORT.ttl + 2.5)
        holder.lease("a.test")
        server.client.flushall()
        assert late.reason("b.test") == CLOSED


def test_stopped_server_takes_no_turn_from_anybody(forgetful: RedisServer) -> None:
    """A server that slept beyond a ttl gives holders time to show themselves before they lapse."""
    with store_on(forgetful) as holder, store_on(forgetful) as other:
        other.open()
        lease = holder.lease("a.test")
        forgetful.send(signal.SIGSTOP)
        with pytest.raises(StoreUnavailable):
            other.acquire("a.test")
        time.sleep(SHORT.ttl + 0.3)
        assert not holder.store.holds(lease)
        forgetful.send(signal.SIGCONT)
        assert other.reason("a.test") == LEASED
        time.sleep(3 * SHORT.heartbeat)
        assert other.reason("a.test") == LEASED
        assert holder.store.holds(lease)
        assert holder.release(lease, 0.0)


CALLS: dict[str, Callable[[Driven], object]] = {
    "open": Driven.open,
    "acquire": lambda store: store.acquire("a.test"),
    "renew": lambda store: store.renew(),
    "release": lambda store: store.push_back("a.test", 1.0),
    "get_robots": lambda store: store.get_robots("http://a.test"),
    "put_robots": lambda store: store.put_robots(RobotsRecord("http://a.test")),
}


def drop(server: RedisServer) -> None:
    server.kill()


def stop(server: RedisServer) -> None:
    server.send(signal.SIGSTOP)


def fill_up(server: RedisServer) -> None:
    server.client.config_set("maxmemory", 1)


TROUBLES = {"is down": drop, "does not answer": stop}


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
@pytest.mark.parametrize("trouble", TROUBLES.values(), ids=TROUBLES)
def test_every_call_is_unavailable_while_the_server(
    trouble: Callable[[RedisServer], None], call: Callable[[Driven], object]
) -> None:
    """StoreUnavailable is the one exception, and it names the server."""
    with RedisServer() as server, store_on(server) as store:
        trouble(server)
        with pytest.raises(StoreUnavailable, match=f"127.0.0.1:{server.port}"):
            call(store)


def test_full_server_is_unavailable(forgetful: RedisServer) -> None:
    """A server that may not write grants nothing."""
    with store_on(forgetful) as store:
        store.open()
        fill_up(forgetful)
        with pytest.raises(StoreUnavailable, match="maxmemory"):
            store.acquire("a.test")
        forgetful.client.config_set("maxmemory", 0)
        assert store.lease("a.test")


@pytest.mark.parametrize("server", [PERSISTENT], indirect=True, ids=["with persistence"])
def test_end_that_could_not_be_told_is_told_later(server: RedisServer) -> None:
    """A wait that was asked for while the server was down counts once it is back."""
    with store_on(server) as store:
        lease = store.lease("a.test")
        server.kill()
        with pytest.raises(StoreUnavailable):
            store.release(lease, 60.0)
        server.start()
        server.settle("polite:")
        seconds, reason = store.wait("a.test")
        assert (50.0 < seconds < 60.0, reason) == (True, NOT_DUE)


async def unbooked(question: Coroutine[Any, Any, list[Any]]) -> list[Any]:
    """Ask behind the back of a store."""
    return await deferred_from_coro(question)


@pytest.mark.parametrize("server", [PERSISTENT], indirect=True, ids=["with persistence"])
def test_record_that_could_not_be_told_is_told_later(server: RedisServer) -> None:
    """A robots.txt that was read while the server was down is known to all once it is back."""
    with store_on(server) as store, store_on(server) as other:
        store.open()
        server.kill()
        with pytest.raises(StoreUnavailable):
            store.put_robots(RobotsRecord("http://a.test", status=404))
        server.start()
        server.settle("polite:")
        assert store.soon("a.test").leases != []
        assert other.get_robots("http://a.test") is not None


def test_grant_that_was_never_heard_of_is_granted_again() -> None:
    """When the answer to a question was lost, the next question gets the turn."""
    server = shared_server()
    with store_on(server, server.fresh_prefix()) as store:
        session = store.store.session
        keys, args = [session.wire.host_key("a.test")], session.wire.acquire(1, [True])
        unheard = store.run(unbooked(session.epochs.ask(script("acquire"), keys, args)))
        assert unheard[0][0] == 1
        assert store.lease("a.test").token > int(unheard[0][1])
        assert store.reason("a.test") == LEASED


def test_fetch_that_hangs_loses_its_turn() -> None:
    """The heart stops for a turn that is too old, and the host is charged for it."""
    server = shared_server()
    prefix = server.fresh_prefix()
    terms = Terms(ttl=0.5, heartbeat=0.1, max_age=0.5)
    with store_on(server, prefix, terms) as hanging, store_on(server, prefix, terms) as other:
        lease = hanging.lease("a.test")
        while other.reason("a.test") == LEASED:
            time.sleep(0.05)
        seconds, reason = other.wait("a.test")
        assert (seconds > 3.0, reason) == (True, NOT_DUE)
        assert not hanging.store.holds(lease)
        assert not hanging.release(lease, 0.0)


def test_renewed_turn_is_young_again() -> None:
    """A turn that its holder renews by himself is kept beyond the age at which others lapse."""
    server = shared_server()
    prefix = server.fresh_prefix()
    terms = Terms(ttl=0.5, heartbeat=0.1, max_age=0.5)
    with store_on(server, prefix, terms) as holder, store_on(server, prefix, terms) as other:
        lease = holder.lease("a.test")
        until = time.monotonic() + 1.5
        while time.monotonic() < until:
            assert holder.renew(lease) == [lease]
            assert other.reason("a.test") == LEASED
            time.sleep(0.1)


def test_closed_store_ends_its_turns(forgetful: RedisServer) -> None:
    """Turns in hand end with the store, as if their fetches had lasted until then."""
    with store_on(forgetful) as other:
        with store_on(forgetful) as store:
            lease = store.lease("a.test")
        assert other.reason("a.test") == NOT_DUE
        with pytest.raises(StoreUnavailable, match="closed"):
            store.store.release(lease, delay=0.0, state=lease.state).send(None)


def test_what_was_told_last_counts(forgetful: RedisServer) -> None:
    """A store that is closed at once after the end of a turn still tells the server of it."""
    with store_on(forgetful) as other, store_on(forgetful) as store:
        store.run(_end_and_close(store.store, store.lease("a.test")))
        assert other.wait("a.test")[0] > 50.0


async def _end_and_close(store: RedisStore, lease: Lease) -> None:
    ended = Deferred.fromCoroutine(store.release(lease, delay=60.0, state=lease.state))
    await store.close()
    assert await ended


def test_unreadable_state_is_no_lease(caplog: pytest.LogCaptureFixture) -> None:
    """A host whose state is not ours is left alone; the others are not touched by that."""
    server = shared_server()
    prefix = server.fresh_prefix()
    with store_on(server, prefix) as store:
        server.client.hset(f"{prefix}host:a.test", "state", "{")
        acquired = store.acquire("a.test", "b.test")
        assert [lease.host for lease in acquired.leases] == ["b.test"]
        assert acquired.waits == {"a.test": (60.0, "unreadable")}


def test_a_host_that_was_kept_for_decades_comes_back() -> None:
    """A host that is due in ten years by what an earlier version kept is due in ten minutes."""
    server = shared_server()
    prefix = server.fresh_prefix()
    with store_on(server, prefix) as store:
        store.release(store.lease("a.test"), 0.0, HostState())
        later = float(server.client.time()[0]) + 10 * 365.25 * 86_400.0
        server.client.hset(f"{prefix}host:a.test", "due", later)
        waits = [store.acquire("a.test").waits["a.test"][0] for _ in range(2)]
        assert waits[1] <= waits[0] <= 600.0


def test_evicting_server_is_named_at_start(
    forgetful: RedisServer, caplog: pytest.LogCaptureFixture
) -> None:
    """Whoever lets Redis forget keys is told at start what that costs."""
    forgetful.client.config_set("maxmemory-policy", "allkeys-lru")
    with caplog.at_level(logging.WARNING), store_on(forgetful) as store:
        store.open()
    assert "maxmemory-policy allkeys-lru" in caplog.text


def test_every_key_expires() -> None:
    """Nothing stays on the server for ever, and all of it is under the prefix."""
    server = shared_server()
    prefix = server.fresh_prefix()
    with store_on(server, prefix) as store:
        store.release(store.lease("a.test"), 1e12, REFUSED)
        store.push_back("b.test", 10.0)
        store.put_robots(RobotsRecord("http://a.test", body=b"#"))
        store.lease("c.test")
        keys = sorted(server.client.scan_iter(f"{prefix}*"))
        names = ["epoch", "host:a.test", "host:b.test", "host:c.test", "robots:http://a.test"]
        assert keys == [f"{prefix}{name}".encode() for name in names]
        assert all(server.client.ttl(key) > 0 for key in keys)
