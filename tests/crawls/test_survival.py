"""Users' own components beside ours: no turn is lost, no wait is cut, no page is forgotten."""

from __future__ import annotations

from pathlib import Path

import pytest

from crawls.judging import MANY, paths
from crawls.promise import FREE, SLOW, assert_no_lease_left, assert_ten_times
from harness import Web, crawl_here

pytestmark = pytest.mark.crawl


@pytest.mark.parametrize("position", [10, 540, 940, 960])
async def test_middlewares_that_take_requests_away(web: Web, position: int) -> None:
    """Whatever a middleware does to a request, its host's turn comes back and others go on."""
    tricks: dict[str, tuple[int | str, list[str]]] = {
        "answer": (200, []),
        "answer_for_another": (200, []),
        "drop": ("IgnoreRequest", []),
        "fail": ("ValueError", []),
        "repeat": (200, ["/page"]),
        "rewrite": (200, ["/instead"]),
    }
    sites = {trick: web.site({**FREE, "*": ""}) for trick in tricks}
    asked = [site.url(path) for site in sites.values() for path in ("/1", "/page", "/2", "/3")]
    settings = {
        **MANY,
        "CONCURRENT_REQUESTS": 3,
        "DOWNLOADER_MIDDLEWARES": {"crawls.parts.Middleware": position},
        "USERS_PARTS": {f"{site.host}/page": trick for trick, site in sites.items()},
    }
    run = await crawl_here(web, asked, settings)
    for trick, (told, fetched) in tricks.items():
        site = sites[trick]
        assert run.outcome[site.url("/page")] == [told], trick
        assert sorted(paths(run, site)) == sorted(["/robots.txt", "/1", "/2", "/3", *fetched])
    assert_no_lease_left(run)


async def test_middlewares_that_fetch_first(web: Web) -> None:
    """A middleware may fetch from the very host whose turn its request has: that one goes first."""
    sites = [web.site({**FREE, "*": SLOW}) for _ in range(2)]
    asked = [site.url(f"/page{number}") for number in range(2) for site in sites]
    settings = {"CONCURRENT_REQUESTS": 1, "DOWNLOADER_MIDDLEWARES": {"crawls.parts.Login": 500}}
    run = await crawl_here(web, asked, settings, timeout=20)
    for site in sites:
        assert sorted(paths(run, site)) == [
            "/login0",
            "/login1",
            "/page0",
            "/page1",
            "/robots.txt",
        ]
    assert_ten_times(run.arrivals)
    assert_no_lease_left(run)


@pytest.mark.parametrize(
    "own",
    [
        {"DOWNLOADER": "crawls.parts.OwnDownloader"},
        {"DOWNLOADER": "crawls.parts.OwnPoliteDownloader"},
        {"SCHEDULER_PRIORITY_QUEUE": "scrapy.pqueues.ScrapyPriorityQueue"},
        {"SCHEDULER_PRIORITY_QUEUE": "scrapy.pqueues.DownloaderAwarePriorityQueue"},
        {
            "DOWNLOADER": "crawls.parts.OwnDownloader",
            "SCHEDULER_PRIORITY_QUEUE": "scrapy.pqueues.DownloaderAwarePriorityQueue",
        },
    ],
    ids=lambda own: "+".join(path.rpartition(".")[2] for path in own.values()),
)
async def test_own_downloader_and_queue(web: Web, own: dict[str, str]) -> None:
    """A user's downloader or scheduler queue costs speed, never a wait."""
    sites = [web.site({**FREE, "*": SLOW}) for _ in range(3)]
    tricks = {f"{sites[0].host}/1": "drop", f"{sites[1].host}/1": "answer"}
    asked = [site.url(f"/{number}") for number in range(3) for site in sites]
    settings = {
        "CONCURRENT_REQUESTS": 4,
        "DOWNLOADER_MIDDLEWARES": {"crawls.parts.Middleware": 50},
        "USERS_PARTS": tricks,
        **own,
    }
    run = await crawl_here(web, asked, settings, timeout=20)
    assert_ten_times(run.arrivals)
    assert sorted(len(paths(run, site)) for site in sites) == [3, 3, 4]
    assert_no_lease_left(run)


async def test_other_schemes_move_no_clock(web: Web, tmp_path: Path) -> None:
    """`data:` and `file:` URLs need no robots.txt and no turn."""
    (tmp_path / "page.html").write_text("local")
    asked = [f"data:,{number}" for number in range(9)] + [(tmp_path / "page.html").as_uri()]
    run = await crawl_here(web, asked, {"POLITE_MIN_DELAY": 1})
    assert run.outcome == {url: [200] for url in asked}
    assert run.seconds < len(asked)
    assert not any(name.startswith("polite/wait") for name in run.stats)
