"""Preferences in robots.txt: which line counts for a page, and what it says."""

from __future__ import annotations

import random
import time

import pytest

from scrapy_polite.policy.usage import LABELS, Preference
from scrapy_polite.robots.parser import Rfc9309RobotParser
from scrapy_polite.robots.preferences import HEARD_MAX

ALLOW, DISALLOW, UNKNOWN = Preference.ALLOW, Preference.DISALLOW, Preference.UNKNOWN
SITE = "https://site.example"
DRAFT = (
    "User-Agent: *\nAllow: /\nDisallow: /never/\n"
    "Content-Usage: train-ai=n\nContent-Usage: /ai-ok/ train-ai=y\n"
)


def usage(body: str, path: str = "/", agent: str = "FooBot", label: str = "train-ai") -> Preference:
    """Return what a file says of a page."""
    return _wish(body.encode(), path, agent, label)


@pytest.mark.parametrize(
    ("path", "expected"),
    [("/test", DISALLOW), ("/never/test", UNKNOWN), ("/ai-ok/test", ALLOW)],
)
def test_example_of_the_draft(path: str, expected: Preference) -> None:
    """The longest path counts, and a page that may not be fetched has no preferences."""
    assert usage(DRAFT, path) is expected
    assert usage(DRAFT, path, label="search") is UNKNOWN


@pytest.mark.parametrize(
    ("lines", "path", "expected"),
    [
        ("Content-Usage: train-ai=y, train-ai, search=n", "/", UNKNOWN),
        ("Content-Usage: train-ai;allow=n, train-ai=y", "/", ALLOW),
        ("Content-Usage: train-ai=n # y", "/", DISALLOW),
        ("content-usage:train-ai=n", "/", DISALLOW),
        ("Content-Usage: train-ai=N", "/", UNKNOWN),
        ("Content-Usage: train-ai=true", "/", UNKNOWN),
        ("Content-Usage: Train-AI=n", "/", UNKNOWN),
        ("Content-Usage: train-ai=n,", "/", UNKNOWN),
        ("Content-Usage: /a\ttrain-ai=n", "/a/b", DISALLOW),
        ("Content-Usage: /a\ttrain-ai=n", "/b", UNKNOWN),
        ("Content-Usage: a/ train-ai=n", "/a/", UNKNOWN),
        ("Content-Usage: /*.html$ train-ai=n", "/b/c.html", DISALLOW),
        ("Content-Usage: /*.html$ train-ai=n", "/b/c.html?d", UNKNOWN),
        ("Content-Usage: /caf%c3%a9 train-ai=n", "/caf%C3%A9", DISALLOW),
        ("Content-Usage: /café train-ai=n", "/caf%C3%A9", DISALLOW),
        ("Content-Usage: /a train-ai=y\nContent-Usage: /a train-ai=n", "/a", DISALLOW),
        ("Content-Usage: /a train-ai=n\nContent-Usage: /a train-ai=y", "/a", DISALLOW),
        ("Content-Usage: /a train-ai=n\nContent-Usage: /a/b search=y", "/a/b", UNKNOWN),
        ("Content-Usage: train-ai=y\nContent-Usage: train-ai=\x01", "/", ALLOW),
        ("Content-Usage: train-ai=y\nContent-Signal: ai-train=no", "/", DISALLOW),
        ("Content-Usage: /a train-ai=y\nContent-Signal: ai-train=no", "/a", DISALLOW),
        ("Content-Signal: search=yes,ai-train=no", "/", DISALLOW),
        ("Content-Signal: /x AI-Train = No", "/x", DISALLOW),
        ("Content-Signal: ai-train=no, ai-train=yes", "/", DISALLOW),
        ("Content-Signal: ai-train=yes", "/", ALLOW),
        ("Content-Signal: train-ai=no", "/", UNKNOWN),
    ],
)
def test_lines(lines: str, path: str, expected: Preference) -> None:
    """Each line says of a page what its form says, and several say what is most restrictive."""
    assert usage(f"User-agent: *\n{lines}\n", path) is expected


@pytest.mark.parametrize(
    ("body", "agent", "expected"),
    [
        ("Content-Signal: ai-train=no\nUser-agent: FooBot\nAllow: /\n", "FooBot", DISALLOW),
        ("Content-Signal: ai-train=no\n", "FooBot", DISALLOW),
        ("Content-Usage: train-ai=n\nUser-agent: *\nAllow: /\n", "FooBot", UNKNOWN),
        (
            "User-agent: FooBot\nContent-Usage: train-ai=y\n"
            "User-agent: *\nContent-Usage: train-ai=n\n",
            "FooBot",
            ALLOW,
        ),
        (
            "User-agent: FooBot\nContent-Usage: train-ai=y\n"
            "User-agent: *\nContent-Usage: train-ai=n\n",
            "BarBot",
            DISALLOW,
        ),
        ("User-agent: A\nUser-agent: B\nContent-Usage: train-ai=n\n", "A", DISALLOW),
        ("User-agent: A\nDisallow: /x\nContent-Usage: train-ai=n\n", "B", UNKNOWN),
        (
            "User-agent: A\nContent-Usage: search=n\nUser-agent: A\nContent-Usage: train-ai=n\n",
            "A",
            DISALLOW,
        ),
    ],
)
def test_groups(body: str, agent: str, expected: Preference) -> None:
    """The group is the one of Allow and Disallow; a signal above all groups is for everyone."""
    assert usage(body, agent=agent) is expected


def test_line_that_decides() -> None:
    """A wish names the first line that says so, as it stands in the file."""
    wishes = Rfc9309RobotParser(DRAFT.encode()).usage(f"{SITE}/ai-ok/", "FooBot/1.0")
    assert str(wishes["train-ai"]) == 'allow by line 5, "Content-Usage: /ai-ok/ train-ai=y"'
    assert str(wishes["search"]) == "unknown"
    assert tuple(wishes) == LABELS


def test_ai_input_is_said_by_signals_only() -> None:
    """`ai-input` has no counterpart in Content-Usage and is told under its own name."""
    assert usage("User-agent: *\nContent-Signal: ai-input=no\n", label="ai-input") is DISALLOW
    assert usage("User-agent: *\nContent-Usage: ai-input=n\n", label="ai-input") is UNKNOWN


def test_preferences_change_no_verdict() -> None:
    """Between two names a preference does not end the list that Allow and Disallow have."""
    body = "User-agent: A\n{}User-agent: B\nDisallow: /x\n"
    for line in ("", "Content-Usage: train-ai=y\n", "Content-Signal: ai-train=yes\n"):
        assert not Rfc9309RobotParser(body.format(line).encode()).allowed(f"{SITE}/x", "A")


PIECES = (
    *("train-ai", "search", "ai-train", "ai-input", "Train-AI", "=", "=y", "=n", "=yes", "=no"),
    *(",", ", ", ";", "; a=1", " ", "\t", "/", "/a", "/a*", "*", "$", '"', '"n"', "?0", "(", ")"),
    *("1.5", "@9", ":YQ==:", '%"%c3"', "#", "é", "\udce9", "\x00", "\r", "\ufeff", "n", "y", "%"),
)


def test_random_lines_turn_no_disallow_into_allow() -> None:
    """Whatever lines stand beside a disallow of the same path, nothing raises and it stands."""
    rng = random.Random(9309)
    for _ in range(4000):
        kinds = [rng.choice(("Content-Usage", "Content-Signal")) for _ in range(rng.randint(1, 4))]
        junk = [f"{kind}: {''.join(rng.choices(PIECES, k=rng.randint(0, 8)))}" for kind in kinds]
        body = "User-agent: *\nDisallow: /b\n" + "\n".join(junk)
        octets = body.encode("utf-8", "surrogateescape")
        before = Rfc9309RobotParser(octets)
        for path in ("/", "/a", "/ab?c"):
            for label, wish in before.usage(SITE + path, "FooBot").items():
                if wish.preference is DISALLOW:
                    assert _with(octets, "Content-Usage: /zz train-ai=y", path, label) is DISALLOW
                    assert _with(octets, "Content-Usage: train-ai=y", path, label) is DISALLOW
            said = _with(octets, f"Content-Usage: {path}{'*' * 60}$ train-ai=n", path, "train-ai")
            assert said is DISALLOW
        assert not before.allowed(f"{SITE}/b", "FooBot")


def _with(octets: bytes, line: str, path: str, label: str) -> Preference:
    return _wish(octets + b"\n" + line.encode(), path, "FooBot", label)


def _wish(octets: bytes, path: str, agent: str, label: str) -> Preference:
    parser = Rfc9309RobotParser(octets)
    return parser.usage(SITE + path, agent)[label].preference


def test_too_many_lines_disallow_everywhere() -> None:
    """Above the bound no line is matched: what one of them disallows is disallowed for all."""
    body = "User-agent: *\nContent-Usage: /a train-ai=n\n"
    assert usage(body + "Content-Usage: /b search=y\n" * (HEARD_MAX - 1), "/c") is UNKNOWN
    body += "Content-Usage: /b search=y\n" * HEARD_MAX
    assert usage(body, "/c") is DISALLOW
    assert usage(body, "/b", label="search") is UNKNOWN


@pytest.mark.parametrize(
    "line",
    ["Content-Usage: /*a*b*c train-ai=n\n", "Content-Signal: /{} ai-train=no\n"],
)
def test_hostile_files_are_cheap(line: str) -> None:
    """Thousands of preferences cost about what thousands of rules do."""
    body = "User-agent: *\n" + "".join(line.replace("{}", str(n)) for n in range(12_000))
    began = time.perf_counter()
    parser = Rfc9309RobotParser(body.encode())
    for number in range(200):
        parser.usage(f"{SITE}/{'ab' * 500}{number}", "FooBot")
    assert time.perf_counter() - began < 10


def test_one_long_statement_is_linear() -> None:
    """A statement that fills the file is read once."""
    for text in ("(" * 400_000, '"' + "\\" * 400_000, "a=" + "y;a" * 130_000, "a," * 200_000):
        began = time.perf_counter()
        assert usage(f"User-agent: *\nContent-Usage: {text}\n") is UNKNOWN
        assert time.perf_counter() - began < 10
