"""What `--plan` promises, beside real crawls: the server's record says how long they took.

The simulator knows nothing of the time that the machine itself takes, so a crawl is never shorter
than its plan but for what the clocks differ, and on a busy machine longer.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from scrapy.settings import Settings

from harness import POLITE, Answer, Web, crawl_here
from scrapy_polite import config
from scrapy_polite.commands.planning import hosts_like
from scrapy_polite.report.load import load
from scrapy_polite.simulator import HostPlan, Plan, simulate

pytestmark = pytest.mark.crawl

WEBS = {
    "bound by hosts": ([HostPlan(2, 0.1)] * 8, 16),
    "bound by places": ([HostPlan(2, 0.1)] * 12, 1),
    "of all kinds": (
        [HostPlan(2, 0.15), HostPlan(5, 0.02), HostPlan(2, 0.02, crawl_delay=1.2)],
        16,
    ),
}
ROUNDING = 0.05  # seconds


@pytest.mark.parametrize(("hosts", "places"), WEBS.values(), ids=WEBS)
async def test_crawl_takes_what_was_planned(
    web: Web, tmp_path: Path, hosts: list[HostPlan], places: int
) -> None:
    """By numbers a crawl is planned before it, and after it like its log: it takes that long."""
    urls = []
    for host in hosts:
        rules = f"User-agent: *\nCrawl-delay: {host.crawl_delay}\n" if host.crawl_delay else ""
        page = Answer(delay=host.latency, body="x")
        site = web.site({"/robots.txt": replace(page, body=rules), "*": page})
        urls += [site.url(f"/{number}") for number in range(host.pages)]
    path = tmp_path / "report.json"
    settings = {"CONCURRENT_REQUESTS": places, "POLITE_REPORT": str(path)}
    run = await crawl_here(web, urls, settings)
    seconds = max(seen.end_at for seen in run.arrivals) - run.arrivals[0].start_at

    rules_of_crawl = config.read_rules(Settings({**POLITE, **settings}))
    before = [replace(host, robots_latency=host.latency) for host in hosts]
    planned = simulate(Plan(before, places=places, rules=rules_of_crawl)).seconds
    again = simulate(Plan(hosts_like(load(path)), places=places, rules=rules_of_crawl)).seconds
    assert planned - ROUNDING <= seconds
    assert planned - ROUNDING <= again <= 1.2 * seconds + 1.0
