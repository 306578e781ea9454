"""Files written to hurt: nothing raises, nothing hangs, nothing grows out of proportion.

What would take quadratic time, or more, would take minutes here; no test measures time.
"""

from __future__ import annotations

import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_polite.robots.parser import Rfc9309RobotParser
from scrapy_polite.robots.problems import find_problems

LONG_URL = "https://site.example/" + "ab" * 30_000
SNIPPETS = (
    b"User-agent:|Disallow:|Allow:|Crawl-delay:|Request-rate:|Sitemap:|Host:|ExampleBot|*|$|%|%2F|/|?"
    b"|#| |\n|\r|1/0|1e999|\0|\xef\xbb\xbf|\xff\xfe|\xfe\xff|\xe9|\xe2\x80\xa8"
).split(b"|")
BODIES = st.binary(max_size=200) | st.lists(st.sampled_from(SNIPPETS), max_size=40).map(b"".join)


def use(body: bytes, url: str | bytes = LONG_URL, agent: str | bytes = "ExampleBot") -> bool:
    """Ask a parser everything that can be asked."""
    parser = Rfc9309RobotParser.from_crawler(None, body)
    verdict = parser.explain(url, agent)
    assert parser.allowed(url, agent) is verdict.allowed
    for text in (str(verdict), *map(str, find_problems(parser.rules.file)), *parser.sitemaps()):
        assert isinstance(text, str)
    delay = parser.crawl_delay(agent)
    assert delay is None or 0 <= delay < float("inf")
    assert parser.preferred_host() is None or body
    return verdict.allowed


@given(BODIES, st.text(max_size=30) | st.binary(max_size=30), st.text() | st.binary())
def test_nothing_raises(body: bytes, url: str | bytes, agent: str | bytes) -> None:
    """Whatever file, URL and agent are given, there is a verdict and its explanation."""
    use(body, url, agent)


def test_broken_surrogates_in_a_url() -> None:
    """Half a character in a URL is no reason to stop."""
    assert not use(b"User-agent: *\nDisallow: /", "https://site.example/\ud800\udce9")


HOSTILE = {
    "names x rules": b"".join(b"User-agent: %s\n" % bytes([97 + n % 26] * 9) for n in range(10_000))
    + b"".join(b"Disallow: /page-%d\n" % n for n in range(12_000)),
    "one name ten thousand times": b"User-agent: ExampleBot\n" * 10_000 + b"Disallow: /a\n" * 9_000,
    "groups without end": b"User-agent: *\nCrawl-delay: 1\nUser-agent: A\nDisallow: /x\n" * 8_000,
    "hundreds of stars": b"User-agent: *\n" + (b"Disallow: /" + b"*a" * 500 + b"*c\n") * 400,
    "stars only": b"User-agent: *\nDisallow: /" + b"*" * 400_000 + b"c",
    "anchored stars": b"User-agent: *\n" + (b"Disallow: /" + b"a*b" * 300 + b"c$\n") * 400,
    "long common prefixes": b"User-agent: *\n"
    + b"".join(b"Disallow: /%s\n" % (b"ab" * n + b"c") for n in range(650)),
    "delays": b"User-agent: *\n" + b"".join(b"Crawl-delay: %d\n" % n for n in range(25_000)),
    "unknown keys": b"".join(b"disallo%d: /\n" % n for n in range(25_000)),
    "byte order marks": b"\xef\xbb\xbf" * 170_000,
    "escapes": b"User-agent: *\nDisallow: /" + b"%41%zz" * 80_000,
    "no text": bytes(500_000),
    "carriage returns": b"\r" * 500_000,
    "one endless line": b"\xff\xfe" + b"a\0" * 300_000,
    "spaces": b"User-agent: *\n" + b"Disallow" + b" " * 400_000 + b"/a b",
    "far too long": b"User-agent: *\n" + b"Disallow: /a\n" * 400_000,
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_file_ends(name: str) -> None:
    """The file is read, judged and explained in time linear in its size."""
    use(HOSTILE[name])


@pytest.mark.parametrize("name", ["names x rules", "hundreds of stars", "delays"])
def test_hostile_file_keeps_its_size(name: str) -> None:
    """Judging takes memory in proportion to the file."""
    body = HOSTILE[name]
    tracemalloc.start()
    try:
        Rfc9309RobotParser(body).allowed(LONG_URL, "ExampleBot")
        _, peak_bytes = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak_bytes < 30 * len(body)


def test_verdict_among_names_and_rules() -> None:
    """Many names times many rules still give the right answer to each name."""
    body = HOSTILE["names x rules"]
    parser = Rfc9309RobotParser.from_crawler(None, body)
    assert not parser.allowed("https://site.example/page-7", "bbbbbbbbb")
    assert parser.allowed("https://site.example/other", "bbbbbbbbb")
    assert parser.allowed("https://site.example/page-7", "bbbbbbbb")
