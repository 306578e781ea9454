"""Verdicts that explain themselves."""

from __future__ import annotations

import pytest

from scrapy_polite.robots.rules import Reason, RobotsRules, Verdict

FILE = b"""\
User-agent: OtherBot
Disallow: /
User-agent: *
Disallow: /a # not /b
Allow : /a/*.html$

user-agent: *
Disalow: /c
"""


@pytest.mark.parametrize(
    ("url", "verdict"),
    [
        ("/", Verdict(True, Reason.NO_MATCH, "FooBot", "*", 3)),
        ("/a/b", Verdict(False, Reason.RULE, "FooBot", "*", 3, 4, "Disallow: /a", 2)),
        ("/a/b.html", Verdict(True, Reason.RULE, "FooBot", "*", 3, 5, "Allow : /a/*.html$", 10)),
        ("/c", Verdict(False, Reason.RULE, "FooBot", "*", 7, 8, "Disalow: /c", 2)),
        ("/robots.txt", Verdict(True, Reason.ROBOTS_TXT, "FooBot")),
    ],
)
def test_verdict_names_what_decided(url: str, verdict: Verdict) -> None:
    """Group, user-agent line, rule, its line and its octets are told."""
    assert RobotsRules(FILE).explain(f"https://site.example{url}", "FooBot") == verdict


@pytest.mark.parametrize(
    ("body", "text"),
    [
        (FILE, 'disallowed by line 4, "Disallow: /a" (2 octets), in the group for * (line 3)'),
        (
            b"User-agent: *\nAllow: /",
            'allowed by line 2, "Allow: /" (1 octet), in the group for * (line 1)',
        ),
        (b"User-agent: FooBot", "allowed: no rule for foobot (line 1) matches"),
        (b"", "allowed: there is no group for FooBot or *"),
    ],
)
def test_verdict_reads_as_a_sentence(body: bytes, text: str) -> None:
    """A verdict in words says the same."""
    assert str(RobotsRules(body).explain("https://site.example/a", "FooBot")) == text


def test_rule_of_a_verdict_can_be_printed() -> None:
    """A rule with octets that are no text, or that steer a terminal, is told with escapes."""
    verdict = RobotsRules(b"User-agent: *\nDisallow: /\x1b[2J\xe9").explain("/%1B[2J%E9", "FooBot")
    assert verdict.rule == r"Disallow: /\x1b[2J\xe9"


def test_group_is_told_without_its_rules() -> None:
    """What is kept of a group is who it is for."""
    group = RobotsRules(FILE).group("FooBot")
    assert (group.name, group.named_at, group.rules) == ("*", (3, 7), ())


def test_tokens_have_verdicts_of_their_own() -> None:
    """Rules compiled for one token are not used for another."""
    rules = RobotsRules(FILE)
    verdicts = [rules.allowed("/b", token) for token in ("FooBot", "OtherBot", "FooBot")]
    assert verdicts == [True, False, True]
