"""Running a store's coroutines from callbacks.

The memory store finishes at once, for each turn twice: then no Deferred is made, which would cost
more than the store.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Generator
from types import coroutine as generator_based
from typing import Any, TypeVar

from twisted.internet.defer import Deferred
from twisted.python.failure import Failure

T = TypeVar("T")


def run(coroutine: Coroutine[Any, Any, T], then: Callable[[T | Failure], None]) -> None:
    """Run a coroutine that awaits Deferreds and pass on what came of it.

    Args:
        then: called with the result or the failure, at once where nothing is waited for.
    """
    result: T | Failure
    try:
        awaited = coroutine.send(None)
    except StopIteration as end:
        result = end.value
    except Exception:
        result = Failure()  # type: ignore[no-untyped-call]
    else:
        Deferred.fromCoroutine(_rest(coroutine, awaited)).addBoth(then)
        return
    then(result)


@generator_based
def _rest(coroutine: Coroutine[Any, Any, T], awaited: Any) -> Generator[Any, Any, T]:
    """Go on with a coroutine that has begun; it awaits something."""
    while True:
        try:
            try:
                got = yield awaited
            except GeneratorExit:  # nobody waits any more; the coroutine may be closed already
                coroutine.close()
                raise
            except BaseException as error:  # a cancelled wait
                awaited = coroutine.throw(error)
            else:
                awaited = coroutine.send(got)
        except StopIteration as end:
            result: T = end.value
            return result
