"""What PoliteQueue says at start when it cannot keep the promise."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from distributed.crew import POLITELY, Worker
from distributed.servers import RedisServer, shared_server


def log_of(folder: Path, server: RedisServer, settings: Mapping[str, Any]) -> str:
    """Return the log of a worker with these settings."""
    told = {**POLITELY, "REDIS_URL": server.url, **settings}
    worker = Worker(folder / "log", told, {})
    try:
        return worker.wait()
    finally:
        worker.close()


SETTINGS = {
    "no POLITE_STATE": ({}, "set POLITE_STATE to what REDIS_URL is"),
    "another database": ({"POLITE_STATE": "{url}7"}, "are not the same Redis database"),
    "grouped by address": (
        {"POLITE_STATE": "{url}0", "POLITE_GROUP_BY": "ip"},
        "write 'host' or 'domain'",
    ),
}


@pytest.mark.parametrize(("settings", "said"), SETTINGS.values(), ids=SETTINGS)
def test_crawl_does_not_start(tmp_path: Path, settings: dict[str, str], said: str) -> None:
    """A setting with which the turns are not shared is a ValueError of one sentence."""
    server = shared_server()
    url = server.url.removesuffix("0")
    told = {name: value.format(url=url) for name, value in settings.items()}
    log = log_of(tmp_path, server, told)
    assert [line for line in log.splitlines() if "ValueError" in line and said in line] != []
    assert "Crawled" not in log
