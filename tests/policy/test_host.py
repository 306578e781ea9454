"""What one fetch means for the next: delay, block and both ladders together, on a fake clock.

Rules: jitter is off unless a test is about it, instants start at START. A `Guest` fetches as soon
as it may, again and again; a rate-limited site is a function of the instants at which it was asked.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_polite.policy.backoff import MARGIN, BackoffRules
from scrapy_polite.policy.delay import DelayRules
from scrapy_polite.policy.host import (
    BLOCKED,
    Fetch,
    HostRules,
    HostState,
    Outcome,
    Turn,
    after_fetch,
)

START = 1_000_000.0
ANSWERED, REFUSED, TROUBLED = Outcome
RULES = HostRules(DelayRules(jitter=0.0), BackoffRules(give_up=1000))


class Guest:
    """Who fetches from one host; `turn` is what came of the last fetch."""

    def __init__(self, rules: HostRules = RULES) -> None:
        self.rules, self.now = rules, START
        self.turn = Turn(HostState(), 0.0, "")

    def fetch(
        self, seconds: float = 0.1, outcome: Outcome = ANSWERED, *, random: float = 0.0, **more: Any
    ) -> float:
        """Fetch for *seconds* as soon as the host's turn comes; return the wait that follows."""
        self.now += self.turn.wait
        fetch = Fetch(self.now, self.now + seconds, outcome, **more)
        self.turn = after_fetch(self.turn.state, fetch, self.rules, random)
        self.now = fetch.ended_at
        return self.turn.wait

    @property
    def delay(self) -> float:
        """The delay in force, in seconds."""
        return self.turn.state.delay or 0.0


# seconds of the fetch, what else is known, wait, reason
FETCHES: dict[str, tuple[float, dict[str, Any], float, str]] = {
    "answered": (0.5, {}, 5.0, "duration"),
    "answered fast": (0.0, {}, 1.0, "floor"),
    "failed after long": (30.0, {"outcome": TROUBLED}, 300.0, "duration"),
    "failed at once": (0.0, {"outcome": TROUBLED}, 2.0, "trouble"),
    "Crawl-delay": (0.1, {"crawl_delay": 20.0}, 20.0, "crawl-delay"),
    "DOWNLOAD_SLOTS": (0.1, {"floor": 7.0}, 7.0, "floor"),
    "refused": (0.1, {"outcome": REFUSED}, 60.0, BLOCKED),
    "refused, Crawl-delay": (0.1, {"outcome": REFUSED, "crawl_delay": 20.0}, 200.0, BLOCKED),
    "Retry-After": (0.1, {"outcome": REFUSED, "retry_after": 3.0}, 3.0, BLOCKED),
    "short Retry-After": (5.0, {"outcome": REFUSED, "retry_after": 3.0}, 50.0, "duration"),
    "not to learn from": (9.0, {"learn": False}, 1.0, "floor"),
}


@pytest.mark.parametrize(("seconds", "more", "wait", "reason"), FETCHES.values(), ids=FETCHES)
def test_first_fetch(seconds: float, more: dict[str, Any], wait: float, reason: str) -> None:
    """A host's first fetch is followed by the wait of the row, for its reason."""
    guest = Guest()
    assert guest.fetch(seconds, **more) == pytest.approx(wait)
    assert guest.turn.reason == reason


def test_the_wait_starts_at_the_end_of_the_fetch() -> None:
    """A fetch of 4 s at ten times its duration leaves 44 s between two starts."""
    guest = Guest()
    guest.fetch(4.0)
    guest.fetch(4.0)
    assert guest.now - START == pytest.approx(4.0 + 40.0 + 4.0)


def test_a_clock_that_goes_back_is_no_negative_fetch() -> None:
    """A fetch that seems to end before it began took no time."""
    assert after_fetch(HostState(), Fetch(START, START - 5.0), RULES, 0.0).wait == 1.0


def test_a_fetch_not_to_learn_from_keeps_the_delay() -> None:
    """The delay stays that of the fetch before (autothrottle_dont_adjust_delay)."""
    guest = Guest()
    guest.fetch(0.5)
    assert guest.fetch(9.0, learn=False) == 5.0


def test_jitter_lengthens_the_delay_and_is_not_remembered() -> None:
    """A wait is longer by the random fraction, the delay in force is not."""
    guest = Guest(replace(RULES, delay=DelayRules(jitter=0.1)))
    assert guest.fetch(0.5, random=0.5) == pytest.approx(5.25)
    assert guest.delay == 5.0


def test_the_ladder_starts_at_the_delay_that_answers_gave() -> None:
    """The first rung is ten times the usual delay, not ten times that of the softer ladder."""
    guest = Guest()
    guest.fetch(0.7)
    for _ in range(3):
        guest.fetch(0.7, TROUBLED)
    assert guest.delay == pytest.approx(56.0)
    guest.fetch(0.0, REFUSED)
    assert guest.turn.state.backoff.rung == pytest.approx(70.0)


def test_a_late_answer_opens_nothing() -> None:
    """What was sent before the block and answered after it began leaves the block as it was."""
    guest = Guest()
    guest.fetch(0.1, REFUSED)
    began_at = guest.turn.state.backoff.began_at
    late = Fetch(began_at - 1.0, began_at + 0.5, ANSWERED)
    turn = after_fetch(guest.turn.state, late, RULES, 0.0)
    assert turn.wait == pytest.approx(59.5)
    assert turn.state.backoff.refusals == 1


def test_a_good_probe_opens_the_host() -> None:
    """After the block a good answer is followed by twice the delay that was refused."""
    guest = Guest()
    guest.fetch(0.1)
    guest.fetch(0.1, REFUSED)
    assert guest.fetch(0.1) == 2.0
    assert guest.turn.state.backoff.refusals == 0


Site = Callable[[list[float], float], bool]


def sliding(limit: int, window: float) -> Site:
    """A site that allows `limit` fetches in any `window` seconds."""
    return lambda allowed, now: sum(at > now - window for at in allowed) < limit


def fixed(limit: int, window: float) -> Site:
    """A site that allows `limit` fetches from each full multiple of `window` to the next."""
    return lambda allowed, now: sum(at // window == now // window for at in allowed) < limit


def crawl(
    site: Site, rules: HostRules, *, hours: float, refusal: Outcome = REFUSED
) -> tuple[list[float], list[tuple[float, float]]]:
    """Fetch for hours; return when a fetch was refused, and the delay after each fetch."""
    guest, refused_at, delays = Guest(rules), [], []
    allowed: list[float] = []
    while guest.now < START + hours * 3600.0:
        now = guest.now + guest.turn.wait
        is_allowed = site(allowed, now)
        guest.fetch(0.05, ANSWERED if is_allowed else refusal)
        if is_allowed:
            allowed = [*allowed[-20:], now]  # no limit below looks further back
        else:
            refused_at.append(now)
        delays.append((guest.now, guest.delay))
    return refused_at, delays


def with_floor(floor: float) -> HostRules:
    return replace(RULES, delay=DelayRules(factor=0.0, floor=floor, jitter=0.0))


# what the site allows, the delay that it would need, our floor, refusals at most
LIMITS: dict[str, tuple[Site, float, float, int]] = {
    "5 in any 10 s": (sliding(5, 10.0), 2.0, 1.0, 2),
    "5 in each 10 s": (fixed(5, 10.0), 2.0, 1.0, 3),
    "5 in any 10 s, no floor": (sliding(5, 10.0), 2.0, 0.0, 8),
    "20 in any minute": (sliding(20, 60.0), 3.0, 1.0, 5),
    "1 a minute": (sliding(1, 60.0), 60.0, 1.0, 8),
}


@pytest.mark.parametrize(("site", "need", "floor", "most"), LIMITS.values(), ids=LIMITS)
def test_a_rate_limited_site_refuses_while_we_learn_and_then_no_more(
    site: Site, need: float, floor: float, most: int
) -> None:
    """In twelve hours a site refuses at most once a window, a few times, and then never."""
    refused_at, delays = crawl(site, with_floor(floor), hours=12)
    assert 1 <= len(refused_at) <= most
    assert all(b - a >= 60.0 for a, b in pairwise(refused_at))
    learnt = [delay for at, delay in delays if at > refused_at[-1] + 60.0]
    assert learnt == sorted(learnt, reverse=True), "no sawtooth"
    assert need * 0.95 <= learnt[-1] <= need * MARGIN**2


def test_a_site_that_drops_connections_instead_is_learnt_too() -> None:
    """Half an hour of a site that drops each sixth connection in 10 s: a few drops, then none."""
    dropped_at, _ = crawl(sliding(5, 10.0), with_floor(1.0), hours=0.5, refusal=TROUBLED)
    assert 1 <= len(dropped_at) <= 4
    assert dropped_at[-1] < START + 60.0


# the site fails each n-th time, the longest delay that it is back at before the next time
FLAKY = [(100, 2.6), (20, 3.0), (10, 4.0)]


@pytest.mark.parametrize(("every", "longest"), FLAKY)
def test_pages_that_always_fail_do_not_slow_a_host_down_without_end(
    every: int, longest: float
) -> None:
    """With a 500 now and then a delay of 1 s goes back to that of the row, each time."""
    guest = Guest(with_floor(1.0))
    lasting = []
    for number in range(5000):
        fails = number % every == every - 1
        if fails:
            lasting.append(guest.delay)
        guest.fetch(0.05, TROUBLED if fails else ANSWERED)
    assert max(lasting) <= longest


@pytest.mark.parametrize("outcome", [REFUSED, TROUBLED])
def test_one_slow_answer_does_not_teach_minutes(outcome: Outcome) -> None:
    """A failure after one answer that took 20 s leaves the host at 2.5 s, not at 250 s."""
    guest = Guest()
    guest.fetch(0.05)
    guest.fetch(20.0)
    guest.fetch(0.05, outcome)
    for _ in range(60):
        guest.fetch(0.05)
    assert guest.delay == pytest.approx(2.5, rel=0.01)


def test_a_site_that_was_down_is_fast_again_soon() -> None:
    """Twenty seconds of refused connections cost a minute, and no burst follows."""
    guest = Guest()
    waits = [guest.fetch(0.05)]
    while guest.now < START + 20.0:
        waits.append(guest.fetch(0.0, TROUBLED))
    waits += [guest.fetch(0.05) for _ in range(20)]
    assert min(waits) >= 1.0
    assert waits[-1] < 2.0
    assert guest.now < START + 120.0


OUTCOMES = st.tuples(
    st.sampled_from(Outcome),
    st.floats(0.0, 1000.0),
    st.none() | st.floats(0.001, 1e6),
    st.floats(0.0, 300.0),
    st.floats(0.0, 0.999),
)


@given(st.lists(OUTCOMES, max_size=30))
def test_nothing_that_was_asked_for_is_shortened(
    fetches: list[tuple[Outcome, float, float | None, float, float]],
) -> None:
    """Whatever happens, the wait is finite and at least what rule, Crawl-delay and site ask."""
    guest = Guest(HostRules())
    for outcome, seconds, asked, crawl_delay, random in fetches:
        retry_after = asked if outcome is REFUSED else None
        wait = guest.fetch(
            seconds, outcome, random=random, retry_after=retry_after, crawl_delay=crawl_delay
        )
        promised = min(10.0 * seconds, 600.0)
        assert math.isfinite(wait)
        assert wait >= max(1.0, promised, crawl_delay, retry_after or 0.0) - 1e-6
