"""The test servers themselves: they do not outlive the tests."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import pytest

from distributed.servers import PATIENCE, redis_server
from harness.child import environment

PROGRAM = """
import time
from distributed.servers import RedisServer
server = RedisServer()
print(server.client.info("server")["process_id"], flush=True)
time.sleep(60)
"""


@pytest.mark.parametrize("stopped", [False, True], ids=["running", "stopped"])
def test_server_dies_with_the_tests(*, stopped: bool) -> None:
    """A test run that is killed leaves no server behind, not even one that is stopped."""
    redis_server()
    command = [sys.executable, "-c", PROGRAM]
    with subprocess.Popen(command, stdout=subprocess.PIPE, env=environment()) as tests:
        assert tests.stdout is not None
        server = int(tests.stdout.readline())
        if stopped:
            os.kill(server, signal.SIGSTOP)
        tests.kill()
    until = time.monotonic() + PATIENCE
    while time.monotonic() < until and not is_ended(server):
        time.sleep(0.05)
    assert is_ended(server)


def is_ended(process: int) -> bool:
    """Return whether a process is gone, or waits only for somebody to ask how it ended."""
    try:
        state = subprocess.run(
            ["ps", "-o", "stat=", "-p", str(process)], capture_output=True, text=True, check=True
        )
    except subprocess.CalledProcessError:
        return True
    return state.stdout.startswith("Z")
