"""What all tests share.

Rules: tests run inside the reactor that `--reactor` names (asyncio unless told otherwise); a test
that is a coroutine function is awaited there. `--reactorless` sends in-process crawls to a process
without a reactor. `web` gives each test hosts of its own.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator

import hypothesis
import pytest
from scrapy.utils.defer import deferred_f_from_coro_f

from harness import Web
from harness.crawl import go_reactorless


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--reactorless",
        action="store_true",
        help="run in-process crawls in processes without a reactor",
    )


def pytest_configure(config: pytest.Config) -> None:
    if config.getoption("reactorless"):
        go_reactorless()
    # That a busy machine makes examples slowly is no finding.
    slow = hypothesis.HealthCheck.too_slow
    hypothesis.settings.register_profile("patient", suppress_health_check=[slow])
    hypothesis.settings.load_profile("patient")


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> None:
    """Turn coroutine functions into what pytest-twisted awaits under every reactor."""
    if inspect.iscoroutinefunction(pyfuncitem.obj):
        pyfuncitem.obj = deferred_f_from_coro_f(pyfuncitem.obj)


@pytest.fixture
def web() -> Iterator[Web]:
    """A recording web whose loopback hosts no other test uses."""
    with Web() as web:
        yield web
