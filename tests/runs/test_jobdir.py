"""A JOBDIR in trouble: damaged, in the way, of a spider that has changed, wanted by two crawls.

Rules: the verdict is the server's record; what is in the JOBDIR beforehand is written by hand.
"""

from __future__ import annotations

import pickle
import struct
from collections import Counter
from pathlib import Path
from urllib.parse import quote

import pytest
from scrapy import Request
from scrapy.utils.asyncio import call_later

from harness import Answer, Web, crawl_here
from harness.pages import Pages, Site
from runs.running import Running, pages, wait_until
from scrapy_polite.runtime import pump

FREE: Pages = {"/robots.txt": 404, "*": ""}
LOST_CALLBACK = "parse_as_the_spider_did_last_week"


@pytest.fixture
def queue(tmp_path: Path) -> Path:
    """The folder of a JOBDIR's requests."""
    folder = tmp_path / "job" / "requests.queue"
    folder.mkdir(parents=True)
    return folder


@pytest.fixture
def in_process(request: pytest.FixtureRequest) -> None:
    """Skip when crawls do not run in the process of the tests."""
    if request.config.getoption("reactorless"):
        pytest.skip("needs the crawl in the process of the tests")


def lane_folder(queue: Path, site: Site) -> Path:
    return queue / quote(site.url("/").rstrip("/"), safe="")


def old_request(url: str) -> bytes:
    """Return a request, as a queue keeps it, whose callback the spider does not have any more."""
    return pickle.dumps({**Request(url).to_dict(), "callback": LOST_CALLBACK}, protocol=4)


def queued(*requests: bytes) -> bytes:
    """Return what a queue's file holds with these requests."""
    frames = (struct.pack(">I", len(octets)) for octets in requests)
    pairs = zip(frames, requests, strict=True)
    return struct.pack(">Q", 8) + b"".join(frame + octets + frame for frame, octets in pairs)


@pytest.mark.crawl
@pytest.mark.usefixtures("in_process")
async def test_what_cannot_be_read_keeps_nothing_else_back(web: Web, queue: Path) -> None:
    """All that can be read is fetched once; the rest stays, named, and goes when it can be."""
    sites = [web.site(FREE) for _ in range(2)]
    lane, journal = lane_folder(queue, sites[0]), queue / "in-progress"
    for folder in (lane, journal, queue / "digest-of-a-lane-that-was-being-made"):
        folder.mkdir()
    (lane / "0").write_bytes(queued(old_request(sites[0].url("/queued")), b"no request"))
    (journal / "1-1-1").write_bytes(old_request(sites[0].url("/in-progress")))
    (journal / "1-2-1").touch()
    (queue / "active.json").touch()  # Scrapy's index; killed as it was about to be written
    asked = [site.url(f"/{number}") for number in range(2) for site in sites]
    settings = {"JOBDIR": str(queue.parent)}
    run = await crawl_here(web, asked, settings, timeout=30)
    assert run.outcome == {url: [200] for url in asked}
    assert sorted(pages(web)) == sorted((site.host, f"/{n}") for n in range(2) for site in sites)
    assert run.log.count("A request cannot be read and stays in") == 4
    assert run.stats["polite/queue/unreadable"] == 4
    await crawl_here(web, [], settings, {LOST_CALLBACK: _parse}, timeout=30)
    fetched = Counter(pages(web))
    assert fetched[sites[0].host, "/queued"] == fetched[sites[0].host, "/in-progress"] == 1
    assert len(list(journal.iterdir())) == 2  # what never was a request


def _parse(spider: object, response: object) -> None: ...


@pytest.mark.crawl
async def test_what_cannot_be_written_is_kept_in_memory(web: Web, queue: Path) -> None:
    """While a lane has no room on disk its requests wait in memory, and are fetched."""
    site = web.site(FREE)
    lane_folder(queue, site).touch()  # where a folder should be
    asked = [site.url(f"/{number}") for number in range(3)]
    run = await crawl_here(web, asked, {"JOBDIR": str(queue.parent)}, timeout=30)
    assert run.outcome == {url: [200] for url in asked}
    assert run.stats["scheduler/unserializable"] == 3
    assert "cannot be kept on disk, a stop loses it" in run.log


@pytest.mark.crawl
@pytest.mark.usefixtures("in_process")
async def test_a_disk_that_is_full_for_a_while_costs_a_wait(
    web: Web, queue: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A request that cannot be taken out of its queue stays there, and goes when there is room."""
    site, obstacle = web.site(FREE), queue / "in-progress"
    obstacle.touch()  # where the folder of the journal should be
    monkeypatch.setattr(pump, "TROUBLE_RETRY", 0.3)
    call_later(1.0, obstacle.unlink)
    asked = [site.url(f"/{number}") for number in range(3)]
    run = await crawl_here(web, asked, {"JOBDIR": str(queue.parent)}, timeout=30)
    assert run.outcome == {url: [200] for url in asked}
    assert f"The turn of {site.host} could not be used" in run.log
    assert len(pages(web)) == len(asked)


@pytest.mark.slow
def test_a_second_crawl_of_a_jobdir_is_refused(web: Web, tmp_path: Path) -> None:
    """It ends with one sentence; the first goes on, and after a kill of it another one may."""
    site = web.site({"/robots.txt": 404, "*": Answer(delay=0.05)})
    asked = [site.url(f"/{number}") for number in range(6)]
    settings = {"JOBDIR": str(tmp_path / "job")}
    first = Running(tmp_path / "first", asked, settings)
    wait_until(lambda: bool(pages(web)))
    refused = Running(tmp_path / "second", asked, settings).finish()["error"]
    assert refused.startswith(f"ValueError: The JOBDIR {tmp_path / 'job'} is in use by another")
    first.kill()
    Running(tmp_path / "third", asked, settings).finish()
    fetched = Counter(pages(web))
    assert set(fetched) == {(site.host, f"/{number}") for number in range(6)}
    assert sum(fetched.values()) <= len(fetched) + 1  # what was on the wire at the kill
