"""How long an answer to /robots.txt stands: a walk through months on a fake clock.

Rules: an `Origin` is asked whenever the file is due, and answers as its test says. Instants are in
seconds since the walk began; DAY and HOUR are seconds.
"""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_polite.policy import robots_cache as cache
from scrapy_polite.policy.robots_access import Access
from scrapy_polite.policy.robots_cache import Ages, RobotsRecord, Standing

HOUR, DAY = 3600.0, 86400.0
AGES = Ages()
URL = "http://site.test"
BODY = b"User-agent: *\nDisallow: /private\n"


class Origin:
    """One origin and what we know of its robots.txt; `asked` counts fetches."""

    def __init__(self, access: Access | None = None, *, fresh_for: float = DAY) -> None:
        self.now, self.asked = 0.0, 0
        self.record: RobotsRecord | None = None
        if access is not None:
            self.answer(access, fresh_for=fresh_for)

    @property
    def standing(self) -> Standing:
        return cache.standing(self.record, self.now, AGES)

    @property
    def is_due(self) -> bool:
        return cache.is_due(self.record, self.now)

    def answer(self, access: Access, *, fresh_for: float = DAY) -> None:
        self.record = cache.answered(
            URL,
            access,
            now=self.now,
            fresh_for=fresh_for,
            status=200,
            body=BODY,
            etag='"1"',
            last_modified="Mon, 05 Oct 2026 12:00:00 GMT",
        )

    def confirm(self) -> None:
        assert self.record is not None
        self.record = cache.confirmed(self.record, now=self.now, fresh_for=DAY)

    def fail(self, status: int | None = 503, retry_after: float | None = None) -> float:
        """Be unreachable; return after how many seconds it is asked again."""
        self.record = cache.unreachable(
            self.record, URL, now=self.now, status=status, retry_after=retry_after
        )
        return self.record.fresh_until_at - self.now

    def be_unreachable_until(self, instant: float) -> None:
        """Ask in vain, whenever the file is due, up to an instant."""
        while self.record is not None and (due_at := self.record.fresh_until_at) <= instant:
            self.now = max(due_at, self.now)
            self.fail()
            self.asked += 1
        self.now = instant


def test_rfc9309_2_4_fresh_then_due() -> None:
    """A file is asked for at first, left alone while fresh, and due again after its 24 hours."""
    origin = Origin()
    assert (origin.is_due, origin.standing) == (True, Standing.UNKNOWN)
    origin.answer(Access.SUCCESSFUL)
    for origin.now, is_due in [(0.0, False), (DAY - 1.0, False), (DAY, True), (9 * DAY, True)]:
        assert (origin.is_due, origin.standing) == (is_due, Standing.RULES)


# the conclusive answer, what stands, whether its body is kept
CONCLUSIVE = [
    (Access.SUCCESSFUL, Standing.RULES, True),
    (Access.UNAVAILABLE, Standing.ALLOWED, False),
    (Access.FORBIDDEN, Standing.DISALLOWED, False),
]


@pytest.mark.parametrize(("access", "standing", "is_kept"), CONCLUSIVE)
def test_rfc9309_2_3_1_conclusive_answers(
    access: Access, standing: Standing, is_kept: bool
) -> None:
    """A conclusive answer stands; body and validators are kept of a good copy only."""
    origin = Origin(access)
    record = origin.record
    assert origin.standing is standing
    assert record is not None
    assert [bool(record.body), bool(record.etag), bool(record.last_modified)] == [is_kept] * 3


def test_rfc9110_15_4_5_revalidated() -> None:
    """A 304 makes the copy at hand fresh again, and ends what was unreachable."""
    origin = Origin(Access.SUCCESSFUL)
    origin.be_unreachable_until(3 * DAY)
    origin.confirm()
    assert (origin.is_due, origin.standing) == (False, Standing.RULES)
    record = origin.record
    assert record is not None
    assert (record.body, record.etag, record.status) == (BODY, '"1"', 304)
    assert (record.failures, record.unreachable_since_at) == (0, None)
    origin.now += DAY
    assert origin.is_due


# days after the good copy, what stands; the file was last reached at 0 and due after one day
MONTH = [
    (0.5, Standing.RULES),
    (1.0, Standing.RULES),
    (15.0, Standing.RULES),
    (30.0, Standing.RULES),
    (30.01, Standing.UNREACHABLE),
    (31.0, Standing.UNREACHABLE),
    (31.01, Standing.ALLOWED),
    (60.0, Standing.ALLOWED),
]


def test_rfc9309_2_3_1_4_thirty_one_days() -> None:
    """The copy serves until it is 30 days old; once unreachable for 30 days nothing is forbidden.

    The file is due after a day, so it counts as unreachable from then on.
    """
    origin = Origin(Access.SUCCESSFUL)
    for day, standing in MONTH:
        origin.be_unreachable_until(day * DAY)
        assert (day, origin.standing) == (day, standing)
    assert origin.asked >= 59 * 24, "it is still asked for every hour"
    origin.answer(Access.SUCCESSFUL)
    assert origin.standing is Standing.RULES


def test_a_revalidated_copy_is_as_good_as_new() -> None:
    """Thirty days count from the last 304, not from the day of the download."""
    origin = Origin(Access.SUCCESSFUL)
    origin.now = 20 * DAY
    origin.confirm()
    seen = []
    for instant in (45 * DAY, 50 * DAY, 50 * DAY + 1.0):
        origin.be_unreachable_until(instant)
        seen.append(origin.standing)
    assert seen == [Standing.RULES, Standing.RULES, Standing.UNREACHABLE]


def test_a_copy_that_was_too_old_when_the_trouble_began() -> None:
    """A copy of 40 days ago does not serve, and the 30 days run from the first failure."""
    origin = Origin(Access.SUCCESSFUL)
    origin.now = 40 * DAY
    origin.fail()
    seen = []
    for origin.now in (40 * DAY, 70 * DAY, 70 * DAY + 1.0):
        seen.append(origin.standing)
    assert seen == [Standing.UNREACHABLE, Standing.UNREACHABLE, Standing.ALLOWED]


# the last conclusive answer, what stands from the first failure on, after 30 days, and 30 days on
WITHOUT_COPY: list[tuple[Access | None, Standing, Standing, Standing]] = [
    (None, Standing.UNREACHABLE, Standing.UNREACHABLE, Standing.ALLOWED),
    (Access.UNAVAILABLE, Standing.UNREACHABLE, Standing.UNREACHABLE, Standing.ALLOWED),
    (Access.FORBIDDEN, Standing.DISALLOWED, Standing.UNREACHABLE, Standing.ALLOWED),
]


@pytest.mark.parametrize(("access", "first", "month", "later"), WITHOUT_COPY)
def test_rfc9309_2_3_1_4_complete_disallow(
    access: Access | None, first: Standing, month: Standing, later: Standing
) -> None:
    """Without a good copy everything is disallowed for 30 days, whatever was known before."""
    origin = Origin(access)
    origin.now = DAY
    origin.fail()
    seen = [origin.standing]
    for origin.now in (31 * DAY, 31 * DAY + 1.0):
        seen.append(origin.standing)
    assert seen == [first, month, later]


def test_errors_are_asked_again_after_a_minute_doubling_to_an_hour() -> None:
    """The retry times double from 60 s to 3600 s and stay there."""
    origin = Origin()
    waits = []
    for _ in range(9):
        waits.append(origin.fail())
        origin.now += waits[-1]
        assert origin.is_due
        origin.now -= 0.001
        assert not origin.is_due
        origin.now += 0.001
    assert waits == pytest.approx([60, 120, 240, 480, 960, 1920, 3600, 3600, 3600])


def test_a_thousand_failures_are_no_overflow() -> None:
    """The doubling is bounded however often it happens."""
    origin = Origin()
    assert [origin.fail() for _ in range(1100)][-1] == 3600.0


def test_an_answer_ends_the_doubling() -> None:
    """After a conclusive answer the next failure is the first again."""
    origin = Origin()
    origin.fail()
    origin.fail()
    origin.answer(Access.UNAVAILABLE)
    assert origin.fail() == 60.0


def test_rfc9110_10_2_3_retry_after() -> None:
    """A Retry-After says when to ask again, and the failure counts for the doubling."""
    origin = Origin()
    assert origin.fail(retry_after=7200.0) == 7200.0
    assert origin.fail(retry_after=5.0) == 5.0
    assert origin.fail() == 240.0


def test_no_answer_has_no_status() -> None:
    """A dropped connection counts as a failure like any other, its status is None."""
    origin = Origin()
    assert origin.fail(status=None) == 60.0
    assert origin.record is not None
    assert origin.record.status is None


# Cache-Control, for how many seconds the answer is fresh
CACHE_CONTROL: dict[str | None, float] = {
    None: DAY,
    "": DAY,
    "public": DAY,
    "max-age=7200": 7200.0,
    "MAX-AGE=7200": 7200.0,
    "public, max-age=7200": 7200.0,
    "max-age = 7200 , must-revalidate": 7200.0,
    'max-age="7200"': 7200.0,
    "max-age=7200; public": 7200.0,
    "max-age=007200": 7200.0,
    "max-age=0": HOUR,
    "max-age=3599": HOUR,
    "max-age=86401": DAY,
    "max-age=99999999999999999999": DAY,
    "max-age=" + "9" * 10_000: DAY,
    "no-store": HOUR,
    "no-cache, max-age=7200": HOUR,
    "max-age=7200, no-store": HOUR,
    "s-maxage=7200": DAY,
    "x-max-age=7200": DAY,
    "x-no-store": DAY,
    "max-age=7200, max-age=9000": 7200.0,
    "max-age": HOUR,
    "max-age=": HOUR,
    "max-age=-1": HOUR,
    "max-age=1.5": HOUR,
    "max-age=+7200": HOUR,
    "max-age=soon": HOUR,
    "max-age=\u0667\u0662\u0660\u0660": HOUR,
    "max-age=nan": HOUR,
    "max-age=inf": HOUR,
}


@pytest.mark.parametrize(("cache_control", "seconds"), CACHE_CONTROL.items())
def test_rfc9111_5_2_2_max_age(cache_control: str | None, seconds: float) -> None:
    """max-age is heard between an hour and a day; what cannot be read means: soon stale."""
    assert cache.fresh_for(cache_control, AGES) == seconds


DIRECTIVES = st.one_of(
    st.text(),
    st.text(alphabet='maxge-=,; "0123456789nostrch.', max_size=40),
    st.floats().map("max-age={}".format),
    st.integers().map("public, max-age={}".format),
)
SECONDS = st.floats(0.0, 1e9)


@given(st.none() | DIRECTIVES, SECONDS, SECONDS)
def test_fuzz_freshness_is_bounded(cache_control: str | None, one: float, other: float) -> None:
    """Whatever the header says, freshness is a number within the bounds."""
    ages = Ages(max_age=max(one, other), min_age=min(one, other))
    assert ages.min_age <= cache.fresh_for(cache_control, ages) <= ages.max_age


ANSWERS = {
    "rules": Access.SUCCESSFUL,
    "forbidden": Access.FORBIDDEN,
    "missing": Access.UNAVAILABLE,
}
STEPS = st.lists(
    st.tuples(
        st.sampled_from([*ANSWERS, "failure"]),
        st.floats(0.0, 40 * DAY),
        st.none() | st.floats(1.0, 1e6),
    ),
    max_size=20,
)


@given(STEPS)
def test_fuzz_walk(steps: list[tuple[str, float, float | None]]) -> None:
    """Everything is allowed only after an answer that says so, or 30 days without any."""
    origin, reached_at = Origin(), 0.0
    for step, pause, asked in steps:
        origin.now += pause
        if step in ANSWERS:
            origin.answer(ANSWERS[step])
            reached_at = origin.now
        else:
            origin.fail(retry_after=asked)
        if origin.standing is Standing.ALLOWED:
            assert step == "missing" or origin.now - reached_at > AGES.stale_age


def test_no_word_keeps_a_file_from_being_asked_for_beyond_what_stands() -> None:
    """A Retry-After of a year counts for 30 days, after which the file would be unavailable; what
    was read is due in a day, whatever was kept; an answer from the future is of now."""
    failed = cache.unreachable(None, "http://h", now=0.0, status=500, retry_after=365 * DAY)
    assert cache.bounded(failed, 0.0, AGES).fresh_until_at == AGES.stale_age
    sound = cache.unreachable(None, "http://h", now=0.0, status=500, retry_after=DAY)
    assert cache.bounded(sound, 0.0, AGES) is sound
    later = cache.answered(
        "http://h", Access.SUCCESSFUL, now=9 * DAY, fresh_for=DAY, status=200, body=b"x"
    )
    found = cache.bounded(later, 0.0, AGES)
    assert (found.fresh_until_at, found.answered_at, found.body) == (AGES.max_age, 0.0, b"x")
