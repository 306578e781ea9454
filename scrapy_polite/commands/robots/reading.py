"""What one robots.txt says to one crawler, wherever it came from.

Rules:

- From a file, its rules count. From a site the answer decides, as in a crawl: the rules, everything
  allowed, nothing allowed, or nothing allowed until the file can be read.
- Of what cannot be read nothing can be told: the verdict is None.

Source: RFC 9309 sections 2.2.2 and 2.3.1.
"""

from __future__ import annotations

from dataclasses import dataclass

from scrapy_polite.config import Config
from scrapy_polite.policy import robots_cache as cache
from scrapy_polite.policy.robots_cache import RobotsRecord, Standing
from scrapy_polite.robots import hints
from scrapy_polite.robots.groups import EVERYONE, Group, select
from scrapy_polite.robots.preferences import Wish
from scrapy_polite.robots.rules import Reason, RobotsRules, Verdict
from scrapy_polite.runtime.robots_answer import Answer, record_of

_REASONS = {
    Standing.ALLOWED: (True, "unavailable", "allowed: there are no rules"),
    Standing.DISALLOWED: (
        False,
        "forbidden",
        "disallowed: the site forbids its robots.txt (POLITE_ROBOTS_FORBIDDEN)",
    ),
    Standing.UNREACHABLE: (
        None,
        "unreachable",
        "cannot be told: robots.txt cannot be read, and until it can a crawl fetches nothing",
    ),
}


@dataclass(frozen=True, slots=True)
class Ruling:
    """The verdict on one page.

    Attributes:
        allowed: None when it cannot be told.
        reason: a word for machines.
        sentence: the verdict and what decided it, for people.
        verdict: the group, line and rule that decided; None when there are no rules.
    """

    allowed: bool | None
    reason: str
    sentence: str
    verdict: Verdict | None = None


@dataclass(frozen=True, slots=True)
class Reading:
    """What a robots.txt says to the crawler called *token*.

    Attributes:
        rules: the file, empty when none counts.
        record: what a crawl would remember of the answer; None for a file.
    """

    token: str
    rules: RobotsRules
    standing: Standing = Standing.RULES
    record: RobotsRecord | None = None

    @classmethod
    def of_answer(
        cls, answer: Answer, origin: str, token: str, config: Config, *, wall: float
    ) -> Reading:
        """Return the reading of what a site answered; *wall* is now, in epoch seconds."""
        record = record_of(answer, origin, None, now=0.0, wall=wall, ages=config.ages)
        standing = cache.standing(record, 0.0, config.ages)
        has_rules = standing is Standing.RULES and answer.response is not None
        body = answer.response.body if has_rules and answer.response else b""
        return cls(token, RobotsRules(body), standing, record)

    def ruling(self, url: str) -> Ruling:
        """Return the verdict on a URL or path."""
        if self.standing is not Standing.RULES:
            return Ruling(*_REASONS[self.standing])
        verdict = self.rules.explain(url, self.token)
        sentence = str(verdict)
        if verdict.reason is Reason.NO_GROUP and self.token == EVERYONE:
            sentence = "allowed: there is no group for *"
        return Ruling(verdict.allowed, verdict.reason.name.lower(), sentence, verdict)

    def usage(self, url: str) -> dict[str, Wish]:
        """Return what may be done with a URL or path, by label."""
        return self.rules.usage(url, self.token)

    def group(self) -> Group:
        """Return the group that applies, with its rules."""
        return select(self.rules.file.records(), self.token)

    def crawl_delay(self) -> float | None:
        """Return the wait in seconds that the file asks for, not capped; None without one."""
        return hints.delay(self.rules.group(self.token).hints)

    def crawl_delay_line(self) -> int | None:
        """Return the line that asks for that wait, the first if there are several."""
        asked, said = self.crawl_delay(), self.rules.group(self.token).hints
        if asked is None:
            return None
        lines = {(hint.key, hint.value): hint.line for hint in reversed(said)}  # each value once
        return min(line for value, line in lines.items() if hints.seconds(*value) == asked)
