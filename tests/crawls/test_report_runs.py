"""The event log over stops, kills and resumed runs, and what else a run may do to it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from scrapy import Spider
from scrapy.http import Response

from harness import Answer, CrawlFailed, Web, crawl, crawl_here
from runs.running import Running, wait_until
from scrapy_polite.report.load import from_log, load
from scrapy_polite.report.reader import Reading, read_log
from scrapy_polite.report.schema import Began, Ended, Event, Fetched

pytestmark = pytest.mark.crawl

PAGES = {"/robots.txt": 404, "*": Answer(delay=0.02, body="x")}


def events_of(path: Path) -> list[Event]:
    """Return the events of a log, every line of which can be read."""
    reading = Reading(path.name)
    events = list(read_log(path, reading))
    assert reading.read == reading.lines
    return events


async def test_log_alone(web: Web, tmp_path: Path) -> None:
    """POLITE_TIMELINE alone writes a log: each fetch has the wait after it, and why."""
    site, path = web.site(PAGES), tmp_path / "new" / "log.jsonl"
    await crawl_here(web, [site.url("/1"), site.url("/2")], {"POLITE_TIMELINE": str(path)})
    events = events_of(path)
    assert isinstance(events[0], Began) and isinstance(events[-1], Ended)
    fetches = [event for event in events if isinstance(event, Fetched)]
    assert [fetch.what for fetch in fetches] == ["robots", "page", "page"]
    for fetch in fetches:
        assert fetch.until_at is not None
        assert fetch.until_at - fetch.at >= 10 * (fetch.at - fetch.start_at) - 1e-4
        assert fetch.reason == "duration"


async def test_nothing_is_written_unasked(web: Web, tmp_path: Path) -> None:
    """Without the settings, and with the pack switched off, there is neither log nor report."""
    site = web.site(PAGES)
    await crawl_here(web, [site.url("/1")])
    off = {"POLITE_ENABLED": False, "POLITE_REPORT": str(tmp_path / "report.html")}
    await crawl_here(web, [site.url("/1")], off)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"POLITE_REPORT": "report.pdf"}, "POLITE_REPORT is 'report.pdf': "),
        ({"POLITE_TIMELINE": "/proc/log.jsonl"}, "/proc/log.jsonl cannot be written: "),
    ],
    ids=["ending", "folder"],
)
async def test_bad_paths_stop_the_crawl(web: Web, settings: dict[str, Any], sentence: str) -> None:
    """Where nothing can be written the crawl does not start, and one sentence says why."""
    site = web.site(PAGES)
    with pytest.raises(CrawlFailed, match="ValueError: ") as raised:
        await crawl_here(web, [site.url("/1")], settings)
    assert sentence in str(raised.value)
    assert web.arrivals(site.host) == []


def test_killed(web: Web, tmp_path: Path) -> None:
    """Of a killed crawl the log can be read and judged, but for its last second."""
    site = web.site(PAGES)
    urls = [site.url(f"/{number}") for number in range(200)]
    running = Running(tmp_path, urls, {"POLITE_REPORT": "report.html"})
    wait_until(lambda: len(web.arrivals(site.host)) > 10)
    running.kill()
    log = tmp_path / "report.html.events.jsonl"
    report = from_log(log)
    assert 0 < report.fetches <= len(web.arrivals(site.host))
    assert report.verdict == "kept"
    assert [note.partition(":")[0] for note in report.notes] == [
        "The log does not tell of the crawl's end"
    ]


def test_resumed(web: Web, tmp_path: Path) -> None:
    """With JOBDIR the second run goes on with the log, and the report is of both."""
    site = web.site(PAGES)
    urls = [site.url(f"/{number}") for number in range(12)]
    path = tmp_path / "report.json"
    settings = {"POLITE_REPORT": str(path), "JOBDIR": str(tmp_path / "job")}
    crawl(web, urls, {**settings, "CLOSESPIDER_PAGECOUNT": 4})
    first = load(path)
    [left] = first.not_fetched
    assert (left.reason, left.count) == ("left", 12 - first.pages)
    run = crawl(web, [], settings)
    report = load(path)
    assert (report.runs, report.pages, report.not_fetched) == (2, 12, ())
    assert report.verdict == "kept", report.promises
    assert report.fetches == first.fetches + len(run.arrivals)


def test_two_crawls_with_one_path(web: Web, tmp_path: Path) -> None:
    """The second of two crawls leaves the first one's log alone, goes on without, and says so."""
    site, other = web.site(PAGES), web.site(PAGES)
    settings = {"POLITE_REPORT": str(tmp_path / "report.json")}
    running = Running(tmp_path, [site.url(f"/{number}") for number in range(20)], settings)
    log = tmp_path / "report.json.events.jsonl"
    wait_until(lambda: log.exists() and log.stat().st_size > 0)
    second = crawl(web, [other.url("/1")], settings)
    assert f"{log} is the event log of another crawl" in second.log
    assert "%(name)s" in second.log
    assert second.outcome == {other.url("/1"): [200]}
    assert running.finish()["outcome"]
    report = load(tmp_path / "report.json")
    assert (report.pages, report.verdict) == (20, "kept")
    assert {host.host for host in report.hosts} == {site.host}


def test_name_in_the_path(web: Web, tmp_path: Path) -> None:
    """%(name)s in a path is the spider's name, fit for a file's."""
    site = web.site(PAGES)
    settings = {"POLITE_REPORT": str(tmp_path / "%(name)s.json")}
    crawl(web, [site.url("/1")], settings, {"name": "prices/eu"})
    assert [path.name for path in tmp_path.iterdir()] == ["prices-eu.json"]


async def test_parked(web: Web, tmp_path: Path) -> None:
    """A parked host is told of, with until when and how many requests are left."""
    site = web.site({"/robots.txt": 404, "*": Answer(503, {"Retry-After": "90000"})})
    path = tmp_path / "report.json"
    urls = [site.url(f"/{number}") for number in range(5)]
    await crawl_here(web, urls, {"POLITE_REPORT": str(path)})
    report = load(path)
    assert report.ended == "polite_parked"
    [host] = report.hosts
    assert host.parked_until_at is not None and host.parked_until_at > 90000
    [item] = report.not_fetched
    assert (item.reason, item.count) == ("parked", 5)


async def test_media(web: Web, tmp_path: Path, in_process: None) -> None:
    """What a media pipeline fetches is told apart from pages."""
    site, path = web.site(PAGES), tmp_path / "report.json"

    def parse(self: Spider, response: Response, asked_url: str) -> Any:
        yield {"file_urls": [site.url("/file")]}

    settings = {
        "POLITE_REPORT": str(path),
        "ITEM_PIPELINES": {"scrapy.pipelines.files.FilesPipeline": 1},
        "FILES_STORE": str(tmp_path / "files"),
    }
    await crawl_here(web, [site.url("/1")], settings, {"parse": parse})
    [host] = load(path).hosts
    assert (host.robots, host.pages, host.media) == (1, 1, 1)
