"""What the crawl tests share.

`in_process` is for tests that bring code of their own into the crawl, or look at its crawler: a
crawl without a reactor runs in a process of its own, so they are skipped with `--reactorless`.
"""

from __future__ import annotations

import pytest


@pytest.fixture
def in_process(request: pytest.FixtureRequest) -> None:
    """Skip when crawls do not run in the process of the tests."""
    if request.config.getoption("reactorless"):
        pytest.skip("needs the crawl in the process of the tests")
