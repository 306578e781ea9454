"""Runs the ordinary spider against a referee, in a process of its own.

The sides differ in what they add to the same settings: nothing (`STOCK`), Scrapy's own
AutoThrottle at 1/11 (`AUTOTHROTTLE`), or the add-on (`PACK`). All obey robots.txt and send the same
User-Agent.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from harness.child import environment
from harness.crawl import BARE
from referee.nginx import Referee
from referee.sites import PRODUCT

STOCK: dict[str, Any] = {**BARE, "USER_AGENT": f"{PRODUCT}/1.0 (+https://referee.test/bot)"}
AUTOTHROTTLE: dict[str, Any] = {
    **STOCK,
    "AUTOTHROTTLE_ENABLED": True,
    "AUTOTHROTTLE_TARGET_CONCURRENCY": 1 / 11,
    "AUTOTHROTTLE_START_DELAY": 0.5,
    "AUTOTHROTTLE_MAX_DELAY": 600,
    "CONCURRENT_REQUESTS_PER_DOMAIN": 1,
}
PACK: dict[str, Any] = {
    **STOCK,
    "ADDONS": {"scrapy_polite.Addon": 500},
    "POLITE_MIN_DELAY": 0,  # so that ten times the fetch decides
    "POLITE_JITTER": 0,
    "POLITE_ROBOTS_HOLD": 5,  # seconds, for the site whose robots.txt answers 503
}
_SPIDER = Path(__file__).with_name("spider.py")


def crawl(referee: Referee, settings: Mapping[str, Any], *, timeout: float) -> str:
    """Crawl all sites from their front pages and return the log of the crawl.

    Args:
        timeout: Seconds after which the spider is closed; requests in flight end.
    """
    merged = {**settings, "CLOSESPIDER_TIMEOUT": timeout}
    starts = [referee.url(address) for address in referee.owners]
    run = subprocess.run(
        [sys.executable, str(_SPIDER), json.dumps(merged), *starts],
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
        timeout=timeout + 60,
    )
    assert run.returncode == 0, run.stdout
    return run.stdout
