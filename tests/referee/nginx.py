"""nginx as a referee: it serves sites under loopback addresses and refuses whoever is impolite.

Rules: an address has one request in progress (`limit_conn`, else 503) and is asked no more often
than 1/11 of its time allows (`limit_req`, else 429). That rate follows from one figure: each
answer, a redirect, a 404 and robots.txt too, takes at least `PAUSE`, so a crawler that waits ten
times as long begins a request every 11 x PAUSE at most. nginx reads a clock that moves in steps of
4 ms, for the pause and for the rate; `SLACK` is for that.

The access log is all that is told of a crawl. Its instants are whole milliseconds, cut off, so a
wait and a duration may each be 1 ms wrong (`ROUNDING`). nginx takes a request's instants when it
wakes up, before it reads and before it writes: no wait seems shorter to it than to the client.
"""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from string import Template

from harness.needing import need
from harness.record import Arrival
from harness.server import loopback_block
from referee.sites import FRONT, RULES, SLOW, Owner, documentation

PAUSE = 0.03  # seconds
LONG_PAUSE = 0.5  # seconds; that of the slow page
SLACK = 1.2
PER_MINUTE = round(SLACK * 60 / (11 * PAUSE))
ROUNDING = 0.001  # seconds
PATIENCE = 10.0  # seconds until nginx answers
_FIRST_PIECE = 64  # octets, see nginx.conf
_HERE = Path(__file__).parent


class _Template(Template):
    delimiter = "%"


@dataclass(frozen=True, slots=True)
class Seen(Arrival):
    """One line of the access log: `host` is the address that was asked, instants are Unix time.

    Args:
        limit_conn: What nginx made of the connections: "PASSED", "REJECTED", or "" if never asked.
        limit_req: What it made of the rate, likewise.
        encoding: Content-Encoding of the answer, or "".
    """

    limit_conn: str
    limit_req: str
    encoding: str

    @property
    def is_refused(self) -> bool:
        """Whether nginx refused it for being one too many, or too soon."""
        return "REJECTED" in (self.limit_conn, self.limit_req)


def nginx_program() -> str:
    """Return the path of nginx, which the test needs; a user's PATH may lack its folder."""
    path = shutil.which("nginx", path=f"{os.environ.get('PATH', '')}:/usr/sbin")
    return need("nginx", path, "apt-get install nginx")


class Referee:
    """An nginx process of one's own; use it in a `with` statement.

    Args:
        owners: What is served: per owner one address, and all on one port.
        burst: How many requests an address takes in advance of the rate.
    """

    def __init__(self, owners: Sequence[Owner], *, burst: int = 0) -> None:
        self._command = [nginx_program(), "-e", "error.log", "-c", "nginx.conf", "-p"]
        self._documentation = documentation()
        addresses = map(str, loopback_block().hosts())
        self.owners: Mapping[str, Owner] = dict(zip(addresses, owners, strict=False))
        self.port = _free_port(next(iter(self.owners)))
        self._temporary = tempfile.TemporaryDirectory(prefix="referee-")
        self._folder = Path(self._temporary.name)
        self._write(burst)

    def url(self, address: str, path: str = "/") -> str:
        """Return the URL of a page."""
        return f"http://{address}:{self.port}{path}"

    def log(self) -> list[Seen]:
        """Return what was seen so far, in order of start; a request is seen once it has ended."""
        lines = (self._folder / "access.log").read_text().splitlines()
        return sorted(map(_seen, lines), key=lambda seen: seen.start_at)

    def __enter__(self) -> Referee:
        self._process = subprocess.Popen([*self._command, str(self._folder)])
        until = time.monotonic() + PATIENCE
        while not self._answers():
            if self._process.poll() is not None or time.monotonic() > until:
                complaint = (self._folder / "error.log").read_text()
                self.close()
                raise AssertionError(f"nginx did not start: {complaint}")
            time.sleep(0.02)
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End it, and forget what it wrote."""
        self._process.terminate()
        self._process.wait()
        self._temporary.cleanup()

    def _answers(self) -> bool:
        with suppress(OSError), socket.create_connection((next(iter(self.owners)), self.port)):
            return True
        return False

    def _write(self, burst: int) -> None:
        """Write the configuration, and the pages that are not in the documentation."""
        filled = {
            "folder": self._folder,
            "documentation": self._documentation,
            "rate": PER_MINUTE,
            "burst": f"burst={burst} nodelay" if burst else "",
            "short": round(_FIRST_PIECE / PAUSE),
            "long": round(_FIRST_PIECE / LONG_PAUSE),
            "sites": "\n".join(map(self._site, self.owners)),
        }
        for name in ("nginx.conf", "site.conf"):
            text = _Template((_HERE / name).read_text()).substitute(filled)
            (self._folder / name).write_text(text)
        for name, text in (("front.html", FRONT), ("slow.html", SLOW), ("rules.txt", RULES)):
            (self._folder / name).write_text(text)

    def _site(self, address: str) -> str:
        """Return the configuration of a site, and write its robots.txt."""
        owner = self.owners[address]
        folder = self._folder / address
        folder.mkdir()
        if owner.robots is not None:
            (folder / "robots.txt").write_text(owner.robots)
        neighbour = next(iter(self.owners))
        answer = owner.robots_answer.format(neighbour=neighbour) or "return 404;"
        return f"""
    server {{
        listen {address}:{self.port};
        include site.conf;
        location = /robots.txt {{ root {folder}; try_files $uri @robots; }}
        location @robots {{ {answer} }}
    }}"""


def _seen(line: str) -> Seen:
    fields = json.loads(line)
    end_ms, took_ms = round(fields["ended"] * 1e3), round(fields["took"] * 1e3)
    return Seen(
        host=fields["address"],
        port=fields["port"],
        path=fields["path"],
        method=fields["method"],
        start_at=(end_ms - took_ms) / 1e3,
        end_at=end_ms / 1e3,
        status=fields["status"],
        ended="left" if fields["status"] == 499 else "answered",  # nginx's own number
        headers={"user-agent": fields["agent"]},
        connection=fields["connection"],
        limit_conn=fields["limit_conn"],
        limit_req=fields["limit_req"],
        encoding=fields["encoding"],
    )


def _free_port(address: str) -> int:
    with socket.socket() as listener:
        listener.bind((address, 0))
        return int(listener.getsockname()[1])
