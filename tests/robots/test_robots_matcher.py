"""The index of the matcher against one that has none: every rule tried, octet by octet."""

from __future__ import annotations

from hypothesis import example, given
from hypothesis import strategies as st

from scrapy_polite.robots.escapes import spellings
from scrapy_polite.robots.groups import Rule
from scrapy_polite.robots.matcher import Match, RuleSet

PATTERNS = st.text("ab/*$?", max_size=8).map("/".__add__)
URLS = st.text("ab/?", max_size=14).map("/".__add__)
RULES = st.lists(st.tuples(st.booleans(), PATTERNS), max_size=12)


def covers(pattern: str, url: str) -> bool:
    """Return whether *pattern* matches, by keeping every place where its next octet may stand."""
    anchored = pattern.endswith("$")
    places = {0}
    for octet in pattern.removesuffix("$"):
        if octet == "*":
            places = set(range(min(places), len(url) + 1))
        else:
            places = {at + 1 for at in places if url[at : at + 1] == octet}
        if not places:
            return False
    return not anchored or len(url) in places


def decide(rules: list[Rule], url: str) -> Match | None:
    """Return the longest match, allow before disallow, earlier lines before later ones."""
    found = [rule for rule in rules if covers(rule.value, url)]
    best = min(found, key=lambda rule: (-len(rule.value), not rule.allow, rule.line), default=None)
    return best and Match(best.line, best.allow, len(best.value))


@given(RULES, st.lists(URLS, min_size=1, max_size=8))
@example([(False, "/a*b$"), (True, "/a"), (False, "/a*"), (True, "/ab$")], ["/ab", "/abab", "/a"])
@example([(False, "/a**b$$"), (True, "/"), (False, "/$")], ["/ab", "/"])
def test_2_2_2_index_finds_what_trying_every_rule_finds(
    written: list[tuple[bool, str]], urls: list[str]
) -> None:
    """Line, verdict and octets are those of the best of all rules that match."""
    rules = [Rule(line, *rule) for line, rule in enumerate(written, 2)]
    compiled = RuleSet(rules)
    for url in urls:
        assert compiled.find(spellings(url)) == decide(rules, url)


@given(st.permutations([(True, "/a"), (False, "/a/*"), (True, "/a/b"), (False, "/*/b$")]))
def test_2_2_2_order_of_rules_means_nothing(written: list[tuple[bool, str]]) -> None:
    """Whatever their order, the same pattern decides."""
    compiled = RuleSet(Rule(line, *rule) for line, rule in enumerate(written, 2))
    for url, expected in (("/a", (True, 2)), ("/a/c", (False, 4)), ("/a/b", (False, 5))):
        match = compiled.find(spellings(url))
        assert match is not None
        assert (match.allow, match.octets) == expected


@given(st.text(max_size=20), st.text(max_size=20))
def test_2_2_2_spelling_is_final(path: str, query: str) -> None:
    """A URL in its one spelling is spelled the same again, and is ASCII without blanks."""
    main, *_ = spellings(f"/{path}?{query}")
    assert spellings(main)[0] == main
    assert main.isascii()
    assert main.isprintable()
    assert " " not in main


def test_no_rules_decide_nothing() -> None:
    """An empty set of rules finds no match."""
    assert RuleSet().find(spellings("/")) is None
