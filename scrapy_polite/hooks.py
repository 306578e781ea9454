"""What spiders and middlewares may ask of the pack.

    from scrapy_polite import block_host, set_floor

    def parse(self, response):
        if "captcha" in response.url:
            block_host(self.crawler, response.url, 900, "captcha page")

Both take a URL, or a host key as logs and reports show it; with POLITE_ENABLED False they check
what they are given, and do nothing.
"""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING

from scrapy_polite import config
from scrapy_polite.policy.retry_after import RETRY_AFTER_CAP
from scrapy_polite.runtime.runtime import Runtime

if TYPE_CHECKING:
    from scrapy.crawler import Crawler

_KEY = re.compile(r"[\w.:-]+")  # a host by itself; that of an IPv6 host has no brackets


def block_host(crawler: Crawler, url: str, seconds: float, reason: str = "asked") -> None:
    """Leave a host alone, as if it had refused and asked for that long.

    Args:
        url: a URL of the host, or its host key.
        seconds: how long, from now; a longer block that stands is not shortened, and one that is
            longer than POLITE_RETRY_AFTER_MAX parks the host.
        reason: a few words for the log.

    Raises:
        ValueError: *seconds* is no number above 0, or *url* has no host.
    """
    seconds = _checked(seconds)
    if not config.is_enabled(crawler.settings):  # nothing keeps a clock
        return
    host = _host(crawler, url)
    Runtime.of(crawler).parking.block(host, seconds, reason)


def set_floor(crawler: Crawler, url: str, seconds: float) -> None:
    """Have at least *seconds* between the fetches of a host from now on.

    A later call replaces the floor of an earlier one.

    Raises:
        ValueError: *seconds* is no number above 0, or *url* has no host.
    """
    seconds = _checked(seconds)
    if not config.is_enabled(crawler.settings):
        return
    host = _host(crawler, url)
    runtime = Runtime.of(crawler)
    runtime.leases.set_floor(host, seconds)
    runtime.turns.pump.push_back(host, seconds)


def _host(crawler: Crawler, url: str) -> str:
    group = Runtime.of(crawler).lanes.group
    host = group(url)
    if host is None and _KEY.fullmatch(url):
        host = group(f"http://[{url}]/" if url.count(":") > 1 else f"http://{url}/")
    if host is None:
        raise ValueError(f"{url!r} has no host: give an http or https URL, or a host key.")
    return host


def _checked(seconds: float) -> float:
    try:
        number = math.nan if isinstance(seconds, bool) else float(seconds)
    except (TypeError, ValueError, OverflowError):
        number = math.nan
    if not 0 < number < math.inf:
        raise ValueError(f"seconds is {seconds!r}: give a number above 0.")
    return min(number, RETRY_AFTER_CAP)
