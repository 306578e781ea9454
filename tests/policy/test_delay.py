"""The wait after a fetch, in seconds, before and after jitter.

Rules: a row of RULE gives what is known of the host, then wait, deciding part and whether the
ceiling cut the promise. Everything is exact; no clock runs here.
"""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_polite.policy.delay import (
    CRAWL_DELAY,
    DURATION,
    FLOOR,
    TROUBLE,
    Delay,
    DelayRules,
    delay_after,
    jittered,
)

DEFAULT = DelayRules()
CEILING = DEFAULT.ceiling
SLOW_START = DelayRules(start_floor=5.0)

# rules, duration of the last fetch, what else asks, wait, reason, capped
RULE: dict[str, tuple[DelayRules, float | None, dict[str, float], float, str, bool]] = {
    "ten times the duration": (DEFAULT, 0.5, {}, 5.0, DURATION, False),
    "the floor after a fast fetch": (DEFAULT, 0.05, {}, 1.0, FLOOR, False),
    "the floor of a slot": (DEFAULT, 0.2, {"floor": 4.0}, 4.0, FLOOR, False),
    "a lower floor of a slot": (DEFAULT, 0.01, {"floor": 0.5}, 1.0, FLOOR, False),
    "a longer Crawl-delay": (DEFAULT, 0.5, {"crawl_delay": 8.0}, 8.0, CRAWL_DELAY, False),
    "a shorter Crawl-delay": (DEFAULT, 0.5, {"crawl_delay": 2.0}, 5.0, DURATION, False),
    "trouble": (DEFAULT, 0.5, {"trouble": 30.0}, 30.0, TROUBLE, False),
    "the largest of all": (
        DEFAULT,
        0.5,
        {"floor": 6.0, "crawl_delay": 7.0, "trouble": 6.5},
        7.0,
        CRAWL_DELAY,
        False,
    ),
    "the ceiling": (DEFAULT, 60.0, {}, 600.0, DURATION, False),
    "above the ceiling": (DEFAULT, 61.0, {}, 600.0, DURATION, True),
    "no ceiling for Crawl-delay": (DEFAULT, 61.0, {"crawl_delay": 900}, 900.0, CRAWL_DELAY, False),
    "no ceiling for a floor": (DEFAULT, 1.0, {"floor": 900.0}, 900.0, FLOOR, False),
    "no ceiling for trouble": (DEFAULT, 1.0, {"trouble": 900.0}, 900.0, TROUBLE, False),
    "a promise cut in part": (DEFAULT, 99.0, {"floor": 700.0}, 700.0, FLOOR, True),
    "nothing measured": (DEFAULT, None, {}, 1.0, FLOOR, False),
    "nothing measured, start floor": (SLOW_START, None, {}, 5.0, DURATION, False),
    "measured, start floor": (SLOW_START, 0.2, {}, 2.0, DURATION, False),
    "another factor": (DelayRules(factor=3.0), 2.0, {}, 6.0, DURATION, False),
    "no factor": (DelayRules(factor=0.0), 9.0, {}, 1.0, FLOOR, False),
    "nothing at all": (DelayRules(factor=0.0, floor=0.0), 9.0, {}, 0.0, FLOOR, False),
}

SECONDS = st.floats(min_value=0.0, allow_nan=False, allow_infinity=False)
BELOW_ONE = st.floats(min_value=0.0, max_value=1.0, exclude_max=True)


@st.composite
def any_rules(draw: st.DrawFn) -> DelayRules:
    return DelayRules(*(draw(SECONDS) for _ in range(5)))


@pytest.mark.parametrize(
    ("rules", "duration", "asked", "wait", "reason", "capped"), RULE.values(), ids=RULE
)
def test_rule(
    rules: DelayRules,
    duration: float | None,
    asked: dict[str, Any],
    wait: float,
    reason: str,
    capped: bool,
) -> None:
    """Each row waits as long as it says, for the reason it says."""
    assert delay_after(rules, duration, **asked) == Delay(wait, reason, capped)


@pytest.mark.parametrize("duration", [0.0, 0.001, 0.1, 1.0, 7.3, 59.9])
def test_a_host_is_occupied_for_one_eleventh_of_the_time(duration: float) -> None:
    """Below the ceiling a fetch takes at most 1/11 of the time until the next one."""
    wait = delay_after(DEFAULT, duration).seconds
    assert duration / (duration + wait) <= 1 / 11


@given(any_rules(), st.none() | SECONDS, SECONDS, SECONDS, SECONDS)
def test_never_below_what_anybody_asks_for(
    rules: DelayRules, duration: float | None, floor: float, crawl_delay: float, trouble: float
) -> None:
    """The wait is a finite number, and no floor, Crawl-delay or trouble is ever shortened."""
    delay = delay_after(rules, duration, floor=floor, crawl_delay=crawl_delay, trouble=trouble)
    assert max(rules.floor, floor, crawl_delay, trouble) <= delay.seconds < math.inf


@given(any_rules(), SECONDS, SECONDS)
def test_the_ceiling_cuts_the_adaptive_part_only(
    rules: DelayRules, duration: float, crawl_delay: float
) -> None:
    """What is cut is said to be cut, and below the ceiling nothing is."""
    delay = delay_after(rules, duration, crawl_delay=crawl_delay)
    promised = rules.factor * duration
    assert delay.seconds >= min(promised, rules.ceiling)
    assert delay.capped == (delay.seconds < promised)


def test_jitter_spreads_waits_over_a_tenth() -> None:
    """The least and the largest random number give the wait itself and nearly a tenth more."""
    assert jittered(DEFAULT, 10.0, 0.0) == 10.0
    assert jittered(DEFAULT, 10.0, 0.999) == pytest.approx(10.999)


@given(st.floats(0.0, 1e9), st.floats(0.0, 10.0), BELOW_ONE)
def test_jitter_only_lengthens(seconds: float, jitter: float, random: float) -> None:
    """A wait with jitter lies between the wait itself and the wait plus the jitter."""
    wait = jittered(DelayRules(jitter=jitter), seconds, random)
    assert seconds <= wait <= seconds * (1.0 + jitter)
