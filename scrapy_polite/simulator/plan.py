"""What is to be simulated: hosts, places, rules, and what goes wrong on the way.

Durations are seconds, shares lie in [0, 1].  The same plan gives the same result.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

from scrapy_polite.policy.host import HostRules
from scrapy_polite.policy.robots_cache import Ages


@dataclass(frozen=True, slots=True)
class HostPlan:
    """What a crawl wants of one host, and how the host answers.

    Args:
        pages: how many pages are queued from the start.
        latency: seconds that a fetch takes.
        spread: how far fetches stray from that, as a share of it, up and down.
        robots_latency: seconds that robots.txt takes; None when it is not needed.
        crawl_delay: what robots.txt asks for in seconds.

    Raises:
        ValueError: a number is out of range.
    """

    pages: int = 1
    latency: float = 0.5
    spread: float = 0.0
    robots_latency: float | None = None
    crawl_delay: float = 0.0

    def __post_init__(self) -> None:
        _check(self.pages >= 0, "pages", self.pages)
        _check(0 <= self.latency < math.inf, "latency", self.latency)
        _check(0 <= self.spread <= 1, "spread", self.spread)
        _check(0 <= (self.robots_latency or 0) < math.inf, "robots_latency", self.robots_latency)
        _check(0 <= self.crawl_delay < math.inf, "crawl_delay", self.crawl_delay)


@dataclass(frozen=True, slots=True)
class Plan:
    """A crawl to simulate.

    Args:
        hosts: the hosts; one object may stand for many of them.
        places: page fetches in flight (CONCURRENT_REQUESTS).
        robots_places: robots.txt fetches in flight beside them (POLITE_ROBOTS_CONCURRENCY).
        rules: the numbers of the rule.
        ages: how long a robots.txt is fresh.
        failures: share of fetches that fail; a failed page is not repeated.
        refusals: share of fetches that are refused; a refused page goes back to its queue.
        retry_after: what refusals ask for in seconds; None when they do not say.
        until: the crawl is cut off after so many seconds.
        keep: how many fetches the log keeps, the first ones.
        seed: of the random numbers.

    Raises:
        ValueError: a number is out of range.
    """

    hosts: Sequence[HostPlan]
    places: int = 16
    robots_places: int = 64
    rules: HostRules = field(default_factory=HostRules)
    ages: Ages = field(default_factory=Ages)
    failures: float = 0.0
    refusals: float = 0.0
    retry_after: float | None = None
    until: float = math.inf
    keep: int = 0
    seed: int = 0

    def __post_init__(self) -> None:
        _check(self.places > 0, "places", self.places)
        _check(self.robots_places > 0, "robots_places", self.robots_places)
        _check(self.failures >= 0, "failures", self.failures)
        _check(self.refusals >= 0, "refusals", self.refusals)
        _check(self.failures + self.refusals <= 1, "failures + refusals", "more than 1")


def _check(is_good: bool, name: str, value: object) -> None:
    if not is_good:
        raise ValueError(f"{name} of a plan cannot be {value}.")
