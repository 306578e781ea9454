"""`scrapy politeness --state FILE --forget HOST`."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from harness import Web, crawl


def _politeness(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "scrapy", "politeness", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)


@pytest.mark.slow
def test_forget(web: Web, tmp_path: Path) -> None:
    """A host that a state file knows is forgotten once; then nothing is known of it."""
    site = web.site({"/robots.txt": 404, "*": "page"})
    state = str(tmp_path / "polite.db")
    crawl(web, [site.url("/")], {"POLITE_STATE": state})
    first = _politeness("--state", state, "--forget", site.host)
    again = _politeness("--state", state, "--forget", site.host)
    assert (first.returncode, again.returncode) == (0, 2)
    assert "is forgotten" in first.stdout
    assert "Nothing is known" in again.stderr
