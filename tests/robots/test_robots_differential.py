"""Protego as a second opinion, on the part of the language where both follow the RFC.

Left out, because Protego reads it in another way on purpose or by mistake: names that begin alike
or have a version, records between names, reserved octets (it counts their escapes), `index.html`,
`$` before the end of a pattern and in URLs, values that begin with neither `/` nor `*`.

Hypothesis looks for a file that shows a difference, and shrinks it; a seeded loop makes up for its
slowness in numbers. ROBOTS_DECISIONS sets how many decisions the loop compares.
"""

from __future__ import annotations

import os
import random

from hypothesis import given, settings
from hypothesis import strategies as st
from protego import Protego

from scrapy_polite.robots.parser import Rfc9309RobotParser

DECISIONS = int(os.environ.get("ROBOTS_DECISIONS", "10000"))
NAMES = ["OwlBot", "elkcrawler", "Newt_Agent", "Yak-Reader"]
KEYS = ["Allow", "Disallow", "disallow", "ALLOW", "Disalow"]
PIECES = ["a", "b", "ab", "/", "/", ".htm", "*", "%61", "%7e", "%2F", "%c3%a9", "é", "=", "-", "~"]
NOISE = ["", "# Disallow: /", "  ", "Sitemap: https://site.example/s.xml", "<br>"]


def _path(rng: random.Random, *, pattern: bool) -> str:
    pieces = [piece for piece in PIECES if pattern or piece != "*"]
    return "/" + "".join(rng.choices(pieces, k=rng.randrange(7)))


def _rule(rng: random.Random) -> str:
    value = _path(rng, pattern=True) + rng.choice(["", "", "", "$"])
    if rng.random() < 0.05:
        value = rng.choice(["", "*", "*" + value])
    return (
        f"{rng.choice(KEYS)}{rng.choice([':', ': ', ' :'])}{value}{rng.choice(['', ' ', ' # x'])}"
    )


def _file(rng: random.Random) -> str:
    lines = [rng.choice(NOISE)]
    for _ in range(rng.randrange(1, 5)):
        names = rng.sample([*NAMES, "*"], k=rng.randrange(1, 3))
        lines += [f"User-agent: {rng.choice([name, name.upper()])}" for name in names]
        lines += [rng.choice(["", "# note"])]
        for _ in range(rng.randrange(1, 7)):
            lines += [_rule(rng), *rng.choices(NOISE, k=rng.randrange(2))]
    return rng.choice(["\n", "\r\n", "\r"]).join(lines)


def _denials(rng: random.Random, decisions: int) -> int:
    """Compare the verdicts of one file, and return how often both said no."""
    text = _file(rng)
    ours, theirs = Rfc9309RobotParser(text.encode()), Protego.parse(text)
    denials = 0
    for _ in range(decisions):
        url, agent = f"https://site.example{_path(rng, pattern=False)}", rng.choice(NAMES)
        allowed = theirs.can_fetch(url, agent)
        assert ours.allowed(url, agent) == allowed, f"{agent} {url}\n{text}"
        denials += not allowed
    return denials


@given(st.randoms(use_true_random=False))
@settings(max_examples=50, deadline=None)
def test_no_verdict_differs_from_protegos(rng: random.Random) -> None:
    """Both give the same verdict on every file, URL and name that can be thought of."""
    _denials(rng, decisions=5)


def test_no_verdict_of_many_differs_from_protegos() -> None:
    """Both give the same verdicts in great numbers, and neither answer is rare."""
    rng = random.Random(9309)
    files = DECISIONS // 20
    denials = sum(_denials(rng, decisions=20) for _ in range(files))
    assert 0.1 < denials / (20 * files) < 0.9
