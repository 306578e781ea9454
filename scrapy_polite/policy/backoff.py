"""What a refusal (429, 503) and other trouble of a host mean for its next turns.

A refusal blocks the host.  A usable Retry-After is a floor that nothing shortens; without one
the ladder applies: ``max(minimum, 10 x usual delay)``, doubling with each refusal episode up
to the maximum.  Requests that were sent before the block began belong to its episode.  After the
wait one probe goes first, and only its success opens the host again; when it fails otherwise, the
last rung is waited once more.  Episodes are forgotten after 1800 quiet seconds.  A host that asks
for too long, or refuses too often in a row, is parked.

Trouble, that is a refusal or a timeout, a broken connection, another 5xx, doubles the host's delay,
at most to ten minutes.  Recovery goes in steps, wide ones first, and stays above the delay that
failed, so the delay does not saw up and down.  Only the first failure after good answers says
something about the delay: a host that is down fails at any.  What failed is forgotten after 1800
quiet seconds; a delay that was refused is remembered for a day, as rate limits last.

Source: RFC 9110 section 10.2.3 (Retry-After), section 15.6.4 (503); RFC 6585 section 4 (429).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from scrapy_polite.policy.retry_after import RETRY_AFTER_CAP

QUIET = 1800.0  # seconds after which episodes and trouble are forgotten
MEMORY = 86400.0  # seconds for which a delay that was refused is remembered
TROUBLE_MAX = 600.0  # seconds; the top of the softer ladder
TROUBLE_START = 0.1  # seconds; the lowest delay that trouble doubles, so that zero can grow
RECOVERY_STEP = 0.5  # a step down multiplies by this what lies above the goal
RECOVERY_RUN = 5  # good fetches before a step down when the delay that failed is near
LONGEST_BLOCK = 2.0 * RETRY_AFTER_CAP  # seconds; what is longer was kept by mistake
MARGIN = 1.25  # recovery stays above the delay that failed by this factor


@dataclass(frozen=True, slots=True)
class BackoffRules:
    """The numbers of the ladder, as the settings give them (seconds, and one count)."""

    minimum: float = 60.0
    maximum: float = 3600.0
    retry_after_max: float = 86400.0
    give_up: int = 8


@dataclass(frozen=True, slots=True)
class Backoff:
    """What is remembered of a host's refusals and trouble between its turns.

    Args:
        episodes: refusal episodes on the ladder; forgotten after quiet time.
        refusals: refusals in a row; a success sets it to 0.
        began_at: when the current or last block began.
        until_at: when it ends; the host is left alone before.
        rung: the ladder's last wait in seconds; the next episode doubles it.
        asked: what Retry-After asked for in seconds; None when it said nothing usable.
        parked: True when the host is not asked again in this run.
        trouble: the softer ladder's delay in seconds; 0 when there is none.
        failed_delay: the delay that failed, in seconds, which recovery stays above.
        calm: good fetches since the last failure.
        trouble_at: when the host last refused or failed.
    """

    episodes: int = 0
    refusals: int = 0
    began_at: float = 0.0
    until_at: float = 0.0
    rung: float = 0.0
    asked: float | None = None
    parked: bool = False
    trouble: float = 0.0
    failed_delay: float = 0.0
    calm: int = 0
    trouble_at: float = 0.0


def refused(
    state: Backoff,
    rules: BackoffRules,
    *,
    now: float,
    sent_at: float,
    retry_after: float | None,
    first: float,
    delay: float,
    lesson: float | None = None,
) -> Backoff:
    """Return the state after a refusal.

    Args:
        now: when the refusal was read.
        sent_at: when the refused request was sent; before the block began means the same episode.
        retry_after: usable Retry-After in seconds, None without one.
        first: the ladder's lowest rung for this host in seconds.
        delay: the delay in force that was refused, in seconds.
        lesson: the delay in seconds that recovery is to stay above; None: the one in force.
    """
    state = forgotten(state, now)
    asked = retry_after or 0.0
    if state.refusals and sent_at < state.began_at:
        return replace(
            state,
            until_at=max(state.until_at, now + asked),
            asked=max(state.asked or 0.0, asked) or None,
            parked=state.parked or asked > rules.retry_after_max,
        )
    rung, refusals = ladder(rules, first, state.rung), state.refusals + 1
    return replace(
        _slower(state, now=now, delay=delay, lesson=lesson),
        episodes=state.episodes + 1,
        refusals=refusals,
        rung=rung,
        began_at=now,
        until_at=max(state.until_at, now + (asked or rung)),
        asked=retry_after,
        parked=refusals >= rules.give_up or asked > rules.retry_after_max,
    )


def first_wait(rules: BackoffRules, delay: float) -> float:
    """Return the ladder's lowest rung in seconds; *delay* is what the host's answers gave.

    >>> first_wait(BackoffRules(), 1.0), first_wait(BackoffRules(), 30.0)
    (60.0, 300.0)
    """
    return max(rules.minimum, 10.0 * delay)


def ladder(rules: BackoffRules, first: float, last: float) -> float:
    """Return the next wait in seconds without a usable Retry-After.

    Args:
        first: the lowest rung in seconds.
        last: the wait of the episode before in seconds; 0 when this is the first.

    >>> ladder(BackoffRules(), 60.0, 0.0), ladder(BackoffRules(), 60.0, 60.0)
    (60.0, 120.0)
    >>> ladder(BackoffRules(), 60.0, 3000.0)
    3600.0
    """
    return min(max(first, 2.0 * last), rules.maximum)


def troubled(state: Backoff, *, now: float, delay: float, lesson: float | None = None) -> Backoff:
    """Return the state after a failure that is no refusal.

    Args:
        now: when the fetch failed.
        delay: the delay in force, in seconds.
        lesson: the delay in seconds that recovery is to stay above; None: the one in force.
    """
    state = _slower(forgotten(state, now), now=now, delay=delay, lesson=lesson)
    if not state.refusals:
        return state
    # This was the probe after a block, and it did not open the host.
    return replace(state, until_at=max(state.until_at, now + state.rung))


def succeeded(state: Backoff, *, now: float) -> Backoff:
    """Return the state after a fetch that was neither refused nor in trouble."""
    state = forgotten(state, now)
    if state.refusals or state.parked:
        state = replace(state, refusals=0, asked=None, parked=False)
    if not state.trouble:
        return state
    calm, bottom = state.calm + 1, state.failed_delay * MARGIN
    return replace(state, calm=calm, trouble=_recovered(state.trouble, bottom, calm))


def bounded(state: Backoff, now: float) -> Backoff:
    """Return the state without a block that ends later than any host can ask for.

    >>> bounded(Backoff(refusals=1, until_at=1e10), 0.0).until_at
    0.0
    """
    return state if state.until_at - now <= LONGEST_BLOCK else replace(state, until_at=now)


def forgotten(state: Backoff, now: float) -> Backoff:
    """Return the state without what quiet time wiped out.

    >>> forgotten(Backoff(episodes=3, trouble_at=10.0, until_at=70.0), 10.0 + QUIET).episodes
    3
    >>> forgotten(Backoff(episodes=3, trouble_at=10.0, until_at=70.0), 70.1 + QUIET).episodes
    0
    """
    if state == _NOTHING or now - max(state.trouble_at, state.until_at) <= QUIET:
        return state
    was_refused = state.until_at > 0.0
    if not was_refused or now - state.until_at > MEMORY:
        return _NOTHING
    return Backoff(
        until_at=state.until_at,
        trouble=state.failed_delay * MARGIN,
        failed_delay=state.failed_delay,
        calm=state.calm,
        trouble_at=state.trouble_at,
    )


def _slower(state: Backoff, *, now: float, delay: float, lesson: float | None) -> Backoff:
    delay, failed = max(delay, TROUBLE_START), state.failed_delay
    if state.calm or not state.trouble:  # not one of several failures in a row
        learnt = max(delay if lesson is None else lesson, TROUBLE_START)
        failed = max(failed, min(learnt, TROUBLE_MAX / 2.0))
    trouble = min(2.0 * delay, TROUBLE_MAX)
    return replace(state, trouble=trouble, failed_delay=failed, calm=0, trouble_at=now)


def _recovered(trouble: float, bottom: float, calm: int) -> float:
    """Return the softer ladder's delay after the *calm*-th good fetch, in seconds."""
    if trouble > 2.0 * bottom:
        return max(trouble * RECOVERY_STEP, bottom)
    if calm % RECOVERY_RUN:
        return trouble
    return bottom + (trouble - bottom) * RECOVERY_STEP


_NOTHING = Backoff()
