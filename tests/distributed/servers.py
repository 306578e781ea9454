"""Real Redis servers for the tests: started on a free loopback port, killed, stopped, restarted.

Rules: where redis-server or a library is not installed the tests are skipped (see
`harness.needing`).  Every server is ended by the id of its process, also when this process is
killed: a guard beside it reads from a pipe that ends with us.
"""

from __future__ import annotations

import atexit
import os
import secrets
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from importlib.util import find_spec
from pathlib import Path

from harness.needing import need
from scrapy_polite.state.redis import RedisStore, Terms

with suppress(ImportError):  # `redis_server` says so
    from redis import Redis
    from redis.exceptions import RedisError

PATIENCE = 10.0  # seconds until a server answers
GUARD = 'read -r line; kill -9 "$1"'
CLUSTER_MAX = 55_535  # ports; a node of a cluster has another one, 10,000 higher
PERSISTENT = ("--appendonly", "yes", "--appendfsync", "always")


def is_missing() -> bool:
    """Return whether the tests do without a server here."""
    there = shutil.which("redis-server") and find_spec("redis")
    return not there and not os.environ.get("CI")


def redis_server() -> str:
    """Return the path of redis-server, which the test needs as it needs the library."""
    need("redis", find_spec("redis"), "pip install redis")
    return need("redis-server", shutil.which("redis-server"), "apt-get install redis-server")


class RedisServer:
    """A server process of one's own; use it in a `with` statement.

    Args:
        options: of the command line.
    """

    def __init__(self, *options: str) -> None:
        self._program = redis_server()
        self._folder = tempfile.TemporaryDirectory(prefix="redis-")
        self._options = options
        self.port = self.free_port()
        self.socket = f"{self._folder.name}/redis.sock"
        self.url = f"redis://127.0.0.1:{self.port}/0"
        self.client = Redis(port=self.port, socket_timeout=2.0)
        self._process: subprocess.Popen[bytes] | None = None
        self._guard: subprocess.Popen[bytes] | None = None
        try:
            self.start()
        except BaseException:
            self.close()
            raise

    def start(self) -> None:
        """Start it and wait until it answers."""
        command = [self._program, "--port", str(self.port), "--bind", "127.0.0.1"]
        command += ["--dir", self._folder.name, "--unixsocket", self.socket, "--save", ""]
        path = Path(self._folder.name, "log")
        with path.open("ab") as log:
            self._process = subprocess.Popen([*command, *self._options], stdout=log, stderr=log)
        guard = ["sh", "-c", GUARD, "guard", str(self._process.pid)]
        self._guard = subprocess.Popen(guard, stdin=subprocess.PIPE)
        until = time.monotonic() + PATIENCE
        while not self.answers():
            assert time.monotonic() < until, path.read_text()
            time.sleep(0.02)

    def answers(self) -> bool:
        """Return whether it takes commands."""
        try:
            return bool(self.client.ping())
        except RedisError:
            return False

    def kill(self) -> None:
        """End it as `kill -9` does."""
        assert self._process is not None
        assert self._guard is not None
        self._guard.kill()  # first, for the id of the process may be another's afterwards
        self._guard.communicate()
        self.send(signal.SIGKILL)
        self._process.wait()
        self._process = self._guard = None

    def send(self, number: signal.Signals) -> None:
        """Send the process a signal."""
        assert self._process is not None
        self._process.send_signal(number)

    def settle(self, prefix: str) -> str:
        """Begin an epoch that grants at once, as if the server had been up for long; return it."""
        epoch, run_id = secrets.token_hex(8), self.client.info("server")["run_id"]
        told = {"id": epoch, "run_id": run_id, "closed_until": 0}
        self.client.hset(f"{prefix}epoch", mapping=told)
        self.client.expire(f"{prefix}epoch", 600)
        return epoch

    def fresh_prefix(self) -> str:
        """Return a prefix that nobody uses, with an epoch that grants at once."""
        prefix = f"{secrets.token_hex(4)}:"
        self.settle(prefix)
        return prefix

    @staticmethod
    def free_port() -> int:
        """Return a loopback port that nobody listens on, and that a cluster's node can have."""
        port = CLUSTER_MAX + 1
        while port > CLUSTER_MAX:
            with socket.socket() as listener:
                listener.bind(("127.0.0.1", 0))
                port = int(listener.getsockname()[1])
        return port

    def close(self) -> None:
        """End it, also when it is stopped, and forget its data."""
        if self._process is not None:
            self.kill()
        self.client.close()
        self._folder.cleanup()

    def __enter__(self) -> RedisServer:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


@cache
def shared_server() -> RedisServer:
    """Return one server for all tests that leave it alive; it ends with the test run."""
    server = RedisServer()
    atexit.register(server.close)
    return server


def store_on_redis(clock: Callable[[], float]) -> RedisStore:
    """Return a store that has Redis to itself and lives in the time of a clock set by hand."""
    server = shared_server()
    return RedisStore(
        server.url,
        prefix=server.fresh_prefix(),
        clock=clock,
        terms=Terms(ttl=1e6, heartbeat=1e5),
        server_clock=clock,
    )
