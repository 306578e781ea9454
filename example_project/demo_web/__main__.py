"""Run the demo web alone, to read it in a browser: `python -m demo_web [--port N] [--log FILE]`."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import signal
import sys
from pathlib import Path
from typing import TextIO

from .server import running_web
from .sites import SITES

DEFAULT_PORT = 8099


async def until_stopped(port: int, log: TextIO | None) -> None:
    """Serve until the process is told to stop."""
    stopped = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, stopped.set)
    async with running_web(port, log) as port:
        print(f"The demo web is open on port {port} (stop with Ctrl-C):", flush=True)
        for site in SITES:
            print(
                f"  http://{site.address}:{port}/  {site.name}, robots.txt: {site.manner}",
                flush=True,
            )
        await stopped.wait()


def main() -> int:
    """Read the command line and serve; exit status 1 when the port or an address cannot be had."""
    parser = argparse.ArgumentParser(prog="python -m demo_web", description=__doc__.split(":")[0])
    parser.add_argument(
        "--port", type=int, default=DEFAULT_PORT, help="default: %(default)s; 0: a free one"
    )
    parser.add_argument("--log", type=Path, help="write the log to this file, JSON lines")
    arguments = parser.parse_args()
    with contextlib.ExitStack() as stack:
        log = stack.enter_context(arguments.log.open("w")) if arguments.log else None
        try:
            asyncio.run(until_stopped(arguments.port, log))
        except OSError as error:
            print(f"The demo web cannot open: {error}", file=sys.stderr)
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
