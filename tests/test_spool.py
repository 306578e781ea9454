"""Disk queues: order, what a killed process leaves behind, and requests in progress."""

from __future__ import annotations

from pathlib import Path

import pytest
from scrapy import Request, Spider
from scrapy.crawler import Crawler
from scrapy.utils.test import get_crawler

from scrapy_polite.spool.folders import folder_of, lanes_on_disk, remove_folder
from scrapy_polite.spool.journal import JOURNAL, Journal
from scrapy_polite.spool.queue import SpoolFifoQueue, SpoolLifoQueue, SpoolQueue

LIFO_AND_FIFO = pytest.mark.parametrize("queue_class", [SpoolLifoQueue, SpoolFifoQueue])


def _crawler() -> Crawler:
    crawler = get_crawler(Spider)
    crawler.spider = Spider.from_crawler(crawler, name="own")
    return crawler


def _urls(count: int) -> list[str]:
    return [f"https://site.test/{number}" for number in range(count)]


def _filled(queue_class: type[SpoolQueue], path: Path, count: int = 3) -> SpoolQueue:
    queue = queue_class.from_crawler(_crawler(), str(path))
    for url in _urls(count):
        queue.push(Request(url))
    return queue


def _drained(queue: SpoolQueue) -> list[str]:
    urls = []
    while (request := queue.pop()) is not None:
        urls.append(request.url)
    return urls


@pytest.mark.parametrize(
    ("queue_class", "order"), [(SpoolLifoQueue, [2, 1, 0]), (SpoolFifoQueue, [0, 1, 2])]
)
def test_order(queue_class: type[SpoolQueue], order: list[int], tmp_path: Path) -> None:
    """LIFO gives the last first, FIFO the first; peek tells and leaves it there."""
    queue = _filled(queue_class, tmp_path / "lane" / "0")
    peeked = queue.peek()
    assert peeked is not None
    assert peeked.url == _urls(3)[order[0]]
    assert len(queue) == 3
    assert _drained(queue) == [_urls(3)[number] for number in order]
    assert len(queue) == 0


@LIFO_AND_FIFO
def test_a_queue_that_nobody_closed_is_whole(queue_class: type[SpoolQueue], tmp_path: Path) -> None:
    """After a kill the file has what was pushed and not popped."""
    path = tmp_path / "lane" / "0"
    queue = _filled(queue_class, path, 4)
    gone = queue.pop()
    assert gone is not None
    again = queue_class.from_crawler(_crawler(), str(path))
    assert sorted(_drained(again)) == sorted(set(_urls(4)) - {gone.url})


@LIFO_AND_FIFO
@pytest.mark.parametrize("cut_bytes", range(1, 60, 7))
def test_a_record_cut_short_is_cut_off(
    queue_class: type[SpoolQueue], cut_bytes: int, tmp_path: Path
) -> None:
    """A last record that a kill left half-written is dropped, the others stay readable."""
    path = tmp_path / "lane" / "0"
    _filled(queue_class, path)
    octets = path.read_bytes()
    path.write_bytes(octets[:-cut_bytes])
    again = queue_class.from_crawler(_crawler(), str(path))
    again.push(Request("https://site.test/new"))
    assert sorted(_drained(again)) == sorted([*_urls(2), "https://site.test/new"])


@LIFO_AND_FIFO
@pytest.mark.parametrize("octets", [b"", b"\x00", b"\x00" * 7])
def test_a_file_without_a_head_is_empty(
    queue_class: type[SpoolQueue], octets: bytes, tmp_path: Path
) -> None:
    """A file that a kill left without even its head counts as empty and can be used."""
    path = tmp_path / "lane" / "0"
    path.parent.mkdir()
    path.write_bytes(octets)
    queue = queue_class.from_crawler(_crawler(), str(path))
    assert queue.pop() is None
    queue.push(Request("https://site.test/new"))
    assert _drained(queue) == ["https://site.test/new"]


@LIFO_AND_FIFO
def test_an_empty_queue_leaves_no_file(queue_class: type[SpoolQueue], tmp_path: Path) -> None:
    """Closing a drained queue removes its file; an unused one never makes one."""
    path = tmp_path / "lane" / "0"
    queue = _filled(queue_class, path)
    _drained(queue)
    queue.close()
    assert not path.exists()


def test_what_cannot_be_serialised_raises_value_error(tmp_path: Path) -> None:
    """A lambda as callback is refused with ValueError and leaves the queue as it was."""
    queue = _filled(SpoolLifoQueue, tmp_path / "lane" / "0", 1)
    with pytest.raises(ValueError, match="lambda"):
        queue.push(Request("https://site.test/x", callback=lambda response: None))
    assert _drained(queue) == _urls(1)


def test_requests_in_progress_are_found_by_the_next_run(tmp_path: Path) -> None:
    """What was popped and not done with is queued again, what was done with is not."""
    crawler = _crawler()
    queue = SpoolFifoQueue.from_crawler(crawler, str(tmp_path / "lane" / "0"))
    for url in _urls(3):
        queue.push(Request(url))
    journal = Journal.of(crawler, tmp_path)
    first, second = queue.pop(), queue.pop()
    assert first is not None
    assert second is not None
    journal.done(first)
    found: list[str] = []
    later = Journal.of(_crawler(), tmp_path)
    assert later.recover(lambda request: found.append(request.url)) == 1
    assert found == [second.url]
    assert not list((tmp_path / JOURNAL).glob("*"))


@pytest.mark.parametrize(
    "lane",
    [
        "https://site.test",
        "-http://127.0.0.1:8080",
        "http://[::1]:81",
        "",
        "https://" + ".".join(["label" * 10] * 5) + ".test",
    ],
)
def test_a_lane_is_found_again_by_its_folder(lane: str, tmp_path: Path) -> None:
    """Folder names tell lane and priorities, long ones through a file inside."""
    folder = folder_of(tmp_path, lane)
    assert len(folder.name) < 256
    folder.mkdir(exist_ok=True)
    for name in ("0", "-5", "-5s", "somebody's file"):
        (folder / name).touch()
    (tmp_path / JOURNAL).mkdir()
    (tmp_path / "active.json").touch()
    assert lanes_on_disk(tmp_path) == {lane: [-5, 0]}


def test_an_empty_folder_is_removed_and_others_stay(tmp_path: Path) -> None:
    """The folder of a drained lane goes, unless somebody's file is in it."""
    for lane in ("https://a.test", "https://" + "a" * 300):
        folder = folder_of(tmp_path, lane)
        folder.mkdir(exist_ok=True)
        remove_folder(folder)
        assert not folder.exists()
    kept = folder_of(tmp_path, "https://b.test")
    kept.mkdir()
    (kept / "note").touch()
    remove_folder(kept)
    assert kept.exists()
