"""What a test needs that may not be installed: the test is skipped with its name.

Rules: where an environment variable says so the test fails instead, so that a run that is meant to
have everything cannot pass by skipping.
"""

from __future__ import annotations

import os
from typing import TypeVar

import pytest

T = TypeVar("T")


def need(thing: str, found: T | None, get_it: str, *, must: str = "CI") -> T:
    """Return what was found, or skip the test; at the top of a module, all of its tests.

    Args:
        thing: Its name.
        found: What it is, a path or a module for instance; None when it is not there.
        get_it: How to install it.
        must: The environment variable; where it has a value, the test fails instead.
    """
    if found is not None:
        return found
    reason = f"{thing} is not installed: {get_it}"
    if os.environ.get(must):
        pytest.fail(reason)
    pytest.skip(reason, allow_module_level=True)
