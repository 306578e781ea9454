"""Disk queues: order, what a killed process leaves behind, and requests in progress."""

from __future__ import annotations

import os
import resource
import time
import warnings
from pathlib import Path

import pytest
from scrapy import Request, Spider
from scrapy.crawler import Crawler
from scrapy.utils.test import get_crawler

from scrapy_polite.spool.claim import Claim
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
def test_a_tail_of_zeros_is_cut_off(queue_class: type[SpoolQueue], tmp_path: Path) -> None:
    """What a power cut left of a last record, zeros, is no record."""
    path = tmp_path / "lane" / "0"
    _filled(queue_class, path)
    with path.open("ab") as file:
        file.write(bytes(100))
    assert sorted(_drained(queue_class.from_crawler(_crawler(), str(path)))) == _urls(3)


@LIFO_AND_FIFO
@pytest.mark.parametrize("octets", [b"", bytes(1), bytes(7), bytes(500), b"\xff" * 500])
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


@LIFO_AND_FIFO
@pytest.mark.parametrize("room_bytes", [0, 1, 50])
def test_a_full_disk_leaves_the_queue_as_it_was(
    queue_class: type[SpoolQueue], room_bytes: int, tmp_path: Path
) -> None:
    """A record of which only a part can be written is not there, and the error says so."""
    path = tmp_path / "lane" / "0"
    queue = _filled(queue_class, path)
    octets = path.read_bytes()
    _, most = former = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (len(octets) + room_bytes, most))
    try:
        with pytest.raises(OSError, match=r"File too large|No space left"):
            queue.push(Request("https://site.test/" + "x" * 500))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, former)
    assert path.read_bytes() == octets
    assert sorted(_drained(queue)) == _urls(3)


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
    for other in (JOURNAL, "site.test-0cc175b9c0f1b6a831c399e269772661"):  # and one of Scrapy's own
        (tmp_path / other).mkdir()
    (tmp_path / "active.json").touch()
    assert lanes_on_disk(tmp_path) == {lane: [-5, 0]}


@pytest.mark.parametrize("name", [None, ""], ids=["no name", "no whole name"])
def test_a_folder_that_a_kill_left_without_name_is_no_lane(
    name: str | None, tmp_path: Path
) -> None:
    """Making and removing a folder with a digest takes steps; between any two, others are found."""
    long, short = "https://" + "a" * 300, "https://a.test"
    for lane in (long, short):
        folder_of(tmp_path, lane).mkdir(exist_ok=True)
    file = folder_of(tmp_path, long) / "lane"
    file.unlink()
    if name is not None:
        file.write_text(name)
    assert lanes_on_disk(tmp_path) == {short: []}
    folder_of(tmp_path, long)
    assert lanes_on_disk(tmp_path) == {short: [], long: []}


def test_the_name_of_a_lane_is_written_once(tmp_path: Path) -> None:
    """A folder that has its name keeps that file, so that no kill can leave it without."""
    file = folder_of(tmp_path, "https://" + "a" * 300) / "lane"
    written = file.stat()
    folder_of(tmp_path, "https://" + "a" * 300)
    assert (file.stat().st_ino, file.stat().st_mtime_ns) == (written.st_ino, written.st_mtime_ns)


def test_a_folder_belongs_to_one_crawl(tmp_path: Path) -> None:
    """Who comes second is told so in one sentence; who comes afterwards has it."""
    first = Claim(tmp_path)
    with pytest.raises(ValueError, match="is in use by another crawl: wait until"):
        Claim(tmp_path)
    first.give_up()
    Claim(tmp_path).give_up()


def test_a_forked_child_claims_nothing(tmp_path: Path) -> None:
    """A child that outlives its crawl keeps nobody out of the folder."""
    claim, (awake, tell) = Claim(tmp_path), os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # other tests may have left threads
        child = os.fork()
    if not child:
        os.close(tell)
        os.read(awake, 1)
        os._exit(0)
    try:
        claim.give_up()
        until = time.monotonic() + 10.0
        while True:
            try:
                Claim(tmp_path).give_up()
                break
            except ValueError:
                assert time.monotonic() < until  # the child has not run yet
    finally:
        os.close(tell)
        os.close(awake)
        os.waitpid(child, 0)


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
