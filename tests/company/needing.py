"""Other people's packages that the tests here are for.

Rules: they are in the extra `company`; where CI_COMPANY is set they must be there.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from harness.needing import need

MUST = "CI_COMPANY"


def need_package(package: str, module: str) -> Any:
    """Return a package's module, or skip the test; at the top of a module, all of its tests."""
    try:
        return import_module(module)
    except ImportError as error:
        thing, get_it = f"{package} ({error})", "pip install 'scrapy-polite[company]'"
        return need(thing, None, get_it, must=MUST)
