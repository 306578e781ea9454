"""How long a host is left alone after a fetch.

The rule (all seconds, before jitter)::

    delay = max(floor, crawl delay, min(factor x duration, ceiling), trouble)

*duration* runs from the moment the request was handed to the network to the last octet of
the body, to the error or to the timeout.  The wait starts at the *end* of the fetch, so with
factor 10 a host is occupied for at most 1/11 of the time.  Jitter only ever lengthens a wait.

Source: A. Heydon, M. Najork, "Mercator: A scalable, extensible Web crawler" (1999), section 3.2.
"""

from __future__ import annotations

from dataclasses import dataclass

CRAWL_DELAY = "crawl-delay"
DURATION = "duration"
FLOOR = "floor"
TROUBLE = "trouble"


@dataclass(frozen=True, slots=True)
class DelayRules:
    """The numbers of the rule, as the settings give them.

    Args:
        factor: wait this many times the duration of the last fetch (POLITE_DELAY_FACTOR).
        floor: the least wait in seconds (the larger of POLITE_MIN_DELAY and DOWNLOAD_DELAY).
        ceiling: the most that factor x duration may ask for, in seconds (AUTOTHROTTLE_MAX_DELAY).
        jitter: the largest lengthening, as a fraction of the wait (POLITE_JITTER).
        start_floor: floor in seconds until a first fetch was measured (AUTOTHROTTLE_START_DELAY).
    """

    factor: float = 10.0
    floor: float = 1.0
    ceiling: float = 600.0
    jitter: float = 0.1
    start_floor: float = 0.0


@dataclass(frozen=True, slots=True)
class Delay:
    """A wait in seconds, before jitter, and the part of the rule that decided it."""

    seconds: float
    reason: str
    capped: bool = False


def delay_after(
    rules: DelayRules,
    duration: float | None,
    *,
    floor: float = 0.0,
    crawl_delay: float = 0.0,
    trouble: float = 0.0,
) -> Delay:
    """Return the wait that follows a fetch.

    Args:
        rules: the numbers of the rule.
        duration: length of the fetch in seconds; None when none was measured yet.
        floor: a further floor for this host in seconds (DOWNLOAD_SLOTS).
        crawl_delay: what robots.txt asks for in seconds; 0 when it asks for nothing.
        trouble: what earlier failures of the host ask for in seconds.

    >>> delay_after(DelayRules(), 0.5)
    Delay(seconds=5.0, reason='duration', capped=False)
    >>> delay_after(DelayRules(), 0.5, crawl_delay=8)
    Delay(seconds=8, reason='crawl-delay', capped=False)
    """
    measured = rules.factor * duration if duration is not None else rules.start_floor
    parts = {
        FLOOR: max(rules.floor, floor),
        DURATION: min(measured, rules.ceiling),
        CRAWL_DELAY: crawl_delay,
        TROUBLE: trouble,
    }
    reason = max(parts, key=parts.__getitem__)
    seconds = parts[reason]
    return Delay(seconds, reason, capped=measured > rules.ceiling and seconds < measured)


def jittered(rules: DelayRules, seconds: float, random: float) -> float:
    """Return *seconds* lengthened by at most the jitter; *random* lies in [0, 1).

    >>> jittered(DelayRules(jitter=0.1), 10.0, 0.5)
    10.5
    """
    return seconds * (1.0 + rules.jitter * random)
