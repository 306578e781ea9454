"""A store's coroutines, run from callbacks: what comes of them is passed on once, and in time."""

from __future__ import annotations

import gc
from collections.abc import Awaitable, Callable
from typing import Any, TypeAlias

import pytest
from twisted.internet.defer import CancelledError, Deferred
from twisted.python.failure import Failure

from scrapy_polite.runtime.running import run

Wait: TypeAlias = Callable[[], Awaitable[Any]]


class Down(Exception):
    """The store is down."""


async def at_once(wait: Wait) -> str:
    return "done"


async def failing_at_once(wait: Wait) -> str:
    raise Down


async def waiting(wait: Wait) -> str:
    return f"{await wait()}, {await wait()}"


async def waiting_and_failing(wait: Wait) -> str:
    await wait()
    raise Down


async def going_on(wait: Wait) -> str:
    try:
        await wait()
    except Down:
        return f"after all: {await wait()}"
    return "no failure"


WAITED: dict[str, tuple[Callable[[Wait], Any], list[object], object]] = {
    "result": (waiting, ["a", "b"], "a, b"),
    "failure of its own": (waiting_and_failing, ["a"], Down),
    "failure of the first wait": (waiting, [Down()], Down),
    "failure of the last wait": (waiting, ["a", Down()], Down),
    "failure that it catches": (going_on, [Down(), "b"], "after all: b"),
    "failure after one that it caught": (going_on, [Down(), Down()], Down),
}


def kind(result: object) -> object:
    """Return a result, or the class of a failure."""
    return type(result.value) if isinstance(result, Failure) else result


@pytest.mark.parametrize(
    ("work", "expected"), [(at_once, "done"), (failing_at_once, Down)], ids=["result", "failure"]
)
def test_what_waits_for_nothing(work: Callable[[Wait], Any], expected: object) -> None:
    """What waits for nothing is passed on before the call returns."""
    told: list[object] = []
    run(work(Deferred), told.append)
    assert list(map(kind, told)) == [expected]


@pytest.mark.parametrize(("work", "news", "expected"), WAITED.values(), ids=WAITED)
def test_what_waits(work: Callable[[Wait], Any], news: list[object], expected: object) -> None:
    """What waits is passed on, once, when the last Deferred has fired and not before."""
    told: list[object] = []
    waits: list[Deferred[Any]] = []

    def wait() -> Deferred[Any]:
        waits.append(Deferred())
        return waits[-1]

    run(work(wait), told.append)
    for new in news:
        assert told == []
        if isinstance(new, Exception):
            waits[-1].errback(new)
        else:
            waits[-1].callback(new)
    assert list(map(kind, told)) == [expected]


@pytest.mark.parametrize("error", [CancelledError(), KeyboardInterrupt()], ids=repr)
def test_a_wait_that_is_cut_cleans_up(error: BaseException) -> None:
    """Whatever ends a wait reaches the coroutine that waits, so that it can clean up."""
    told, seen = list[object](), list[type[BaseException]]()
    wait: Deferred[None] = Deferred()

    async def work() -> None:
        try:
            await wait
        except BaseException as cut:
            seen.append(type(cut))
            raise

    run(work(), told.append)
    wait.errback(error)
    assert seen == [type(error)]
    assert list(map(kind, told)) == [type(error)]


def test_an_error_of_who_is_told() -> None:
    """An error of the callback is not the coroutine's: it is told once, and the error comes up."""
    told: list[object] = []

    def then(result: object) -> None:
        told.append(result)
        raise Down

    with pytest.raises(Down):
        run(at_once(Deferred), then)
    assert told == ["done"]


def test_a_forgotten_wait_cleans_up_in_any_order() -> None:
    """Where all of it is collected at once, the coroutine may be closed before who drives it."""
    waits: list[Deferred[None]] = [Deferred()]

    async def work() -> None:
        await waits[0]

    coroutine = work()
    run(coroutine, [].append)
    coroutine.close()
    waits.clear()  # the last that holds on to who drives it
    gc.collect()
