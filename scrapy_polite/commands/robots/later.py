"""What each later answer to /robots.txt would mean, after the one that came now.

The meanings are not written down here: the policy of a crawl is asked, on a clock of its own.

Source: RFC 9309 sections 2.3.1 and 2.4.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from scrapy_polite.config import Config
from scrapy_polite.policy import robots_cache as cache
from scrapy_polite.policy.robots_access import access_of
from scrapy_polite.policy.robots_cache import RobotsRecord, Standing
from scrapy_polite.report.words import span

_MEANINGS = {
    Standing.ALLOWED: "everything is allowed, whatever is in the body",
    Standing.DISALLOWED: "nothing is allowed (POLITE_ROBOTS_FORBIDDEN)",
}


@dataclass(frozen=True, slots=True)
class Prospect:
    """One kind of answer and what stands after it.

    Attributes:
        answers: which answers, as a person says it.
        standing: what stands then.
        sentence: what that means.
    """

    answers: str
    standing: Standing
    sentence: str


def prospects(record: RobotsRecord, config: Config) -> Iterator[Prospect]:
    """Yield what may come after *record*; its clock starts at 0.

    >>> from scrapy.settings import Settings
    >>> from scrapy_polite.config import read
    >>> config = read(Settings({"POLITE_ALLOW_ANONYMOUS": True}))
    >>> [str(p.standing.value) for p in prospects(RobotsRecord("https://site.example"), config)]
    ['rules', 'allowed', 'unreachable']
    """
    again_after = span(record.fresh_until_at)
    yield Prospect(
        "2xx", Standing.RULES, f"its rules count once it is read again, {again_after} from now"
    )
    forbidden, missing = (_conclusive(record.origin, status, config) for status in (403, 404))
    if forbidden is missing:
        yield Prospect("4xx but 429", missing, _MEANINGS[missing])
    else:
        yield Prospect("401, 403", forbidden, _MEANINGS[forbidden])
        yield Prospect("other 4xx but 429", missing, _MEANINGS[missing])
    yield _unreachable(record, config)


def _conclusive(origin: str, status: int, config: Config) -> Standing:
    access = access_of(status, forbidden=config.robots_forbidden)
    record = cache.answered(origin, access, now=0.0, fresh_for=0.0, status=status)
    return cache.standing(record, 0.0, config.ages)


def _unreachable(record: RobotsRecord, config: Config) -> Prospect:
    then = cache.unreachable(record, record.origin, now=0.0, status=503)
    standing = cache.standing(then, 0.0, config.ages)
    limit = span(config.ages.stale_age)
    if standing is Standing.RULES:
        sentence = f"the copy of today serves until it is {limit} old"
    elif standing is Standing.DISALLOWED:
        sentence = f"the ban of today stands until it is {limit} old"
    else:
        hold = span(config.robots_hold)
        sentence = f"nothing is allowed: pages wait for {hold}, then they are dropped"
    sentence += f"; a file unreachable for more than {limit} counts as missing: all is allowed"
    return Prospect("429, 5xx, no answer", standing, sentence)
