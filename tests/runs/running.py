"""Crawl processes that tests interrupt: started, signalled, and read afterwards."""

from __future__ import annotations

import json
import signal
import subprocess
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from harness import POLITE, Web, child


class Running:
    """A crawl in a process of its own.

    Args:
        folder: where its job, log and result are.
    """

    def __init__(
        self,
        folder: Path,
        requests: Sequence[str | dict[str, Any]],
        settings: dict[str, Any],
        attributes: dict[str, Any] | None = None,
    ) -> None:
        self._folder = folder
        job = {
            "settings": {**POLITE, **settings},
            "requests": list(requests),
            "attributes": attributes or {},
        }
        self.process = child.start(folder, job)

    @property
    def log(self) -> str:
        """What it logged so far, earlier runs in the same folder included."""
        return (self._folder / "log.txt").read_text()

    def signal(self, number: signal.Signals) -> float:
        """Send a signal; return the instant (monotonic)."""
        self.process.send_signal(number)
        return time.monotonic()

    def kill(self) -> None:
        """End it with SIGKILL."""
        self.process.kill()
        self.process.wait()

    def finish(self, timeout: float = 60.0) -> dict[str, Any]:
        """Wait for its end and return its result, {} when it left none."""
        try:
            self.process.wait(timeout)
        except subprocess.TimeoutExpired:
            self.kill()
            raise AssertionError(
                f"the crawl did not end in {timeout} s\n{self.log[-3000:]}"
            ) from None
        result = self._folder / "result.json"
        return json.loads(result.read_text()) if result.exists() else {}


def wait_until(condition: Callable[[], bool], timeout: float = 20.0) -> None:
    """Wait for something to happen, for *timeout* seconds at most."""
    until_at = time.monotonic() + timeout
    while not condition():
        assert time.monotonic() < until_at, "it did not happen"
        time.sleep(0.05)


def pages(web: Web, hosts: Iterable[str] | None = None) -> list[tuple[str, str]]:
    """Return (host, path) of the pages that were answered with 200, in order."""
    return [
        (arrival.host, arrival.path)
        for arrival in web.arrivals()
        if arrival.path != "/robots.txt"
        and arrival.status == 200
        and (hosts is None or arrival.host in hosts)
    ]
