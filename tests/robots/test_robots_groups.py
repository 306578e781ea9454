"""Choosing the group of one token: lines, hints, and lists that were not meant to be one."""

from __future__ import annotations

import pytest

from scrapy_polite.robots.groups import Group, Rule, agent_name, select
from scrapy_polite.robots.lines import Record, records


def group_of(text: str, token: str = "ExampleBot") -> Group:
    """Return the group of *token* in a file whose lines `|` separates."""
    return select(records(text.split("|")), token)


@pytest.mark.parametrize(
    ("value", "name"),
    [
        ("FooBot", "foobot"),
        ("FooBot/2.1", "foobot"),
        ("Foo_Bot-", "foo_bot-"),
        ("Foo Bot", "foo"),
        ("\u212aBot", ""),  # the Kelvin sign, which lower() makes a k
        ("*", "*"),
        ("*\t(all)", "*"),
        ("**", ""),
        ("", ""),
    ],
)
def test_2_2_1_agent_name(value: str, name: str) -> None:
    """A name is the letters, `-` and `_` that a value begins with, or `*`."""
    assert agent_name(value) == name


def test_2_2_1_merged_group_tells_where_it_is_named() -> None:
    """All groups of a name are one, with the lines of all."""
    text = "User-agent: ExampleBot|Disallow: /a|User-agent: X|User-agent: EXAMPLEBOT|Allow: /b"
    rules = (Rule(2, False, "/a"), Rule(5, True, "/b"))
    assert group_of(text) == Group("examplebot", named_at=(1, 4), rules=rules)


def test_a_name_given_twice_in_a_list_gets_each_rule_once() -> None:
    """Repeating a name repeats no rule."""
    assert group_of("User-agent: *|User-agent: *|Disallow: /a").rules == (Rule(3, False, "/a"),)


@pytest.mark.parametrize("token", ["", "*", "360", "é"])
def test_token_that_is_none_obeys_everyones_group(token: str) -> None:
    """Nobody is called `*` or nothing, so such a crawler gets the group of `*`."""
    group = group_of("User-agent:|Disallow: /a|User-agent: *|Disallow: /b", token)
    assert (group.name, group.rules) == ("*", (Rule(4, False, "/b"),))


@pytest.mark.parametrize(
    ("token", "delays"),
    [("A", ["1", "2"]), ("B", ["1", "2"]), ("C", ["3"]), ("D", ["4"]), ("E", ["5"])],
)
def test_hints_concern_the_names_right_above(token: str, delays: list[str]) -> None:
    """A hint between two names ends the list for hints, though not for rules."""
    text = (
        "User-agent: A|User-agent: B|Crawl-delay: 1|Disallow: /a|Crawl-delay: 2|"
        "User-agent: C|Crawl-delay: 3|User-agent: D|Crawl-delay: 4|Disallow: /c|"
        "User-agent: *|Crawl-delay: 5"
    )
    assert [hint.value for hint in group_of(text, token).hints] == delays


def test_records_that_are_no_hints_end_no_list() -> None:
    """A hint concerns the names above an unknown record, too."""
    group = group_of("User-agent: *|X-Thing: y|User-agent: B|Crawl-delay: 3|Disallow: /")
    assert group.hints == (Record(4, "crawl-delay", "3"),)


def test_hints_of_everyone_are_not_ours() -> None:
    """With a group of its own, a crawler hears no hint of another."""
    text = "User-agent: *|Crawl-delay: 9|Disallow: /a|User-agent: ExampleBot|Request-rate: 1/2"
    assert group_of(text).hints == (Record(5, "request-rate", "1/2"),)


@pytest.mark.parametrize(
    ("text", "joined_at"),
    [
        ("User-agent: *|Crawl-delay: 5|User-agent: BadBot|Disallow: /", 3),
        ("User-agent: *|Sitemap: s|User-agent: A|User-agent: B|Disallow: /", 3),
        ("User-agent: *|Crawl-delay: 5|Disallow: /a|User-agent: BadBot|Disallow: /", None),
        ("User-agent: *|User-agent: BadBot|Crawl-delay: 5|Disallow: /", None),
        ("User-agent: *|Crawl-delay: 5|User-agent: BadBot|Allow: /", None),
        ("User-agent: *|Crawl-delay: 5|User-agent: BadBot|Disallow:", None),
        ("User-agent: *|Crawl-delay: 5|User-agent: *|Disallow: /", None),
        ("User-agent: BadBot|Crawl-delay: 5|User-agent: *|Disallow: /", None),
        ("User-agent: *|Crawl-delay: 5|User-agent: A|Allow: /|User-agent: B|Disallow: /", None),
    ],
)
def test_2_2_4_joined_groups_are_noticed(text: str, joined_at: int | None) -> None:
    """A disallow rule that reaches us over a record which was to end our list is noticed."""
    assert group_of(text).joined_at == joined_at
