"""When nobody answers any more, the fault is ours: no host is blamed for it and no retry spent.

The web falls silent for a while, in that it resets every connection: so its record shows what was
sent meanwhile.  RETRY_TIMES is 0 unless a test says otherwise.
"""

from __future__ import annotations

import time
from typing import Any

import pytest
from scrapy import signals
from scrapy.crawler import Crawler
from scrapy.exceptions import StopDownload

from harness import Answer, Arrival, Asked, Site, Web, crawl_here, gaps

pytestmark = pytest.mark.crawl

NO_ROBOTS = {"/robots.txt": 404}
OUTAGE = "scrapy_polite.policy.outage"
SETTINGS = {"RETRY_TIMES": 0, "POLITE_DELAY_FACTOR": 0, "POLITE_MIN_DELAY": 0.05}
ENOUGH = 3  # hosts in a row without an answer


class Weather:
    """Whether the web answers: it does not for a while from its so many-th page on.

    Args:
        fair: pages that are answered before.
        seconds: of silence.
        requests: that get no answer, however long that takes.
    """

    def __init__(self, fair: int, *, seconds: float = 0.0, requests: int = 0) -> None:
        self.pages, self.fair, self.seconds, self.requests = 0, fair, seconds, requests
        self.began_at = 0.0

    def page(self, asked: Asked) -> Answer:
        """A page of any host."""
        self.pages += 1
        if self.pages == self.fair + 1:
            self.began_at = time.monotonic()
        return Answer(drop=self.is_foul())

    def is_foul(self) -> bool:
        """Whether nobody answers right now."""
        unanswered = self.pages - self.fair
        lasts = time.monotonic() - self.began_at < self.seconds
        return unanswered > 0 and (lasts or unanswered <= self.requests)


def urls_of(sites: list[Site], count: int) -> list[str]:
    """Return so many pages of each site."""
    return [site.url(f"/{number}") for number in range(count) for site in sites]


def unanswered(log: list[Arrival]) -> list[Arrival]:
    """Return the requests that got no answer."""
    return [arrival for arrival in log if arrival.ended == "dropped"]


def lines(log: str, words: str) -> list[str]:
    """Return the lines of a log that hold these words."""
    return [line for line in log.splitlines() if words in line]


async def test_outage(web: Web) -> None:
    """All hosts fall silent: what goes out then is a probe, and every page is fetched in the end.

    A robots.txt that was under way is asked for again at once, not in a minute.
    """
    weather = Weather(fair=15, seconds=2.0)
    sites = [web.site({**NO_ROBOTS, "*": weather.page}) for _ in range(5)]
    newcomer = web.site({"/robots.txt": [Answer(delay=3.0, drop=True), 404], "*": 200})
    urls = urls_of([newcomer], 2) + urls_of(sites, 8)
    run = await crawl_here(web, urls, SETTINGS, timeout=40)
    assert run.outcome == {url: [200] for url in urls}
    assert "retry/count" not in run.stats

    silent = [a for a in unanswered(run.arrivals) if a.host != newcomer.host]
    assert ENOUGH <= len(silent) <= len(sites)  # those in flight, each host once
    again = [a for a in run.arrivals if a.start_at > silent[-1].start_at]
    assert again[0].start_at - silent[-1].start_at >= 4.5  # the first probe is due after 5 s
    assert again[1].start_at >= again[0].end_at

    assert run.stats["polite/outages"] == 1
    assert run.stats["polite/outages/probes"] == 1
    assert run.stats["polite/wait/trouble"] <= len(unanswered(run.arrivals))  # then no more
    began, ended = lines(run.log, "runtime.outage")
    assert "one after the other: the fault seems to be ours" in began
    assert "s of silence: the crawl goes on" in ended


async def test_probes(web: Web, monkeypatch: pytest.MonkeyPatch, in_process: None) -> None:
    """While the silence lasts, one request goes out at a time and ever more rarely.

    What went out before the end of the outage and fails after it is our fault too.
    """
    monkeypatch.setattr(f"{OUTAGE}.PROBE_FIRST", 0.4)
    weather = Weather(fair=12, requests=5)
    sites = [web.site({**NO_ROBOTS, "*": weather.page}) for _ in range(4)]
    slow = web.site({**NO_ROBOTS, "*": [200, Answer(delay=3.6, drop=True), 200]})
    urls = [*urls_of([slow], 2), *urls_of(sites, 8)]
    run = await crawl_here(web, urls, SETTINGS, timeout=40)
    assert run.outcome == {url: [200] for url in urls}
    silent = [a for a in unanswered(run.arrivals) if a.host != slow.host]
    assert len(silent) == 5  # three or four that were in flight, and probes
    answered = next(a for a in run.arrivals if a.start_at > silent[-1].start_at)
    assert answered.start_at - silent[-1].end_at >= 0.7  # due after 0.4, 1.2 and 2.8 s
    assert run.stats["polite/outages"] == 1
    assert 2 <= run.stats["polite/outages/probes"] <= 3


async def test_outage_that_begins_with_the_last_requests(
    web: Web, monkeypatch: pytest.MonkeyPatch, in_process: None
) -> None:
    """Where nothing is queued that could probe, what got no answer is asked for again."""
    monkeypatch.setattr(f"{OUTAGE}.PROBE_FIRST", 0.4)
    pages = [200, Answer(delay=0.2, drop=True), 200]
    sites = [web.site({**NO_ROBOTS, "*": pages}) for _ in range(3)]
    urls = urls_of(sites, 2)
    run = await crawl_here(web, urls, SETTINGS, timeout=40)
    assert run.outcome == {url: [200] for url in urls}
    assert run.stats["polite/outages"] == run.stats["polite/outages/probes"] == 1


async def test_nobody_answers_any_more(
    web: Web, monkeypatch: pytest.MonkeyPatch, in_process: None
) -> None:
    """When the silence does not end, the run does; what is queued stays queued."""
    monkeypatch.setattr(f"{OUTAGE}.PROBE_FIRST", 0.2)
    monkeypatch.setattr(f"{OUTAGE}.GIVE_UP", 0.5)
    weather = Weather(fair=9, seconds=60.0)
    sites = [web.site({**NO_ROBOTS, "*": weather.page}) for _ in range(3)]
    run = await crawl_here(web, urls_of(sites, 8), SETTINGS, timeout=20)
    assert run.stats["finish_reason"] == "polite_outage"
    assert sum(map(len, run.outcome.values())) == 9
    assert len(lines(run.log, "the run ends")) == 1


async def test_doubt(web: Web, monkeypatch: pytest.MonkeyPatch, in_process: None) -> None:
    """One host that fails while the others answer, or have nothing to say, pays with its retries.

    The retry waits for that verdict, and no longer than the doubt may last.
    """
    monkeypatch.setattr("scrapy_polite.runtime.outage.DOUBT", 1.0)
    others = [web.site({**NO_ROBOTS, "*": Answer(delay=0.02)}) for _ in range(3)]
    failing = web.site({**NO_ROBOTS, "/0": 200, "*": [Answer(drop=True), 200]})
    last = web.site(
        {**NO_ROBOTS, "/0": 200, "*": [Answer(delay=1.5, drop=True), Answer(drop=True)]}
    )
    urls = [*urls_of([failing, last], 2), *urls_of(others, 5)]
    run = await crawl_here(web, urls, {**SETTINGS, "RETRY_TIMES": 1}, timeout=30)
    assert run.outcome.pop(last.url("/1"))[0] in ("DownloadFailedError", "ResponseFailed")
    assert run.outcome == {url: [200] for url in urls if url != last.url("/1")}
    assert run.stats["retry/count"] == 2
    [before, after] = unanswered([a for a in run.arrivals if a.host == last.host])
    assert after.start_at - before.end_at >= 1.0
    assert "polite/outages" not in run.stats


class Cutter:
    """Stops every download of a page at its headers, as a spider may that looks at those only."""

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Cutter:
        cutter = cls()
        crawler.signals.connect(cutter.cut, signals.headers_received)
        return cutter

    def cut(self, request: Any) -> None:
        if "robots.txt" not in request.url:
            raise StopDownload


async def test_downloads_that_the_spider_cuts(web: Web, in_process: None) -> None:
    """A host that answered is neither silent nor in trouble when the spider did not read on."""
    sites = [web.site({**NO_ROBOTS, "*": Answer(size_bytes=100)}) for _ in range(4)]
    urls = urls_of(sites, 6)
    run = await crawl_here(web, urls, {**SETTINGS, "EXTENSIONS": {Cutter: 1}})
    assert run.outcome == {url: ["StopDownload"] for url in urls}
    assert "polite/outages" not in run.stats
    # 0.2 s after each at the most; doubled each time it would be 0.2 + 0.4 + 0.8 + 1.6 + 3.2 + 6.4.
    assert run.stats["polite/wait/seconds"] < 4 * 6.3
    assert len(gaps(run.arrivals)) == 4 * 6
