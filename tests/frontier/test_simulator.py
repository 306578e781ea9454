"""Simulated crawls: the frontier over hours and thousands of hosts, in seconds.

What is checked is the log of fetches alone; it is held against the plan by arithmetic of its own.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from random import Random
from typing import Any

import pytest

from scrapy_polite.frontier.hosts import Want
from scrapy_polite.policy.delay import DelayRules
from scrapy_polite.policy.host import HostRules, Outcome
from scrapy_polite.simulator import Fetched, HostPlan, Plan, Simulation, simulate

TEN_TIMES = HostRules(delay=DelayRules(factor=10.0, floor=0.0, jitter=0.0))
HALF_AN_HOUR, DAY = 1800.0, 86400.0


def by_host(log: Sequence[Fetched]) -> dict[int, list[Fetched]]:
    """Return the fetches of each host in the order in which they started."""
    hosts: dict[int, list[Fetched]] = defaultdict(list)
    for fetched in sorted(log, key=lambda f: f.started_at):
        hosts[fetched.host].append(fetched)
    return hosts


class FreeTime:
    """For how long a place was free, up to any instant."""

    def __init__(self, log: Sequence[Fetched], want: Want, places: int) -> None:
        steps = [(f.started_at, 1) for f in log if f.want is want]
        steps += [(f.ended_at, -1) for f in log if f.want is want]
        self.places, self.in_use = places, [0]
        self.at, self.free = [0.0], [0.0]
        for at, step in sorted(steps):
            self.free.append(self.until(at))
            self.at.append(at)
            self.in_use.append(self.in_use[-1] + step)
        assert max(self.in_use) <= places

    def until(self, at: float) -> float:
        found = bisect_right(self.at, at) - 1
        is_free = self.in_use[found] < self.places
        return self.free[found] + (at - self.at[found]) * is_free


def idle(log: Sequence[Fetched], plan: Plan) -> Iterator[str]:
    """Yield each time that a host was ready, and had pages left, while a place was free."""
    pages = FreeTime(log, Want.PAGE, plan.places)
    robots = FreeTime(log, Want.ROBOTS, plan.robots_places)
    hosts = by_host(log)
    for number, host in enumerate(plan.hosts):
        ready_at, known = 0.0, host.robots_latency is None
        for fetched in hosts[number]:
            free = robots if fetched.want is Want.ROBOTS else pages
            lost = free.until(fetched.started_at) - free.until(ready_at)
            if lost > 1e-6:
                yield f"host {number} ready at {ready_at}, {lost} s idle before {fetched}"
            known = known or fetched.outcome is Outcome.ANSWERED
            # How long an unreachable robots.txt is left alone is told by nobody but itself.
            unreachable = fetched.want is Want.ROBOTS and fetched.outcome is not Outcome.ANSWERED
            ready_at = plan.until if unreachable else fetched.ended_at + fetched.wait
        free = pages if known else robots
        lost = free.until(plan.until) - free.until(min(ready_at, plan.until))
        if lost > 1e-6:
            yield f"host {number} ready at {ready_at}, {lost} s idle before the end"


def many_hosts(places: int, slowest: float) -> Plan:
    """Return half an hour of 10,000 different hosts; of their fetches some fail or are refused."""
    random = Random(9309)
    return Plan(
        [
            HostPlan(
                pages=10_000,
                latency=random.uniform(0.05, slowest),
                spread=0.3,
                robots_latency=random.uniform(0.05, slowest),
                crawl_delay=random.choice((0.0, 0.0, 0.0, 30.0)),
            )
            for _ in range(10_000)
        ],
        places=places,
        robots_places=places,
        failures=0.05,
        refusals=0.02,
        until=HALF_AN_HOUR,
        keep=10_000_000,
        seed=1,
    )


@pytest.fixture(
    scope="module",
    params=[
        pytest.param((64, 4.0), id="few places"),
        pytest.param((1500, 40.0), id="places enough", marks=pytest.mark.slow),
    ],
)
def half_an_hour(request: pytest.FixtureRequest) -> tuple[Plan, Simulation]:
    plan = many_hosts(*request.param)
    return plan, simulate(plan)


HalfAnHour = tuple[Plan, Simulation]


def test_no_host_is_idle_while_a_place_is_free(half_an_hour: HalfAnHour) -> None:
    """10,000 hosts, half an hour: whoever is ready goes as soon as there is a place."""
    plan, crawl = half_an_hour
    assert len(by_host(crawl.log)) == 10_000
    assert crawl.parked == 0
    assert crawl.failed and crawl.refused
    # Fetches that were under way at the end are not in the log: look at the time before them.
    end = plan.until - 60.0
    early = [f for f in crawl.log if f.started_at < end]
    assert list(idle(early, replace(plan, until=end))) == []


def test_no_host_is_asked_early_or_twice_at_once(half_an_hour: HalfAnHour) -> None:
    """10,000 hosts, half an hour: every wait of the rule is kept, whatever else goes on."""
    _, crawl = half_an_hour
    for fetches in by_host(crawl.log).values():
        for before, after in pairwise(fetches):
            duration = before.ended_at - before.started_at
            assert before.wait >= max(1.0, 10.0 * duration * (1 - 1e-9))
            assert after.started_at >= before.ended_at + before.wait


def test_no_page_goes_before_its_verdict(half_an_hour: HalfAnHour) -> None:
    """RFC 9309 section 2.3.1: the first page of a host follows a robots.txt that could be read."""
    _, crawl = half_an_hour
    for fetches in by_host(crawl.log).values():
        until_known = [f for f in fetches if f.want is Want.ROBOTS][-1:]
        first_page = next((f for f in fetches if f.want is Want.PAGE), None)
        if first_page is not None:
            assert until_known[0].outcome is Outcome.ANSWERED
            assert until_known[0].ended_at < first_page.started_at


def test_crawls_of_many_hosts_are_limited_by_places_or_pace(half_an_hour: HalfAnHour) -> None:
    """10,000 hosts make all the fetches that their places, or their own waits, allow."""
    _, crawl = half_an_hour
    assert crawl.share > 0.95
    assert crawl.share == max(crawl.busy, crawl.paced)


@pytest.mark.parametrize(
    ("moved", "found"), [(0.0, 0), (0.5, 1)], ids=["as it should", "started late"]
)
def test_an_idle_host_is_found(moved: float, found: int) -> None:
    """The check above finds a host that waits beside a free place."""
    fine = [
        Fetched(0, Want.PAGE, 0.0, 1.0, Outcome.ANSWERED, 10.0, "duration"),
        Fetched(1, Want.PAGE, 1.0 + moved, 2.0 + moved, Outcome.ANSWERED, 10.0, "duration"),
    ]
    assert len(list(idle(fine, Plan([HostPlan()] * 2, places=1, until=10.0)))) == found


def test_textbook_picture() -> None:
    """One worker, four hosts, the ten-times rule: it is busy for 2.4 of 6.2 seconds.

    Source: the rule is Mercator's (Heydon and Najork 1999, section 3.2).
    """
    hosts = [HostPlan(6, 1.0), HostPlan(3, 2.0), HostPlan(2, 3.0), HostPlan(1, 6.0)]  # tenths
    crawl = simulate(Plan(hosts, places=1, rules=TEN_TIMES, keep=99))
    assert (crawl.seconds, crawl.busy) == (62.0, 24.0 / 62.0)
    starts = {number: [f.started_at for f in log] for number, log in by_host(crawl.log).items()}
    assert starts == {
        0: [0.0, 12.0, 25.0, 39.0, 50.0, 61.0],
        1: [1.0, 23.0, 45.0],
        2: [3.0, 36.0],
        3: [6.0],
    }


def test_waits_are_ten_times_the_fetch_before() -> None:
    """With a place for each host, the next fetch starts ten durations after the last one."""
    hosts = [HostPlan(pages=5, latency=latency) for latency in (0.5, 1.0, 4.0)]
    crawl = simulate(Plan(hosts, places=3, rules=TEN_TIMES, keep=99))
    gaps = [
        (after.started_at - before.ended_at) / (before.ended_at - before.started_at)
        for fetches in by_host(crawl.log).values()
        for before, after in pairwise(fetches)
    ]
    assert gaps == [10.0] * 12
    assert (crawl.paced, crawl.waits) == (1.0, {"duration": 4 * (5.0 + 10.0 + 40.0)})
    assert crawl.seconds == 5 * 4.0 + 4 * 40.0


@pytest.mark.parametrize(
    ("host", "reason", "seconds"),
    [
        (HostPlan(2, latency=0.01), "floor", 1.0),
        (HostPlan(2, latency=0.5), "duration", 5.0),
        (HostPlan(2, latency=0.5, crawl_delay=8.0), "crawl-delay", 8.0),
        (HostPlan(2, latency=100.0), "duration", 600.0),
    ],
    ids=["floor", "ten times", "crawl delay", "ceiling"],
)
def test_reasons_of_waits(host: HostPlan, reason: str, seconds: float) -> None:
    """Waits are counted under the part of the rule that decided."""
    rules = HostRules(delay=DelayRules(jitter=0.0))
    assert simulate(Plan([host], rules=rules)).waits == {reason: seconds}


def test_waiting_for_a_place_is_counted() -> None:
    """Three hosts, one place, no other wait: the second waits for one fetch, the third for two."""
    crawl = simulate(Plan([HostPlan(latency=1.0)] * 3, places=1))
    assert (crawl.seconds, crawl.busy) == (3.0, 1.0)
    assert (crawl.waits, crawl.paced, crawl.share) == ({"place": 3.0}, 0.5, 1.0)


def test_waiting_for_a_robots_place_is_counted() -> None:
    """POLITE_ROBOTS_CONCURRENCY can be what holds a crawl up."""
    plan = Plan([HostPlan(latency=1.0, robots_latency=1.0)] * 3, robots_places=1, rules=TEN_TIMES)
    assert simulate(plan).waits == {"robots place": 3.0, "duration": 30.0}


def test_robots_places_are_beside_the_pages() -> None:
    """A robots.txt that takes a minute holds no place that another host's pages could use."""
    hosts = [HostPlan(3, 1.0), HostPlan(1, 1.0, robots_latency=60.0)]
    crawl = simulate(Plan(hosts, places=1, rules=TEN_TIMES, keep=99))
    assert [f.started_at for f in crawl.log if f.host == 0] == [0.0, 11.0, 22.0]
    assert (crawl.robots_fetches, crawl.waits["duration"]) == (1, 2 * 10.0 + 600.0)


def test_robots_is_fetched_again_after_a_day() -> None:
    """RFC 9309 section 2.4: a robots.txt is used for 24 hours at most."""
    host = HostPlan(pages=30, latency=1.0, robots_latency=1.0, crawl_delay=7200.0)
    crawl = simulate(Plan([host], keep=99))
    robots_at = [f.started_at for f in crawl.log if f.want is Want.ROBOTS]
    assert [at // DAY for at in robots_at] == [0, 1, 2]


def test_unreachable_robots_holds_the_pages() -> None:
    """RFC 9309 section 2.3.1.4: nothing is fetched of a host whose robots.txt cannot be read."""
    crawl = simulate(Plan([HostPlan(5, robots_latency=1.0)], failures=1.0, until=200.0))
    assert (crawl.fetches, crawl.left, crawl.robots_fetches) == (0, 5, 3)
    assert crawl.waits["robots"] == pytest.approx(200.0 - 3 * 1.0)


def test_host_that_always_refuses_is_parked() -> None:
    """Refused pages go back to their queue; after eight refusals in a row the host is given up."""
    crawl = simulate(Plan([HostPlan(pages=3), HostPlan(pages=2)], refusals=1.0))
    assert (crawl.parked, crawl.left) == (2, 5)
    assert (crawl.fetches, crawl.refused) == (16, 16)


@pytest.mark.parametrize("until", [20.0, 300.0, 1e6])
def test_pages_add_up(until: float) -> None:
    """Every page is fetched, or left where the crawl was cut off; a refused one is not lost."""
    plan = Plan([HostPlan(pages=7)] * 50, failures=0.1, refusals=0.1, until=until, seed=5)
    crawl = simulate(plan)
    assert crawl.fetches - crawl.refused + crawl.left == 350
    assert (crawl.left == 0) is (until == 1e6)
    assert crawl.seconds <= until


def test_same_plan_same_crawl() -> None:
    """A plan and its seed decide everything; another seed is another crawl."""
    plan = Plan([HostPlan(pages=5, spread=0.5)] * 20, failures=0.2, keep=999)
    assert simulate(plan) == simulate(plan)
    assert simulate(plan) != simulate(replace(plan, seed=1))


def test_log_is_bounded() -> None:
    """No more fetches are kept than the plan says, and none by default."""
    plan = Plan([HostPlan(pages=5)] * 20, keep=7)
    assert (len(simulate(plan).log), simulate(replace(plan, keep=0)).log) == (7, ())


def test_nothing_to_do() -> None:
    """A plan without pages takes no time."""
    crawl = simulate(Plan([HostPlan(pages=0)] * 3))
    assert (crawl.seconds, crawl.fetches, crawl.busy, crawl.share) == (0.0, 0, 0.0, 1.0)


@pytest.mark.parametrize(
    ("make", "values"),
    [
        (HostPlan, {"pages": -1}),
        (HostPlan, {"latency": -0.1}),
        (HostPlan, {"spread": 1.1}),
        (HostPlan, {"robots_latency": -1.0}),
        (HostPlan, {"crawl_delay": -1.0}),
        (Plan, {"hosts": [], "places": 0}),
        (Plan, {"hosts": [], "robots_places": 0}),
        (Plan, {"hosts": [], "failures": -0.1}),
        (Plan, {"hosts": [], "refusals": -0.1}),
        (Plan, {"hosts": [], "failures": 0.6, "refusals": 0.6}),
    ],
    ids=lambda value: "-".join(value) if isinstance(value, dict) else value.__name__,
)
def test_impossible_plans(make: Any, values: dict[str, Any]) -> None:
    """A number that cannot be is refused with its name."""
    name = [name for name in values if name != "hosts"][-1]
    with pytest.raises(ValueError, match=name):
        make(**values)
