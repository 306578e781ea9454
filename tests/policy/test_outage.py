"""Telling our own trouble from theirs, event by event.

A story is a list of events: a letter is a host that answers, "-" and a letter one that does not.
"""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_polite.policy.outage import ENOUGH, GIVE_UP, PROBE_FIRST, PROBE_MAX, OutageWatch


def told(story: str) -> OutageWatch:
    """Return a watch that was told a story, one event a second."""
    watch = OutageWatch()
    for now, event in enumerate(story.split()):
        if event.startswith("-"):
            watch.failed(event[1:], now)
        else:
            watch.answered(event, now)
    return watch


STORIES = {
    "nothing": ("", False),
    "all answer": ("a b c", False),
    "three known ones fail": ("a b c -a -b -c", True),
    "three of many fail": ("a b c d e -c -e -a", True),
    "two fail": ("a b c -a -b", False),
    "one fails often": ("a b c -a -a -a -a", False),
    "one answers between": ("a b c -a -b d -c", False),
    "one that failed answers between": ("a b c -a -b a -c", False),
    "strangers fail": ("a b c -x -y -z", False),
    "strangers among those that fail": ("a b c -a -x -b -y -c", True),
    "two are known": ("a b -a -b -x -y", False),
    "nobody ever answered": ("-a -b -c -d", False),
    "somebody answers in the end": ("a b c -a -b -c b", False),
    "a stranger answers in the end": ("a b c -a -b -c x", False),
    "the next one": ("a b c -a -b -c b -a -b -c", True),
    "not yet the next one": ("a b c -a -b -c b -a -b", False),
}


@pytest.mark.parametrize(("story", "expected"), STORIES.values(), ids=STORIES)
def test_is_outage(story: str, expected: bool) -> None:
    """Enough known hosts in a row without an answer are an outage, which any answer ends."""
    assert told(story).is_outage is expected


def test_begin_and_end_are_told_once() -> None:
    """`failed` says when an outage begins, `answered` when it ends, and neither says it again."""
    watch = told("a b c -a -b")
    assert [watch.failed(host, 7.0) for host in "cab"] == [True, False, False]
    assert watch.streak == {"a", "b", "c"}
    assert [watch.answered(host, 9.0) for host in "ab"] == [True, False]
    assert (watch.began_at, watch.ended_at, watch.streak) == (7.0, 9.0, frozenset())


@pytest.mark.parametrize(
    ("story", "expected"),
    [
        ("a b c", False),
        ("a b c -a", True),
        ("a b c -a b", False),
        ("a b c -x", False),
        ("a b -a", False),
    ],
)
def test_is_in_doubt(story: str, expected: bool) -> None:
    """A failure is in doubt while a known host is silent and there are enough known ones."""
    assert told(story).is_in_doubt is expected


def test_probes_become_rarer() -> None:
    """The first probe is due soon, later ones twice as far apart each time, up to a limit."""
    watch = told("a b c")
    for host in "abc":
        watch.failed(host, 100.0)
    due = [watch.probe_at]
    due += [watch.probed(due[0]) for _ in range(2000)]  # a day and more
    first = 100.0 + PROBE_FIRST
    assert due[:6] == [first, *(first + s for s in (10, 20, 40, PROBE_MAX, PROBE_MAX))]
    assert due[-1] == 105.0 + PROBE_MAX


def test_probes_begin_anew() -> None:
    """A second outage begins with the first interval again."""
    watch = told("a b c -a -b -c")
    for _ in range(5):
        watch.probed(10.0)
    watch.answered("a", 20.0)
    for host in "abc":
        watch.failed(host, 30.0)
    assert watch.probe_at == 30.0 + PROBE_FIRST


def test_is_hopeless() -> None:
    """After an hour without any answer it is no use to wait; without an outage it never is."""
    watch = told("a b c -a -b -c")
    assert not watch.is_hopeless(watch.began_at + GIVE_UP)
    assert watch.is_hopeless(watch.began_at + GIVE_UP + 1)
    watch.answered("a", 10.0)
    assert not watch.is_hopeless(1e9)


def test_memory_is_bounded() -> None:
    """Of a great many hosts those that answered last are remembered."""
    watch = OutageWatch()
    for number in range(20_000):
        watch.answered(f"host{number}", 0.0)
    for number in range(10):
        watch.failed(f"host{number}", 1.0)
    assert not watch.is_outage
    for number in range(19_990, 20_000):
        watch.failed(f"host{number}", 1.0)
    assert watch.is_outage


@given(st.lists(st.tuples(st.sampled_from("abcdef"), st.booleans())))
def test_against_a_plain_model(events: list[tuple[str, bool]]) -> None:
    """An outage is on just when enough hosts that had answered failed since the last answer."""
    watch, known = OutageWatch(), set[str]()
    silent: set[str] = set()
    for now, (host, answers) in enumerate(events):
        if answers:
            watch.answered(host, now)
            known.add(host)
            silent.clear()
        else:
            watch.failed(host, now)
            silent |= {host} & known
        assert watch.is_outage is (len(silent) >= ENOUGH)
