"""What these tests share."""

from __future__ import annotations

import pytest
from scrapy.utils.reactor import is_asyncio_reactor_installed

from crawls.conftest import in_process

__all__ = ["asyncio_reactor", "in_process"]


@pytest.fixture
def asyncio_reactor() -> None:
    """Skip under reactors that a package refuses."""
    if not is_asyncio_reactor_installed():
        pytest.skip("the package needs the asyncio reactor")
