"""The ladder of refusals and the softer one of other trouble, on a fake clock.

Rules: a `Walk` is one host; it starts at START, stands still unless told to wait, and its methods
return seconds. Expectations are literal seconds. The rules are those of the settings' defaults but
for the number of refusals after which a host is parked, which is out of reach.
"""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_polite.policy import backoff
from scrapy_polite.policy.backoff import MARGIN, MEMORY, QUIET, TROUBLE_MAX, Backoff, BackoffRules

START = 1_000_000.0
PATIENT = BackoffRules(give_up=1000)
DEFAULT = BackoffRules()


class Walk:
    """A host that refuses, fails and answers; `delay` is the one in force, in seconds."""

    def __init__(self, rules: BackoffRules = PATIENT, *, delay: float = 1.0) -> None:
        self.rules, self.delay = rules, delay
        self.now, self.state = START, Backoff()

    @property
    def blocked(self) -> float:
        """Seconds until the block ends."""
        return max(self.state.until_at - self.now, 0.0)

    def wait(self, seconds: float) -> None:
        self.now += seconds

    def sit_out(self) -> None:
        """Wait until the block ends."""
        self.wait(self.blocked)

    def refuse(self, retry_after: float | None = None, *, late: bool = False) -> float:
        """Be refused, `late` what was sent before the block began; return how long it lasts."""
        self.state = backoff.refused(
            self.state,
            self.rules,
            now=self.now,
            sent_at=self.state.began_at - 1.0 if late else self.now,
            retry_after=retry_after,
            first=backoff.first_wait(self.rules, self.delay),
            delay=max(self.delay, self.state.trouble),
        )
        return self.blocked

    def fail(self) -> float:
        """Fail otherwise; return the softer ladder's delay."""
        delay = max(self.delay, self.state.trouble)
        self.state = backoff.troubled(self.state, now=self.now, delay=delay)
        return self.state.trouble

    def answer(self) -> float:
        """Answer; return the softer ladder's delay."""
        self.state = backoff.succeeded(self.state, now=self.now)
        return self.state.trouble


# usual delay of the host, the first wait without a Retry-After
FIRST_WAIT = [(0.0, 60.0), (1.0, 60.0), (6.0, 60.0), (7.5, 75.0), (30.0, 300.0), (600.0, 3600.0)]


@pytest.mark.parametrize(("delay", "wait"), FIRST_WAIT)
def test_first_wait(delay: float, wait: float) -> None:
    """The first wait is the larger of 60 s and ten times the host's delay, and an hour at most."""
    assert Walk(delay=delay).refuse() == wait


# Retry-After of each refusal in turn (None: nothing usable), wait after each
EPISODES: dict[str, tuple[list[float | None], list[float]]] = {
    "doubling": ([None] * 8, [60, 120, 240, 480, 960, 1920, 3600, 3600]),
    "Retry-After alone": ([3.0, 3.0, 3.0], [3, 3, 3]),
    "a fraction": ([0.25], [0.25]),
    "longer than the ladder": ([7200.0, None], [7200, 120]),
    "Retry-After is a rung too": ([None, 5.0, None], [60, 5, 240]),
}


@pytest.mark.parametrize(("asked", "waits"), EPISODES.values(), ids=EPISODES)
def test_rfc9110_10_2_3_episodes(asked: list[float | None], waits: list[float]) -> None:
    """One refusal after the other, each wait sat out, waits as the row says."""
    walk, waited = Walk(), []
    for retry_after in asked:
        waited.append(walk.refuse(retry_after))
        walk.sit_out()
    assert waited == waits


def test_ladder_follows_a_slower_host() -> None:
    """A rung is never lower than ten times the host's delay by now."""
    walk = Walk(delay=1.0)
    walk.refuse()
    walk.sit_out()
    walk.delay = 30.0
    assert walk.refuse() == 300.0


def test_refusals_of_what_was_sent_before_are_one_episode() -> None:
    """Forty refusals of requests that were under way make one episode, and one wait."""
    walk = Walk()
    waits = {walk.refuse(), *(walk.refuse(late=True) for _ in range(39))}
    assert waits == {60.0}
    assert (walk.state.episodes, walk.state.refusals) == (1, 1)


# Retry-After of the refusal that begins the block, of a late one, how long the block then lasts
LATE = [(None, 90.0, 90.0), (None, 5.0, 60.0), (30.0, 90.0, 90.0), (30.0, 5.0, 30.0)]


@pytest.mark.parametrize(("asked", "late", "wait"), LATE)
def test_rfc9110_10_2_3_nothing_shortens_a_block(
    asked: float | None, late: float, wait: float
) -> None:
    """A late Retry-After lengthens the block of its episode and never shortens it."""
    walk = Walk()
    walk.refuse(asked)
    assert walk.refuse(late, late=True) == wait


def test_new_refusal_does_not_shorten_a_block() -> None:
    """A refusal during a block that lasts longer leaves its end where it was."""
    walk = Walk()
    walk.refuse(500.0)
    walk.wait(100.0)
    assert walk.refuse(10.0) == 400.0


def test_success_ends_the_row_and_keeps_the_rung() -> None:
    """After a good probe no refusal is in a row, but the next episode goes on doubling."""
    walk = Walk()
    walk.refuse()
    walk.sit_out()
    walk.answer()
    assert walk.state.refusals == 0
    assert walk.refuse() == 120.0
    assert walk.state.refusals == 1


# quiet seconds after the block's end, the wait of the next episode
FORGETTING = [(QUIET - 1.0, 120.0), (QUIET, 120.0), (QUIET + 1.0, 60.0)]


@pytest.mark.parametrize(("quiet", "wait"), FORGETTING)
def test_episodes_are_forgotten_after_1800_quiet_seconds(quiet: float, wait: float) -> None:
    """Quiet time runs from the end of the block, and then the ladder begins again."""
    walk = Walk()
    walk.refuse()
    walk.sit_out()
    walk.answer()
    walk.wait(quiet)
    assert walk.refuse() == wait


def test_trouble_is_not_quiet() -> None:
    """A failure of another kind starts the quiet time again."""
    walk = Walk()
    walk.refuse()
    walk.sit_out()
    walk.answer()
    walk.wait(QUIET)
    walk.fail()
    walk.wait(QUIET)
    assert walk.refuse() == 120.0


def test_a_probe_that_fails_otherwise_opens_nothing() -> None:
    """A timeout after the block is no refusal, and the last rung is waited again."""
    walk = Walk()
    walk.refuse()
    walk.sit_out()
    walk.fail()
    assert (walk.blocked, walk.state.refusals) == (60.0, 1)
    walk.sit_out()
    assert walk.refuse() == 120.0


# Retry-After of the refusals in a row, whether the host is then parked
PARKING: dict[str, tuple[list[float | None], bool]] = {
    "seven in a row": ([None] * 7, False),
    "eight in a row": ([None] * 8, True),
    "eight that ask for little": ([1.0] * 8, True),
    "as long as we listen": ([86400.0], False),
    "longer than we listen": ([86401.0], True),
}


@pytest.mark.parametrize(("asked", "parked"), PARKING.values(), ids=PARKING)
def test_parking(asked: list[float | None], parked: bool) -> None:
    """A host is parked that refuses eight times in a row, or asks for more than a day."""
    walk = Walk(DEFAULT)
    for retry_after in asked:
        walk.sit_out()
        walk.refuse(retry_after)
    assert walk.state.parked is parked


def test_parked_by_a_late_refusal() -> None:
    """What was sent before the block may park the host too."""
    walk = Walk(DEFAULT)
    walk.refuse()
    walk.refuse(86401.0, late=True)
    assert walk.state.parked
    assert walk.blocked == 86401.0


def test_a_success_between_refusals_parks_nobody() -> None:
    """Twenty refusals with good answers between them are not in a row."""
    walk = Walk(DEFAULT)
    for _ in range(20):
        walk.refuse(1.0)
        walk.sit_out()
        walk.answer()
    assert not walk.state.parked


# delay in force, softer ladder after each failure in a row
SOFTER = [
    (1.0, [2, 4, 8, 16, 32, 64, 128, 256, 512, 600, 600]),
    (45.0, [90, 180, 360, 600]),
    (0.0, [0.2, 0.4, 0.8]),
    (900.0, [600, 600]),
]


@pytest.mark.parametrize(("delay", "ladder"), SOFTER)
def test_trouble_doubles_the_delay(delay: float, ladder: list[float]) -> None:
    """Each failure doubles the delay, from a tenth of a second to ten minutes."""
    walk = Walk(delay=delay)
    assert [walk.fail() for _ in ladder] == pytest.approx(ladder)


# failures in a row at a delay of 1 s, softer ladder after each good answer that follows
RECOVERY: dict[int, list[float]] = {
    1: [2, 2, 2, 2, 1.625, 1.625, 1.625, 1.625, 1.625, 1.4375],
    2: [2, 2, 2, 2, 1.625],
    5: [16, 8, 4, 2, 1.625, 1.625],
    20: [300, 150, 75, 37.5, 18.75, 9.375, 4.6875, 2.34375, 2.34375, 1.796875],
}


@pytest.mark.parametrize(("failures", "ladder"), RECOVERY.items())
def test_recovery(failures: int, ladder: list[float]) -> None:
    """Far above the delay that failed each answer halves; near it every fifth takes a step."""
    walk = Walk(delay=1.0)
    for _ in range(failures):
        walk.fail()
    assert [walk.answer() for _ in ladder] == ladder


def test_recovery_stays_above_the_delay_that_failed() -> None:
    """After a thousand good answers the delay is still a quarter above the one that failed."""
    walk = Walk(delay=8.0)
    walk.fail()
    ladder = [walk.answer() for _ in range(1000)]
    assert ladder == sorted(ladder, reverse=True)
    assert ladder[-1] == pytest.approx(8.0 * MARGIN)


def test_failures_in_a_row_teach_the_first_delay_only() -> None:
    """A host that is down fails at any delay, so recovery does not stop at those."""
    walk = Walk(delay=1.0)
    for _ in range(9):
        walk.fail()
    assert walk.state.failed_delay == 1.0


def test_a_failure_after_recovery_teaches_more() -> None:
    """What fails again after good answers raises what recovery stays above."""
    walk = Walk(delay=1.0)
    walk.fail()
    for _ in range(5):
        walk.answer()
    assert walk.fail() == 3.25
    assert walk.state.failed_delay == 1.625


# how it failed, quiet seconds after it, softer ladder that is left
REMEMBERED: dict[str, tuple[str, float, float]] = {
    "trouble": ("fail", QUIET, 2.0),
    "trouble, quiet for longer": ("fail", QUIET + 1.0, 0.0),
    "a refusal": ("refuse", QUIET, 2.0),
    "a refusal, quiet for longer": ("refuse", QUIET + 1.0, MARGIN),
    "a refusal of yesterday": ("refuse", MEMORY, MARGIN),
    "a refusal of before": ("refuse", MEMORY + 1.0, 0.0),
}


@pytest.mark.parametrize(("how", "quiet", "left"), REMEMBERED.values(), ids=REMEMBERED)
def test_what_is_remembered(how: str, quiet: float, left: float) -> None:
    """A delay that was refused is remembered for a day, one that failed otherwise for 1800 s."""
    walk = Walk(delay=1.0)
    getattr(walk, how)()
    walk.sit_out()
    walk.wait(quiet)
    assert backoff.forgotten(walk.state, walk.now).trouble == left


def test_nothing_is_remembered_of_a_host_that_only_answers() -> None:
    """A good answer leaves no trace, so that stores can forget such hosts."""
    walk = Walk()
    walk.answer()
    assert walk.state == Backoff()


EVENTS = st.lists(
    st.tuples(
        st.sampled_from(["refuse", "late", "fail", "answer"]),
        st.floats(0.0, 5000.0),
        st.none() | st.floats(0.001, 1e6),
    ),
    max_size=40,
)


@given(EVENTS, st.floats(0.0, 1000.0))
def test_whatever_happens(events: list[tuple[str, float, float | None]], delay: float) -> None:
    """Blocks last as long as anybody asked and never end early; all numbers stay in bounds."""
    walk = Walk(DEFAULT, delay=delay)
    for event, pause, asked in events:
        walk.wait(pause)
        ends_at = walk.state.until_at
        if event in ("refuse", "late"):
            assert walk.refuse(asked, late=event == "late") >= (asked or 0.0) * 0.999_999
        else:
            getattr(walk, event)()
        state = walk.state
        assert state.until_at >= ends_at or walk.now - ends_at > MEMORY
        assert 0.0 <= state.rung <= DEFAULT.maximum
        assert state.failed_delay <= state.trouble <= TROUBLE_MAX
        numbers = replace(state, asked=state.asked or 0.0)
        assert all(math.isfinite(getattr(numbers, name)) for name in Backoff.__slots__)
