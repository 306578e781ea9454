"""RateLimit headers in the spellings that are in use, and in none: what they say, or nothing.

Rule: NOW is what the epoch instants below are measured against.
"""

from __future__ import annotations

import math

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from scrapy_polite.policy.ratelimit import LONGEST, spacing

NOW = 1_700_000_000.0

Headers = dict[str, str]

SAID: dict[str, tuple[Headers, float]] = {
    "item": ({"RateLimit": '"default";r=5;t=30'}, 6.0),
    "item with blanks": ({"RateLimit": '"default" ; r = 5 ; t = 30'}, 6.0),
    "item, capitals": ({"RateLimit": '"default";R=5;T=30'}, 6.0),
    "item, other order": ({"RateLimit": '"default";t=30;r=5'}, 6.0),
    "item with a partition key": ({"RateLimit": '"default";r=5;t=30;pk=:cj0x:'}, 6.0),
    "none left": ({"RateLimit": '"default";r=0;t=30'}, 30.0),
    "two items": ({"RateLimit": '"burst";r=5;t=10, "hour";r=10;t=600'}, 60.0),
    "two items, one of a day": ({"RateLimit": '"burst";r=5;t=10, "day";r=9;t=80000'}, 2.0),
    "name that looks like parts": ({"RateLimit": '"a;r=1;t=9";r=5;t=30'}, 6.0),
    "older list": ({"RateLimit": "limit=10, remaining=5, reset=30"}, 6.0),
    "older list, none left": ({"RateLimit": "limit=10, remaining=0, reset=7"}, 7.0),
    "one header each": ({"RateLimit-Remaining": "5", "RateLimit-Reset": "30"}, 6.0),
    "one header each, X-": ({"X-RateLimit-Remaining": "5", "X-RateLimit-Reset": "30"}, 6.0),
    "fractions": ({"X-RateLimit-Remaining": "5.0", "X-RateLimit-Reset": "30.5"}, 6.0),
    "epoch": ({"X-RateLimit-Remaining": "5", "X-RateLimit-Reset": "1700000030"}, 6.0),
    "one header each, with policy": (
        {"RateLimit-Remaining": "5", "RateLimit-Reset": "30, 60;w=1"},
        6.0,
    ),
    "the tightest counts": (
        {"RateLimit": '"a";r=5;t=30', "X-RateLimit-Remaining": "1", "X-RateLimit-Reset": "9"},
        9.0,
    ),
    "an hour": ({"RateLimit": '"a";r=1;t=3600'}, LONGEST),
    "policy alone": ({"RateLimit-Policy": '"burst";q=5;w=10'}, 2.0),
    "two policies, one of a day": ({"RateLimit-Policy": '"a";q=5;w=10,"b";q=9;w=86400'}, 2.0),
    "policy beside what is left": (
        {"RateLimit": '"a";r=50;t=10', "RateLimit-Policy": '"a";q=5;w=10'},
        0.2,
    ),
    "policy beside no reset": ({"RateLimit": '"a";r=1', "RateLimit-Policy": '"a";q=5;w=10'}, 2.0),
}

UNSAID: dict[str, Headers] = {
    "nothing": {},
    "empty": {"RateLimit": "", "RateLimit-Policy": "", "RateLimit-Remaining": ""},
    "no reset": {"RateLimit": '"default";r=5'},
    "no remaining": {"RateLimit": '"default";t=30', "RateLimit-Reset": "30"},
    "reset now": {"RateLimit": '"default";r=5;t=0'},
    "reset is past": {"X-RateLimit-Remaining": "5", "X-RateLimit-Reset": "1699999990"},
    "more than an hour": {"RateLimit": '"default";r=5;t=3601'},
    "a day of a policy": {"RateLimit-Policy": '"day";q=5;w=86400'},
    "negative": {"RateLimit": '"default";r=-5;t=30'},
    "fraction in an item": {"RateLimit": '"default";r=5;t=30.5'},
    "digits that are not ASCII": {"X-RateLimit-Remaining": "\u0665", "X-RateLimit-Reset": "\u0663"},
    "too many digits": {"RateLimit": f'"a";r=5;t={"9" * 5000}'},
    "words": {"RateLimit": "slow down please", "X-RateLimit-Reset": "soon"},
    "parts of one limit in two headers": {"RateLimit-Remaining": "5", "X-RateLimit-Reset": "30"},
}


@pytest.mark.parametrize(("headers", "expected"), SAID.values(), ids=SAID)
def test_said(headers: Headers, expected: float) -> None:
    """What is left is spread over the time until the reset."""
    assert spacing(headers.get, NOW) == pytest.approx(expected)


@pytest.mark.parametrize("headers", UNSAID.values(), ids=UNSAID)
def test_unsaid(headers: Headers) -> None:
    """What cannot be read, or says nothing about the next hour, is None."""
    assert spacing(headers.get, NOW) is None


SIGNS, WORDS = '";,= rtqw.:-\n\x00\u0663', ('"a"', "remaining", "reset", "nan")
NUMBERS = ("0", "5", "30", "1700000030", "9" * 30)
PIECES = st.sampled_from([*SIGNS, *WORDS, *NUMBERS])
VALUES = st.text() | st.lists(PIECES, max_size=12).map("".join)
NAMES = ["RateLimit", "RateLimit-Policy"] + [
    f"{prefix}RateLimit-{part}" for prefix in ("", "X-") for part in ("Remaining", "Reset")
]


@given(st.dictionaries(st.sampled_from(NAMES), VALUES), st.floats(0, 4e9))
@example({"RateLimit": '"a";r=5;t=30' * 1000}, 0.0)
def test_total(headers: Headers, now: float) -> None:
    """Whatever a server writes: a wait above 0 and of an hour at most, or nothing."""
    wait = spacing(headers.get, now)
    assert wait is None or (math.isfinite(wait) and 0 < wait <= LONGEST)
