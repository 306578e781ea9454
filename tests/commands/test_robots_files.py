"""`scrapy robots FILE`: verdicts, exit status, what is said on which stream; no network."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from scrapy.cmdline import execute
from scrapy.settings import Settings

EXAMPLE = b"""\
User-agent: *
Crawl-delay: 5
Disallow: /private
Allow: /private/open$

User-agent: FooBot
User-agent: BarBot
Disalow: /
Sitemap: https://site.example/map.xml
"""


UNSAID = {
    label: {"says": "unknown", "line": None, "rule": None}
    for label in ("train-ai", "search", "ai-input")
}


class Told(NamedTuple):
    """What the command printed, and its exit status."""

    status: int
    out: str
    err: str

    @property
    def json(self) -> dict[str, Any]:
        data: dict[str, Any] = json.loads(self.out)
        return data


Ask = Callable[..., Told]


@pytest.fixture
def ask(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Ask:
    """Run `scrapy robots` in an empty folder, outside any project."""
    monkeypatch.chdir(tmp_path)

    def run(*arguments: str, body: bytes | None = None, **settings: object) -> Told:
        if body is not None:
            monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(body)))
        with pytest.raises(SystemExit) as ended:
            execute(["scrapy", "robots", *arguments], Settings(settings))
        out, err = capsys.readouterr()
        return Told(int(str(ended.value.code)), out, err)

    return run


VERDICTS = [
    (["--agent", "AnyBot", "--path", "/a"], 0, "allowed: no rule for * (line 1) matches"),
    (
        ["--agent", "AnyBot", "--path", "/private/a"],
        1,
        'disallowed by line 3, "Disallow: /private"',
    ),
    (["--agent", "AnyBot", "--path", "/private/open"], 0, 'allowed by line 4, "Allow: /private/op'),
    (["--agent", "AnyBot", "--path", "private/a"], 1, 'disallowed by line 3, "Disallow: /private"'),
    (["--agent", "AnyBot", "--path", "https://any.example/private"], 1, "disallowed by line 3"),
    (["--agent", "*", "--path", "/private"], 1, "disallowed by line 3"),
    (["--agent", "barbot"], 1, 'disallowed by line 8, "Disalow: /"'),
    (["--agent", "FooBot/2.1 (+https://foobot.test/)"], 1, "in the group for foobot (line 6)"),
    (["--agent", "FooBot", "--path", "/robots.txt"], 0, "allowed: /robots.txt itself is always"),
    (["--agent", "AnyBot"], 0, "\n/\n    allowed"),
    (["--agent", "AnyBot", "--path", "/a", "--path", "/private"], 1, "\n/private\n    disallowed"),
    (["--agent", "AnyBot", "--path", "/a", "/private"], 1, "\n/private\n    disallowed"),
]


@pytest.mark.parametrize(("options", "status", "said"), VERDICTS)
def test_verdicts(ask: Ask, options: list[str], status: int, said: str) -> None:
    """Each page has its verdict and what decided it; the status is that of the worst."""
    Path("robots.txt").write_bytes(EXAMPLE)
    told = ask("robots.txt", *options)
    assert (told.status, told.err) == (status, "")
    assert said in told.out


@pytest.mark.parametrize(("options", "status", "said"), VERDICTS)
def test_standard_input_and_options_first(
    ask: Ask, options: list[str], status: int, said: str
) -> None:
    """A dash reads standard input, and the order of options and file does not matter."""
    before = options[:2]
    told = ask(*before, "-", *options[2:], body=EXAMPLE)
    assert (told.status, told.err) == (status, "")
    assert said in told.out


def test_preferences(ask: Ask) -> None:
    """Each page has what may be done with it and the line that says so; a mistake is named."""
    body = (
        b"User-agent: *\nDisallow: /never\nContent-Usage: train-ai=n\n"
        b"Content-Usage: /open/ train-ai=y\nContent-Usage: /x search=Yes\n"
    )
    paths = ["/open/a", "/b", "/never"]
    told = ask("-", "--agent", "AnyBot", *paths, body=body)
    assert 'train-ai: allow by line 4, "Content-Usage: /open/ train-ai=y"\n' in told.out
    assert told.out.count("train-ai: disallow by line 3") == 1
    assert '  line 5: "Yes" is no answer for search; write search=y.\n' in told.out
    pages = json.loads(ask("-", "--agent", "AnyBot", "--json", *paths, body=body).out)["pages"]
    assert [page["usage"]["train-ai"]["says"] for page in pages] == ["allow", "disallow", "unknown"]
    assert pages[0]["usage"]["train-ai"]["line"] == 4
    assert pages[0]["usage"]["search"] == {"says": "unknown", "line": None, "rule": None}


def test_how_the_file_was_read(ask: Ask) -> None:
    """Group, Crawl-delay, sitemap, size, encoding, line ends and problems are told with lines."""
    told = ask("-", "--agent", "AnyBot", body=EXAMPLE)
    for said in (
        "standard input, as AnyBot reads it\n",
        "Group        * (line 1), as none names AnyBot\n",
        "Rules        2: 1 allow, 1 disallow\n",
        "Crawl-delay  5 s (line 2): a crawl waits at least 5 s after each fetch\n",
        "Sitemaps     https://site.example/map.xml\n",
        f"Size         {len(EXAMPLE)} octets, of 512,000 that a crawler reads\n",
        "Text         UTF-8, no byte order mark, 9 lines, line ends LF\n",
        '1 problem:\n  line 8: "disalow" is a misspelling; it is read as "disallow".\n'
        "      Disalow: /\n",
    ):
        assert said in told.out
    assert max(map(len, told.out.splitlines())) <= 100


READINGS: list[tuple[bytes, str]] = [
    (
        "User-agent: *\r\nDisallow: /\r\n".encode("utf-16"),
        "UTF-16, with a byte order mark, 2 lines",
    ),
    (b"\xef\xbb\xbfUser-agent: *\n", "UTF-8, with a byte order mark, 1 line, line ends LF"),
    (b"User-agent: *\nDisallow: /a\r\nDisallow: /b\r", "3 lines, line ends LF and CR LF and CR"),
    (b"", "Size         0 octets"),
    (b"User-agent: *\n" + b"x" * 600_000, "600,014 octets, of which the first 13 are read"),
    (b"User-agent: *\nCrawl-delay: 900", "15 min (line 2): a crawl waits at least 5 min after"),
    (b"User-agent: *\nCrawl-delay: 1\nRequest-rate: 1/9", "9 s (line 3): a crawl waits at least 9"),
    (b"User-agent: *\nDisallow:", "Crawl-delay  none: a crawl waits 10 x the duration"),
    (b"Disallow: /", "none: the file names neither AnyBot nor *, so everything is allowed"),
    (
        b"User-agent: AnyBot\nUser-agent: *\nUser-agent: AnyBot",
        "Group        anybot (lines 1, 3)\n",
    ),
    (b"<!DOCTYPE html><title>Welcome</title>", "This is a web page, not a robots.txt file."),
    (
        b"User-agent: *\n" * 50 + b"Disalow: /\n" * 12,
        "lines 51, 52, 53, 54, 55, 56, 57, 58 and 4 more",
    ),
    (b"User-agent: *\n" + b"%d\n" * 1, "1 problem:"),
    (
        b"".join(b"a%c%c: b\n" % (n // 26 + 97, n % 26 + 97) for n in range(40)),
        "and 20 more kinds;",
    ),
    (
        b"".join(b"Sitemap: https://s.example/%d\n" % n for n in range(9)),
        "             and 4 more\n",
    ),
]


@pytest.mark.parametrize(("body", "said"), READINGS, ids=[said for _, said in READINGS])
def test_unusual_files(ask: Ask, body: bytes, said: str) -> None:
    """What is unusual in a file is told."""
    assert said in ask("-", "--agent", "AnyBot", body=body).out


def test_text_of_the_site_does_nothing_to_a_terminal(ask: Ask) -> None:
    """Control characters and octets that are not UTF-8 are escaped, also those of the question."""
    told = ask(
        "-", "--path", "/\x1b[31m\u202e", body=b"User-agent: *\nDisallow: /\x1b[2J\xe9\n\x07\n"
    )
    assert not {char for char in told.out if not char.isprintable()} - {"\n"}
    assert r"/\x1b[31m\u202e" in told.out
    assert r"Disallow: /\x1b[2J\xe9" in told.out


def test_the_trap_of_a_noindex_that_nobody_sees(ask: Ask) -> None:
    """It is explained where a page is disallowed, and only there."""
    trap = "a noindex on it is never seen"
    assert trap in ask("-", "--path", "/private", body=EXAMPLE).out
    assert trap not in ask("-", "--path", "/a", body=EXAMPLE).out


def test_whom_the_rules_are_read_for(ask: Ask) -> None:
    """Without --agent it is the project's crawler, and Scrapy's own name where nobody set one."""
    assert "as Scrapy reads it (for another crawler: --agent NAME)" in ask("-", body=b"").out
    assert "as FooBot reads it\n" in ask("-", body=b"", POLITE_PRODUCT="FooBot/1.0").out
    assert "as OwnBot reads it\n" in ask("-", body=b"", USER_AGENT="OwnBot/3").out
    assert ask("-", "--agent", "BarBot", "--json", body=b"").json["token"] == "BarBot"


def test_json(ask: Ask) -> None:
    """The report for machines has the documented shape."""
    told = ask("-", "--json", "--agent", "AnyBot", "--path", "/private/\xe9", body=EXAMPLE)
    assert told.status == 1
    assert told.json == {
        "version": 1,
        "source": "-",
        "origin": None,
        "token": "AnyBot",
        "exit_status": 1,
        "fetch": None,
        "file": {
            "octets": len(EXAMPLE),
            "ignored_octets": 0,
            "whole": True,
            "lines": 9,
            "encoding": "utf-8",
            "byte_order_mark": False,
            "line_ends": ["LF"],
        },
        "group": {
            "name": "*",
            "lines": [1],
            "rules": 2,
            "crawl_delay": 5.0,
            "crawl_delay_line": 2,
            "delay": 5.0,
        },
        "sitemaps": ["https://site.example/map.xml"],
        "problems": [
            {
                "line": 8,
                "kind": "typo",
                "message": '"disalow" is a misspelling; it is read as "disallow".',
                "text": "Disalow: /",
            }
        ],
        "pages": [
            {
                "page": "/private/\xe9",
                "url": "/private/\xe9",
                "allowed": False,
                "reason": "rule",
                "sentence": 'disallowed by line 3, "Disallow: /private" (8 octets), '
                "in the group for * (line 1)",
                "group": "*",
                "group_line": 1,
                "line": 3,
                "rule": "Disallow: /private",
                "octets": 8,
                "usage": UNSAID,
                "look": None,
            }
        ],
        "later": [],
    }


SENTENCES = [
    (["none.txt"], "There is no file none.txt (the URL of a site begins with https://)."),
    (["site.example"], "There is no file site.example (the URL of a site begins with https://)."),
    (["."], ". is a directory: name the file in it."),
    (["/dev/zero"], "/dev/zero is larger than 16,384,000 octets: it is no robots.txt."),
    (["ftp://site.example/"], "'ftp://site.example/' is no http or https URL."),
    (["https://"], "'https://' names no host."),
    (
        ["http://site.example:99999/"],
        "The host or port of 'http://site.example:99999/' is malformed.",
    ),
    (["http://[::1/"], "The host or port of 'http://[::1/' is malformed."),
    (["http://a b/"], "The host or port of 'http://a b/' is malformed."),
    (
        ["http://a.example/", "--path", "https://b.example/x"],
        "'https://b.example/x' is ruled by https://b.example/robots.txt, "
        "not by http://a.example/robots.txt.",
    ),
    (
        ["-", "--agent", "360"],
        "--agent '360' is no product token: write a name of letters, '_' and '-', "
        "for example FooBot, or *.",
    ),
    (
        ["-", "-s", "POLITE_MIN_DELAY=x"],
        "POLITE_MIN_DELAY is 'x': write a number of seconds, at least 0, for example 1.0.",
    ),
    (
        ["http://a.example/", "--contact-email", "you"],
        "POLITE_CONTACT_EMAIL 'you' is malformed: write the address of a mailbox that you read, "
        "name@host.tld.",
    ),
    (
        ["http://a.example/", "-s", "POLITE_PRODUCT=FooBot"],
        "The contact is missing: set POLITE_CONTACT_URL or POLITE_CONTACT_EMAIL to where a site's "
        "owner can reach you, or POLITE_ALLOW_ANONYMOUS = True to crawl without a contact.",
    ),
]


@pytest.mark.parametrize(("arguments", "sentence"), SENTENCES)
@pytest.mark.parametrize("json", [[], ["--json"]], ids=["text", "json"])
def test_one_sentence(ask: Ask, arguments: list[str], json: list[str], sentence: str) -> None:
    """What cannot be answered is told in one sentence on standard error; the status is 2."""
    assert ask(*arguments, *json) == Told(2, "", f"scrapy robots: {sentence}\n")


def test_unreadable_file(ask: Ask) -> None:
    """What the system refuses to open is told with the system's reason."""
    Path("robots.txt").write_bytes(EXAMPLE)
    sentence = "scrapy robots: robots.txt/x cannot be read: Not a directory.\n"
    assert ask("robots.txt/x") == Told(2, "", sentence)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [([], "scrapy robots [options] URL|FILE|-"), (["-", "--colour"], "arguments: --colour")],
)
def test_usage(ask: Ask, arguments: list[str], said: str) -> None:
    """Without a question, or with an option that is none, the usage is shown."""
    told = ask(*arguments)
    assert told.status == 2
    assert said in told.out + told.err
