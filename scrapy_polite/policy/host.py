"""What one fetch teaches about a host: its next delay, its block, its ladder.

This is where the rule of `delay` and the ladders of `backoff` meet.  The state is what a store
keeps of a host between turns; its instants are in the store's clock.

A failure teaches which delay is too short.  But one slow answer before it must not teach minutes,
and pages that always fail must not slow their host down without end: one failure teaches at most
twice the delay that lasts (floor, crawl delay, softer ladder), and failures that are no refusals
never more than twice the delay that the host's answers give.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass, field

from scrapy_polite.policy import backoff
from scrapy_polite.policy.backoff import Backoff, BackoffRules
from scrapy_polite.policy.delay import DelayRules, delay_after, jittered

BLOCKED = "backoff"
LESSON = 2.0  # a failure teaches at most this many times the host's own delay
LEAST_USUAL = 1.0  # seconds; the shortest delay that the lessons of trouble are measured by


class Outcome(enum.Enum):
    """How a fetch ended."""

    ANSWERED = "answered"
    REFUSED = "refused"
    TROUBLED = "troubled"


@dataclass(frozen=True, slots=True)
class HostRules:
    """All numbers that decide a host's next turn."""

    delay: DelayRules = field(default_factory=DelayRules)
    backoff: BackoffRules = field(default_factory=BackoffRules)


@dataclass(frozen=True, slots=True)
class HostState:
    """What is remembered of a host between its turns.

    Args:
        duration: the last measured fetch in seconds; None before the first.
        delay: the delay in force in seconds, before jitter; None before the first fetch.
        backoff: refusals and trouble.
    """

    duration: float | None = None
    delay: float | None = None
    backoff: Backoff = field(default_factory=Backoff)


@dataclass(frozen=True, slots=True)
class Fetch:
    """One fetch as it went over the wire; instants are in the store's clock.

    Args:
        retry_after: usable Retry-After of a refusal in seconds; None without one.
        learn: False keeps the delay as it was (``autothrottle_dont_adjust_delay``).
        floor: floor for this host in seconds (DOWNLOAD_SLOTS).
        crawl_delay: what the host's robots.txt files ask for in seconds.
    """

    started_at: float
    ended_at: float
    outcome: Outcome = Outcome.ANSWERED
    retry_after: float | None = None
    learn: bool = True
    floor: float = 0.0
    crawl_delay: float = 0.0

    @property
    def duration(self) -> float:
        """Seconds on the wire, never negative."""
        return max(self.ended_at - self.started_at, 0.0)


@dataclass(frozen=True, slots=True)
class Turn:
    """When a host may be asked again.

    Args:
        state: what to remember of the host.
        wait: seconds from the end of the fetch, jitter included.
        reason: the part of the rule that decided.
        capped: True when the ceiling cut the promise of factor x duration.
    """

    state: HostState
    wait: float
    reason: str
    capped: bool = False


def after_fetch(state: HostState, fetch: Fetch, rules: HostRules, random: float) -> Turn:
    """Return the host's next turn after a fetch; *random* lies in [0, 1).

    >>> after_fetch(HostState(), Fetch(100.0, 100.5), HostRules(), 0.0).wait
    5.0
    """
    memory = _remember(state, fetch, rules)
    duration = fetch.duration if fetch.learn else state.duration
    delay = delay_after(
        rules.delay,
        duration,
        floor=fetch.floor,
        crawl_delay=fetch.crawl_delay,
        trouble=memory.trouble,
    )
    wait, reason = jittered(rules.delay, delay.seconds, random), delay.reason
    blocked = memory.until_at - fetch.ended_at
    if blocked > wait:
        wait, reason = blocked, BLOCKED
    kept = HostState(duration, delay.seconds, memory)
    return Turn(kept, wait, reason, delay.capped)


def _remember(state: HostState, fetch: Fetch, rules: HostRules) -> Backoff:
    now = fetch.ended_at
    memory = backoff.forgotten(state.backoff, now)
    if fetch.outcome is Outcome.ANSWERED:
        # An answer to what was sent before the block is no probe and opens nothing.
        is_late = fetch.started_at < memory.began_at
        return memory if is_late else backoff.succeeded(memory, now=now)
    # The ladder starts from the delay that the host's answers gave, not from the softer ladder.
    usual = delay_after(
        rules.delay, state.duration, floor=fetch.floor, crawl_delay=fetch.crawl_delay
    ).seconds
    in_force = usual if state.delay is None else state.delay
    lasting = max(rules.delay.floor, fetch.floor, fetch.crawl_delay, memory.trouble)
    lesson = min(in_force, LESSON * max(lasting, backoff.TROUBLE_START))
    if fetch.outcome is Outcome.TROUBLED:
        lesson = min(lesson, LESSON * max(usual, LEAST_USUAL))
        return backoff.troubled(memory, now=now, delay=in_force, lesson=lesson)
    return backoff.refused(
        memory,
        rules.backoff,
        now=now,
        sent_at=fetch.started_at,
        retry_after=fetch.retry_after,
        first=backoff.first_wait(rules.backoff, usual),
        delay=in_force,
        lesson=lesson,
    )
