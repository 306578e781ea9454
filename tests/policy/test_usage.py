"""Statements about the use of a page: structured dictionaries, signals, and several together."""

from __future__ import annotations

import pytest

from scrapy_polite.policy.dictionary import Token, parse
from scrapy_polite.policy.usage import Preference, combined, forbidden, of_header, said

ALLOW, DISALLOW, UNKNOWN = Preference.ALLOW, Preference.DISALLOW, Preference.UNKNOWN


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('train-ai=y, train-ai, search=n, search="n"', {}),
        ("train-ai;allow=n, train-ai=y", {"train-ai": ALLOW}),
        ("train-ai=n;because=?1, search=y", {"train-ai": DISALLOW, "search": ALLOW}),
        ("train-ai=n, train-ai=y", {"train-ai": ALLOW}),
        ("fun=n, train-ai=n", {"train-ai": DISALLOW}),
        ("train-ai=(n)", {}),
        ("TRAIN-AI=n, search=n", {}),
        ("", {}),
    ],
)
def test_content_usage(text: str, expected: dict[str, Preference]) -> None:
    """A member counts when its value is the token y or n; the last of equal keys counts."""
    assert said("content-usage", text) == expected


@pytest.mark.parametrize(
    "text",
    [
        *("a=1", "a=-1.5", 'a="b\\"c"', "a=?0", "a=:YQ==:", "a=@12", 'a=%"f%c3%bc"', "a=()"),
        *('a=(1 "b" c;d=2);e', "a", "a;b", "a , b", "a\t,\tb", "a=*x/y:z", " a ", "*a.b_c-1=y"),
        "a=999999999999999",
    ],
)
def test_dictionaries(text: str) -> None:
    """Every type of value that RFC 9651 has can stand in a dictionary."""
    members = parse(text)
    assert members
    assert len(members) <= 2


@pytest.mark.parametrize(
    "text",
    [
        *("A", "a=", "a=y,", ",a", "a;;b", "a=y b=n", "a=1.", "a=1.2345", "a=1234567890123.1"),
        *("a=-", 'a="', 'a="é"', "a=?2", "a=:Y!:", "a=@1.5", 'a=%"%ff"', 'a=%"%C3"', "a=(1"),
        *("a=(1,2)", "a=('x)", "a =y", "a= y", "\ta", "a=1234567890123456", "é=y"),
    ],
)
def test_malformed_dictionaries(text: str) -> None:
    """What the grammar does not have makes the whole dictionary unreadable."""
    assert parse(text) is None


def test_last_of_equal_keys() -> None:
    """Of equal keys the last counts, whatever the others are."""
    assert parse("a=y, a=n") == {"a": Token("n")}


@pytest.mark.parametrize(
    ("statements", "expected"),
    [
        ([], UNKNOWN),
        ([UNKNOWN, UNKNOWN], UNKNOWN),
        ([UNKNOWN, ALLOW], ALLOW),
        ([ALLOW, DISALLOW], DISALLOW),
        ([DISALLOW, UNKNOWN], DISALLOW),
    ],
)
def test_several_statements(statements: list[Preference], expected: Preference) -> None:
    """Any disallow counts, else any allow, else nothing is known."""
    assert combined(statements) is expected


def test_lines_of_a_header_are_one_dictionary() -> None:
    """Several lines of a header are read as one; empty ones do no harm."""
    assert of_header("content-usage", ["train-ai=n", "", "search=y"]) == {
        "train-ai": DISALLOW,
        "search": ALLOW,
    }


def test_purpose() -> None:
    """A use is forbidden when it is disallowed, not when nothing is known of it."""
    wishes = {"train-ai": DISALLOW, "search": ALLOW}
    assert forbidden(["search", "train-ai"], wishes) == "train-ai"
    assert forbidden(["search", "ai-input"], wishes) is None
