"""What a test module needs of other people's: it is there, or the tests are skipped with its name.

Rules: where CI_COMPANY is set, what is missing or cannot be imported is an error instead, so that
such a run cannot pass by skipping.
"""

from __future__ import annotations

import os
import shutil
from importlib import import_module
from typing import Any, NoReturn

import pytest


def need(package: str, module: str) -> Any:
    """Return a package's module; for use in a test or at the top of a module.

    Raises:
        ImportError: it cannot be imported, and CI_COMPANY is set.
    """
    try:
        return import_module(module)
    except ImportError as error:
        if _must():
            raise
        _skip(f"{package} cannot be imported: {error} (pip install 'scrapy-polite[company]')")


def need_chromium() -> str:
    """Return the path of the browser.

    Raises:
        FileNotFoundError: there is none, and CI_COMPANY is set.
    """
    path = shutil.which("chromium") or shutil.which("chromium-browser")
    if path is None:
        missing = "chromium is not installed: apt-get install chromium"
        if _must():
            raise FileNotFoundError(missing)
        _skip(missing)
    return path


def _must() -> bool:
    return bool(os.environ.get("CI_COMPANY"))


def _skip(reason: str) -> NoReturn:
    pytest.skip(reason, allow_module_level=True)
