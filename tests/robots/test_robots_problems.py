"""The problems of a file: which lines have one, and what a site owner reads."""

from __future__ import annotations

import pytest

from scrapy_polite.robots.lines import LIMIT_BYTES, RobotsFile
from scrapy_polite.robots.problems import Kind, Problem, find_problems

HEAD = "User-agent: *\n"


def problems(body: str | bytes) -> list[tuple[int, Kind]]:
    """Return line and kind of each problem."""
    octets = body if isinstance(body, bytes) else body.encode()
    return [(problem.line, problem.kind) for problem in find_problems(RobotsFile.read(octets))]


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("", []),
        (HEAD + "Disallow: /a\nAllow: /a/*.html$\n# a comment\n\nCrawl-delay: 5\n", []),
        (HEAD + "Sitemap: https://site.example/s.xml\nClean-param: a /b\nDisallow: /\n", []),
        (HEAD + "Disalow: /a\n", [(2, Kind.TYPO)]),
        ("Useragent: *\nDisallow: /a\n", [(1, Kind.TYPO)]),
        ("User agent: *\nDisallow: /a\n", [(1, Kind.TYPO)]),
        (HEAD + "Disallow /a\n", [(2, Kind.MISSING_COLON)]),
        (HEAD + "Disallow /a:b\n", [(2, Kind.MISSING_COLON)]),
        (HEAD + "disalow /a\n", [(2, Kind.MISSING_COLON), (2, Kind.TYPO)]),
        (HEAD + "Disallow all of it\n", [(2, Kind.UNREADABLE)]),
        (HEAD + "Noindex: /a\n", [(2, Kind.UNKNOWN)]),
        ("Disallow: /a\n" + HEAD, [(1, Kind.ORPHAN)]),
        ("Content-Usage: train-ai=n\n" + HEAD, [(1, Kind.ORPHAN)]),
        ("Content-Signal: ai-train=no\n" + HEAD, []),
        (HEAD + "Content-Usage: /a/ train-ai=n;x=1, search=y\n", []),
        (HEAD + "Content-Signal: /a search=yes, ai-input=no, ai-train=no\n", []),
        (HEAD + "Content-Usage: Train-AI=n\n", [(2, Kind.PREFERENCE)]),
        (HEAD + "Disallow:\n", []),
        ("User-agent: A\nDisallow:\n" + HEAD + "Disallow: /\n", []),
        (HEAD + "Disallow: /a\nCrawl-delay: 1\nDisallow:\n", [(4, Kind.EMPTY_DISALLOW)]),
        (HEAD + "Allow:\n", [(2, Kind.MATCHES_NOTHING)]),
        (HEAD + "Disallow: a\n", [(2, Kind.MATCHES_NOTHING)]),
        (HEAD + "Disallow: https://site.example/a\n", [(2, Kind.MATCHES_NOTHING)]),
        ("User-agent: FooBot/2.1\nDisallow: /a\n", [(1, Kind.NAME)]),
        ("User-agent: 360Spider\nDisallow: /a\n", [(1, Kind.NAME)]),
        ("User-agent: A, B\nDisallow: /a\n", [(1, Kind.NAME)]),
        (HEAD + "Crawl-delay: 301\n", [(2, Kind.LONG_DELAY)]),
        (HEAD + "Request-rate: 1/10m\n", [(2, Kind.LONG_DELAY)]),
        (HEAD + "Crawl-delay: soon\n", [(2, Kind.BAD_VALUE)]),
        (HEAD + "Sitemap: /s.xml\n", [(2, Kind.BAD_VALUE)]),
        ("\ufeff" + HEAD, [(1, Kind.BOM)]),
        (HEAD + "\ufeffDisallow: /a\n", [(2, Kind.TYPO)]),
        (b"\xff\xfe" + HEAD.encode("utf-16-le"), [(0, Kind.ENCODING)]),
        (HEAD.encode("utf-16-le"), [(0, Kind.ENCODING), (1, Kind.UNKNOWN), (2, Kind.UNREADABLE)]),
        (HEAD.encode() + b"Disallow: /caf\xe9\n", [(2, Kind.ENCODING)]),
        (HEAD + "Disallow: /a\r\nDisallow: /b\n", [(2, Kind.LINE_ENDS)]),
        ("\n <!DOCTYPE html>\n<p>Not found</p>\n<pre>Disallow: a</pre>", [(0, Kind.HTML)]),
        (HEAD + "#" * LIMIT_BYTES, [(2, Kind.IGNORED_TAIL)]),
        (HEAD + "Crawl-delay: 5\nUser-agent: BadBot\nDisallow: /\n", [(3, Kind.JOINED_GROUPS)]),
        (
            HEAD + "X-y: 5\nUser-agent: B\nDisallow: /\n",
            [(2, Kind.UNKNOWN), (3, Kind.JOINED_GROUPS)],
        ),
        (HEAD + "Crawl-delay: 5\nUser-agent: B\nAllow: /\n", []),
        (HEAD + "Disallow: /\nCrawl-delay: 5\nUser-agent: B\nDisallow: /\n", []),
        (HEAD + "Disallow: /\nUser-agent: B\nCrawl-delay: 5\nDisallow: /\n", []),
    ],
)
def test_kinds(body: str | bytes, expected: list[tuple[int, Kind]]) -> None:
    """Each problem is found in its line, and a sound file has none."""
    assert problems(body) == expected


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("Disalow: /", '"disalow" is a misspelling; it is read as "disallow".'),
        (
            "Disalloww: /",
            '"disalloww" is no record of the standard, and is ignored. Is "disallow" meant?',
        ),
        ("Noindex: /", '"noindex" is no record of the standard, and is ignored.'),
        (
            "Content-Usage: Train-AI=n",
            "Upper case counts here, so the line says nothing; write train-ai=n.",
        ),
        ("Content-Usage: train-ai=N", '"N" is no answer for train-ai; write train-ai=n.'),
        ("Content-Usage: train-ai=true", '"true" is no answer for train-ai; write y or n.'),
        ("Content-Usage: train-ai=no", '"no" is no answer for train-ai; write train-ai=n.'),
        ("Content-Usage: search=?0", '"?0" is no answer for search; write y or n.'),
        ("Content-Usage: train-ai", "train-ai has no answer; write train-ai=y or train-ai=n."),
        (
            "Content-Usage: ai-ok/ train-ai=y",
            "A path begins with /, so the line says nothing; write /ai-ok/ train-ai=y.",
        ),
        (
            "Content-Usage: train-ai=n search=y",
            "The line cannot be read and says nothing; write, for example, train-ai=n, search=y.",
        ),
        ("Content-Usage: /a", "The line says nothing; write, for example, train-ai=n."),
        ("Content-Usage: ai-train=n", 'Nobody knows "ai-train"; write train-ai.'),
        ("Content-Usage: fun=n", 'Nobody knows "fun"; the names are train-ai and search.'),
        ("Content-Signal: ai-train=n", '"n" is no answer for ai-train; write ai-train=no.'),
        ("Content-Signal: search", "search has no answer; write search=yes or search=no."),
        (
            "Content-Signal: fun=no",
            'Nobody knows "fun"; the names are search, ai-input and ai-train.',
        ),
        ("Crawl-delay: 900", "The wait of 900 s is cut to 300 s."),
        ("\x1b[2J: /", r'"\x1b[2j" is no record of the standard, and is ignored.'),
        (
            "Crawl-delay: 5\nUser-agent: BadBot\nDisallow: /",
            '"crawl-delay" in line 2 does not end the list of names,'
            " so the rule in line 4 applies to everyone.",
        ),
    ],
)
def test_messages(body: str, message: str) -> None:
    """A message says how the line is read."""
    found = find_problems(RobotsFile((HEAD + body).encode()))
    assert [problem.message for problem in found] == [message]


def test_cap_of_delays_is_the_callers() -> None:
    """A delay is too long where the crawl says so."""
    file = RobotsFile(b"User-agent: *\nCrawl-delay: 20")
    assert find_problems(file) == ()
    assert find_problems(file, crawl_delay_max=10.0) == (
        Problem(2, Kind.LONG_DELAY, "The wait of 20 s is cut to 10 s.", "Crawl-delay: 20"),
    )


def test_all_kinds_are_tested() -> None:
    """The table above has each kind of problem."""
    table = test_kinds.pytestmark[0].args[1]  # type: ignore[attr-defined]
    assert {kind for _, expected in table for _, kind in expected} == set(Kind)
