"""What spiders and middlewares may ask of the pack.

    from scrapy_polite import block_host, set_floor

    def parse(self, response):
        if "captcha" in response.url:
            block_host(self.crawler, response.url, 900, "captcha page")

Both take a URL, or a host key as logs and reports show it.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from scrapy_polite.runtime.runtime import Runtime

if TYPE_CHECKING:
    from scrapy.crawler import Crawler


def block_host(crawler: Crawler, url: str, seconds: float, reason: str = "asked") -> None:
    """Leave a host alone, as if it had refused and asked for that long.

    Args:
        url: a URL of the host, or its host key.
        seconds: how long, from now; a longer block that stands is not shortened.
        reason: a few words for the log.

    Raises:
        ValueError: *seconds* is no number above 0.
    """
    runtime, host = Runtime.of(crawler), _host(crawler, url)
    runtime.parking.block(host, _checked(seconds), reason)


def set_floor(crawler: Crawler, url: str, seconds: float) -> None:
    """Have at least *seconds* between the fetches of a host from now on.

    Raises:
        ValueError: *seconds* is no number above 0.
    """
    runtime, host = Runtime.of(crawler), _host(crawler, url)
    runtime.leases.set_floor(host, _checked(seconds))
    runtime.turns.pump.push_back(host, seconds)


def _host(crawler: Crawler, url: str) -> str:
    return Runtime.of(crawler).lanes.group(url) or url


def _checked(seconds: float) -> float:
    if not 0 < seconds < math.inf:
        raise ValueError(f"seconds is {seconds!r}: give a number above 0.")
    return float(seconds)
