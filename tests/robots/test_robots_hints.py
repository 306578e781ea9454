"""What is heard beside the RFC: waits, sitemaps, the preferred host."""

from __future__ import annotations

import pytest

from scrapy_polite.robots.hints import delay, preferred_host, seconds, sitemaps
from scrapy_polite.robots.lines import records


@pytest.mark.parametrize(
    ("key", "value", "wait"),
    [
        ("crawl-delay", "5", 5.0),
        ("crawl-delay", "0.5", 0.5),
        ("crawl-delay", "0", 0.0),
        ("crawl-delay", "100000", 100000.0),
        ("crawl-delay", "-1", None),
        ("crawl-delay", "nan", None),
        ("crawl-delay", "inf", None),
        ("crawl-delay", "1e999", None),
        ("crawl-delay", "ten", None),
        ("crawl-delay", "5\u2028Crawl-delay: 7", None),
        ("crawl-delay", "", None),
        ("request-rate", "1/10", 10.0),
        ("request-rate", "3/1m", 20.0),
        ("request-rate", "2/1", 0.5),
        ("request-rate", "1/10s 0600-0845", 10.0),
        ("request-rate", "0/10", None),
        ("request-rate", "1/0", None),
        ("request-rate", "10", None),
        ("request-rate", "1/" + "9" * 4000, None),
    ],
)
def test_seconds(key: str, value: str, wait: float | None) -> None:
    """A record asks for a finite number of seconds, or for nothing."""
    assert seconds(key, value) == wait


@pytest.mark.parametrize(
    ("lines", "wait"),
    [
        ([], None),
        (["Crawl-delay: 2", "Crawl-delay: 9", "Crawl-delay: 4"], 9.0),
        (["Crawl-delay: 2", "Request-rate: 1/5"], 5.0),
        (["Crawl-delay: 5", "Request-rate: 1/2"], 5.0),
        (["Crawl-delay: x", "Crawl-delay: 4"], 4.0),
        (["Visit-time: 0600-0845"], None),
        ([*(f"Crawl-delay: {n}" for n in range(150))], 99.0),
    ],
)
def test_longest_wait_counts(lines: list[str], wait: float | None) -> None:
    """Of several waits the longest one counts; after a hundred nobody listens any more."""
    assert delay(records(lines)) == wait


def test_sitemaps_and_host_belong_to_the_file() -> None:
    """Sitemap and Host are found in any group and above all of them."""
    lines = [
        "Sitemap: https://site.example/a.xml",
        "User-agent: OtherBot",
        "Sitemaps: https://site.example/b.xml",
        "Host: www.site.example",
        "Disallow: /",
    ]
    assert sitemaps(records(lines)) == ("https://site.example/a.xml", "https://site.example/b.xml")
    assert preferred_host(records(lines)) == "www.site.example"
    assert preferred_host(records(lines[:3])) is None
