"""A robots.txt that is written to hurt: what a verdict costs, what its numbers and addresses do."""

from __future__ import annotations

import math
import time
from collections.abc import Callable

import pytest

from scrapy_polite.robots.matcher import READ_MAX
from scrapy_polite.robots.parser import Rfc9309RobotParser
from scrapy_polite.robots.rules import Reason

BOT = "ExampleBot"
SIZE_BYTES = 500_000
VERDICT_SECONDS = (
    1.0  # the budget: ten times what a verdict takes, on a machine that has other work
)
LONGEST_URLS = {"of a page": 2_083, "of a redirect": 16_000}  # URLLENGTH_LIMIT; Twisted's line


def word(number: int) -> str:
    """Return another short word for each number."""
    return "".join("bcdefghijklm"[number // 12**place % 12] for place in range(4))


def file_of(line: Callable[[int], str]) -> bytes:
    """Return a file of as many lines as there is room for."""
    lines, size = ["User-agent: *"], 0
    while size < SIZE_BYTES:
        lines.append(line(len(lines)))
        size += len(lines[-1]) + 1
    return "\n".join(lines).encode()


# Each was the worst of its kind: the URL below is read to its end again and again.
FILES = {
    "one piece that is nearly there": file_of(lambda n: f"Disallow: /*a{word(n)}aaaaaaaa"),
    "many pieces": file_of(lambda n: f"Disallow: /*a*a*a*a*a*a*a{word(n)}X"),
    "anchored": file_of(lambda n: f"Disallow: /*a*a*{word(n)}*a$"),
    "escapes that can be read in two ways": file_of(lambda n: f"Disallow: /*%2F{word(n)}%3F"),
    "hundreds of pieces": file_of(lambda n: "Disallow: /" + "*a" * 300 + word(n)),
    "stars side by side": file_of(lambda n: "Disallow: /" + "*" * 200_000 + word(n) + "$"),
    "keys in keys": file_of(lambda n: "Disallow: /" + "a" * n + "*" + word(n)),
    "shortest": file_of(lambda n: f"Allow:*{word(n)}a"),
}


@pytest.mark.parametrize("length", LONGEST_URLS.values(), ids=LONGEST_URLS)
@pytest.mark.parametrize("name", FILES)
def test_price_of_a_verdict(name: str, length: int) -> None:
    """No file of 500 KB and no URL make one verdict take longer than the budget."""
    parser = Rfc9309RobotParser(FILES[name])
    assert parser.allowed("https://site.example/b", BOT) in (True, False)  # compiles the rules
    for tail in ("", "?/" + "a" * (length // 2)):
        url = "https://site.example/" + "a" * (length - len(tail)) + tail
        begun_at = time.perf_counter()
        parser.allowed(url, BOT)
        assert time.perf_counter() - begun_at < VERDICT_SECONDS


def test_what_costs_too_much_is_not_fetched() -> None:
    """Beyond the price of a verdict nothing is allowed, and the verdict says why."""
    rules = b"User-agent: *\nAllow: /\n" + b"".join(
        b"Disallow: /*a%s\n" % word(n).encode() for n in range(20_000)
    )
    parser = Rfc9309RobotParser(rules)
    dear = "https://site.example/" + "a" * (READ_MAX // 20_000)
    assert parser.explain(dear, BOT).reason is Reason.TOO_MUCH
    assert "take too long" in str(parser.explain(dear, BOT))
    assert not parser.allowed(dear, BOT)
    assert parser.allowed("https://site.example/" + "a" * 100, BOT)
    assert not parser.allowed("https://site.example/aa" + word(19_999), BOT)


WAITS = {
    "Crawl-delay": [
        "NaN",
        "inf",
        "-inf",
        "1e309",
        "-5",
        "0x10",
        "1_000",
        "+7",
        "1e-400",
        "٣",
        "1,5",
        "1;2",
        "--",
    ],
    "Request-rate": [
        "1/0",
        "0/1",
        "0/0",
        "-1/5",
        "1/-5",
        "1/1e309",
        "1/NaN",
        "1/inf",
        "1/5x",
        "//",
        "1/",
        "/1",
        "1/0s",
    ],
}
HUGE = {
    "Crawl-delay": ["9" * 5000, "9" * 400],
    "Request-rate": [f"1/{'9' * 5000}", "9" * 5000 + "/1"],
}


@pytest.mark.parametrize(
    ("key", "value"),
    [(key, value) for table in (WAITS, HUGE) for key, values in table.items() for value in values],
    ids=lambda text: text[:20],
)
def test_odd_waits(key: str, value: str) -> None:
    """A wait is a finite number from 0 on, or none: no other value gets further than the parser."""
    delay = Rfc9309RobotParser(f"User-agent: *\n{key}: {value}\n".encode()).crawl_delay(BOT)
    assert delay is None or (0 <= delay < math.inf)


def test_addresses_of_sitemaps_are_texts() -> None:
    """Whatever address a Sitemap line names, it is one line of text: nobody asks for it."""
    lines = [
        "javascript:alert(1)",
        "file:///etc/passwd",
        "http://a/\x0bSitemap:b",
        "data:,x\u2028y",
    ]
    body = "User-agent: *\n" + "".join(f"Sitemap: {line}\n" for line in lines)
    found = Rfc9309RobotParser(body.encode()).sitemaps()
    assert len(found) == len(lines)
    assert all(len(address.splitlines()) == 1 for address in found)
