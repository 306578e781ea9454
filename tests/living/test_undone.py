"""Work of a page that a stop or a parked host sends away: nothing is lost or exported half.

Judged by what was exported, by the files on disk and by the server's log; the runs are stopped as
soon as the page is there, while all that it asks for waits for its host.
"""

from __future__ import annotations

import json
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from itemadapter import ItemAdapter
from PIL import Image
from scrapy import Request, Spider
from scrapy.http import Response
from scrapy.utils.asyncio import call_later
from scrapy.utils.defer import deferred_from_coro

from crawls.judging import paths
from crawls.promise import assert_no_lease_left, assert_ten_times
from harness import Answer, Web, crawl_here
from harness.pages import Page
from harness.server import Site

pytestmark = [pytest.mark.crawl, pytest.mark.usefixtures("in_process")]
DELAY = 0.3  # seconds that the hosts ask for
ASKS = {"/robots.txt": f"User-agent: *\nCrawl-delay: {DELAY}\n"}
KINDS = ("files", "images", "callback", "caught", "pipeline", "middleware")
"""Who asks for more of a page: built-in pipelines, or code of the user's that awaits a download;
`caught` makes do without what it does not get."""


def _picture() -> bytes:
    octets = BytesIO()
    Image.new("L", (8, 8), 7).save(octets, "PNG")
    return octets.getvalue()


async def _fetched(spider: Any, urls: list[str]) -> list[int]:
    return [(await spider.crawler.engine.download_async(Request(url))).status for url in urls]


class Fetching:
    """A pipeline that awaits what it needs."""

    def __init__(self, crawler: Any) -> None:
        self._crawler = crawler

    @classmethod
    def from_crawler(cls, crawler: Any) -> Fetching:
        return cls(crawler)

    async def process_item(self, item: Any) -> Any:
        item["got"] = await _fetched(self._crawler.spider, item.pop("wanted"))
        return item


class Storing:
    """A pipeline after all others that stores what it sees."""

    def __init__(self, crawler: Any) -> None:
        self._path = crawler.settings["STORED"]

    @classmethod
    def from_crawler(cls, crawler: Any) -> Storing:
        return cls(crawler)

    def process_item(self, item: Any) -> Any:
        with Path(self._path).open("a") as file:
            file.write(json.dumps(ItemAdapter(item).asdict()) + "\n")
        return item


class FetchingMiddleware:
    """A spider middleware that awaits what items need."""

    def __init__(self, crawler: Any) -> None:
        self._crawler = crawler

    @classmethod
    def from_crawler(cls, crawler: Any) -> FetchingMiddleware:
        return cls(crawler)

    async def process_spider_output(self, response: Response, result: Any) -> Any:
        async for item in result:
            item["got"] = await _fetched(self._crawler.spider, item.pop("wanted"))
            yield item


def _settings(kind: str, folder: Path) -> dict[str, Any]:
    pipelines = {
        "files": {"scrapy.pipelines.files.FilesPipeline": 1},
        "images": {"scrapy.pipelines.images.ImagesPipeline": 1},
        "pipeline": {Fetching: 1},
    }
    return {
        "FILES_STORE": str(folder / "files"),
        "IMAGES_STORE": str(folder / "images"),
        "ITEM_PIPELINES": {**pipelines.get(kind, {}), Storing: 900},
        "SPIDER_MIDDLEWARES": {FetchingMiddleware: 500} if kind == "middleware" else {},
        "STORED": str(folder / "stored.jl"),
        "FEEDS": {str(folder / "exported.jl"): {"format": "jsonlines", "overwrite": False}},
    }


def _parse(kind: str, wanted: list[str], *, stops: bool) -> Any:
    async def parse(self: Spider, response: Response, asked_url: str) -> Any:
        if stops:
            close = self.crawler.engine.close_spider_async
            call_later(DELAY / 4, lambda: deferred_from_coro(close(reason="enough")))
        item: dict[str, Any] = {"page": response.url}
        if kind in ("files", "images"):
            item |= {"file_urls" if kind == "files" else "image_urls": wanted}
        elif kind in ("pipeline", "middleware"):
            item |= {"wanted": wanted}
        else:
            try:
                item |= {"got": await _fetched(self, wanted)}
            except Exception:
                if kind != "caught":
                    raise
                yield Request(response.urljoin("/found-without"))
        yield item

    return {"parse": parse}


def _read(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def _errors(run: Any) -> list[str]:
    """Return what a run logged as an error; Scrapy 2.16 does so for each file it gives up."""
    lines = [line for line in run.log.splitlines() if "] ERROR: " in line]
    return [line for line in lines if not line.startswith("[scrapy.pipelines.media]")]


def _got(item: dict[str, Any]) -> int:
    return len(item.get("got") or item.get("files") or item.get("images") or ())


def _sites(web: Web, where: str) -> tuple[Site, Site]:
    pages: dict[str, Page] = {
        **ASKS,
        "*": Answer(headers={"Content-Type": "image/png"}, body=_picture()),
    }
    home = web.site({**pages, "/page": "a page", "/next": "another"})
    return home, home if where == "same host" else web.site(pages)


@pytest.mark.parametrize(("where", "count"), [("same host", 3), ("other host", 1)])
@pytest.mark.parametrize("kind", KINDS)
async def test_a_stop_keeps_the_page(
    web: Web, tmp_path: Path, kind: str, where: str, count: int
) -> None:
    """With a JOBDIR the next run makes the item whole; this one exports nothing of it."""
    home, other = _sites(web, where)
    wanted = [other.url(f"/{number}") for number in range(count)]
    settings = {**_settings(kind, tmp_path), "JOBDIR": str(tmp_path / "job")}
    first = await crawl_here(web, [home.url("/page")], settings, _parse(kind, wanted, stops=True))
    assert _read(tmp_path / "exported.jl") == _read(tmp_path / "stored.jl") == []
    assert first.stats["polite/undone/pages"] == 1
    assert not _errors(first) and "polite/undone/lost" not in first.stats
    await crawl_here(web, [home.url("/page")], settings, _parse(kind, wanted, stops=False))
    items = _read(tmp_path / "exported.jl")
    assert [_got(item) for item in items] == [count]
    assert _read(tmp_path / "stored.jl") == items
    fetched = [f"http://{seen.host}:{seen.port}{seen.path}" for seen in web.arrivals()]
    assert all(url in fetched for url in wanted)
    assert not any(url.endswith("/found-without") for url in fetched)
    assert_ten_times(web.arrivals())
    assert_no_lease_left(first)


async def test_without_a_jobdir_a_warning_names_what_is_left(web: Web, tmp_path: Path) -> None:
    """Nothing could fetch the rest later: what there is goes out, and one line says what is not."""
    home, _ = _sites(web, "same host")
    wanted = [home.url(f"/{number}") for number in range(12)]
    run = await crawl_here(
        web,
        [home.url("/page")],
        _settings("files", tmp_path),
        _parse("files", wanted, stops=True),
    )
    assert [_got(item) for item in _read(tmp_path / "exported.jl")] == [0]
    assert run.stats["polite/undone/lost"] == 12
    told = [line for line in run.log.splitlines() if "Not fetched, for" in line]
    assert len(told) == 1 and "WARNING" in told[0] and "12 requests" in told[0]
    assert f"{wanted[0]} (of {home.url('/page')})" in told[0] and "and 2 more" in told[0]


async def test_a_parked_host_of_files(web: Web, tmp_path: Path) -> None:
    """Pages whose files a parked host has are kept, counted as its own, and the run says why it
    ended; an item that only waited for the same file is held back as well; others go out."""
    refuses = Answer(429, {"Retry-After": "2"})
    parking = web.site({"/robots.txt": 404, "/0": [refuses, "a file"], "*": "a file"})
    home = web.site({"/robots.txt": 404, "*": "a page"})
    files = {"/page": [parking.url("/0"), parking.url("/1")], "/next": [parking.url("/1")]}

    def parse(self: Spider, response: Response, asked_url: str) -> Any:
        yield {"page": response.url, "file_urls": files.get(response.url[-5:], [])}

    settings = {
        **_settings("files", tmp_path),
        "JOBDIR": str(tmp_path / "job"),
        "POLITE_RETRY_AFTER_MAX": 1,
    }
    asked = [home.url(path) for path in ("/page", "/next", "/plain")]
    run = await crawl_here(web, asked, settings, {"parse": parse})
    assert [item["page"] for item in _read(tmp_path / "exported.jl")] == [home.url("/plain")]
    assert run.stats["finish_reason"] == "polite_parked"
    assert run.stats["polite/undone/pages"] == 2
    assert run.stats["polite/backoff/parked_requests"] >= 2
    table = [line.split() for line in run.log.splitlines() if line.startswith(parking.host)]
    assert table[-1][-1] == str(run.stats["polite/backoff/parked_requests"])
    await crawl_here(web, asked, {**settings, "POLITE_RETRY_AFTER_MAX": 60}, {"parse": parse})
    got = {item["page"]: _got(item) for item in _read(tmp_path / "exported.jl")}
    assert got == {home.url("/page"): 2, home.url("/next"): 1, home.url("/plain"): 0}
    assert len(_read(tmp_path / "exported.jl")) == 3
    assert sorted(paths(run, home)) == ["/next", "/page", "/plain", "/robots.txt"]


async def test_a_page_that_is_sent_away_itself(web: Web, tmp_path: Path) -> None:
    """A page that lost its turn on its way and waits at the gate is there in the next run; its
    errback's item is no item of a page that failed."""
    home, _ = _sites(web, "same host")
    told: list[str] = []

    async def parse(self: Spider, response: Response, asked_url: str) -> Any:
        yield {"page": response.url}

    async def failed(self: Spider, failure: Any) -> Any:
        told.append(type(failure.value).__name__)
        yield {"page": "failed"}

    settings = {
        **_settings("none", tmp_path),
        "JOBDIR": str(tmp_path / "job"),
        "DOWNLOADER_MIDDLEWARES": {GivingUpTurns: 900},
    }
    attributes = {"parse": parse, "failed": failed}
    first = await crawl_here(web, [home.url("/page")], settings, attributes)
    assert told == ["CrawlStopping"] and first.stats["polite/undone/pages"] == 1
    assert _read(tmp_path / "exported.jl") == []
    settings["DOWNLOADER_MIDDLEWARES"] = {}
    await crawl_here(web, [home.url("/page")], settings, attributes)
    assert [item["page"] for item in _read(tmp_path / "exported.jl")] == [home.url("/page")]


class GivingUpTurns:
    """A downloader middleware that fetches another page of the host first, and then stops."""

    def __init__(self, crawler: Any) -> None:
        self._crawler = crawler
        self._began = False

    @classmethod
    def from_crawler(cls, crawler: Any) -> GivingUpTurns:
        return cls(crawler)

    async def process_request(self, request: Request) -> None:
        if not self._began and request.url.endswith("/page"):
            self._began = True
            await _fetched(self._crawler.spider, [request.url.replace("/page", "/next")])
            close = self._crawler.engine.close_spider_async
            call_later(DELAY / 4, lambda: deferred_from_coro(close(reason="enough")))
