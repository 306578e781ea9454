"""The recording server in a process of its own, for benchmarks and tests of whole commands.

Rules: pages are data here (no functions). The scenario is JSON: {"HOST": {"PATH": PAGE, ...}, ...};
octets that are no text are written {"hex": "..."}. All hosts share one free port, which is the
first line of standard output, printed once the sites answer. The process ends when its standard
input does; the log is one JSON object (the fields of `Arrival`) per line.

By hand: `python tests/harness SCENARIO.json LOG.jsonl`.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from harness.pages import Answer, Pages, Site
from harness.record import Arrival
from harness.server import Web


class WebApart:
    """A web in a process of its own; use it in a `with` statement.

    Args:
        sites: Pages by host; hosts are loopback addresses.
    """

    def __init__(self, sites: Mapping[str, Pages]) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="harness-")
        self._log = Path(self._folder.name, "log.jsonl")
        scenario = Path(self._folder.name, "scenario.json")
        scenario.write_text(json.dumps(sites, default=_plain))
        self._process = subprocess.Popen(
            [sys.executable, str(Path(__file__).parent), str(scenario), str(self._log)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        assert self._process.stdout is not None
        self.port = int(self._process.stdout.readline())
        self.sites = [Site(host, self.port, pages) for host, pages in sites.items()]

    def __enter__(self) -> WebApart:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()
        self._folder.cleanup()

    def stop(self) -> list[Arrival]:
        """End the process and return all that it recorded, in order of start."""
        self._process.communicate()
        return self.arrivals()

    def arrivals(self) -> list[Arrival]:
        """Return what is in the log, in order of start; complete once the process has ended."""
        lines = self._log.read_text().splitlines()
        return sorted((Arrival(**json.loads(line)) for line in lines), key=lambda a: a.start_at)


def serve(scenario: str, log: str) -> None:
    """Serve a scenario file until standard input ends."""
    sites = json.loads(Path(scenario).read_text(), object_hook=_octets)
    with (
        Path(log).open("w", buffering=1) as out,
        Web(on_arrival=lambda a: out.write(json.dumps(asdict(a)) + "\n")) as web,
    ):
        for host, pages in sites.items():
            web.site(pages, host)
        print(web.port, flush=True)
        sys.stdin.read()


def _plain(value: object) -> Any:
    if isinstance(value, bytes):
        return {"hex": value.hex()}
    if isinstance(value, Answer):
        return asdict(value)
    raise TypeError(f"{value!r} is no data that a web apart could serve")


def _octets(value: dict[str, Any]) -> Any:
    return bytes.fromhex(value["hex"]) if set(value) == {"hex"} else value
