"""Users' own components beside ours: no turn is lost, no wait is cut, no page is forgotten."""

from __future__ import annotations

import gc
from pathlib import Path
from weakref import ref

import pytest

from crawls.judging import MANY, paths
from crawls.promise import FREE, SLOW, assert_no_lease_left, assert_ten_times, pause
from harness import Answer, Web, crawl_here

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


async def test_middlewares_that_fetch_afterwards(web: Web) -> None:
    """A middleware may fetch from the same host after an answer, be it one of another middleware.

    That answer came after the request had its turn.
    """
    site = web.site({**FREE, "*": SLOW})
    asked = [site.url(f"/page{number}") for number in range(3)]
    middlewares = {"crawls.parts.Logout": 500, "crawls.parts.Middleware": 960}
    settings = {
        "DOWNLOADER_MIDDLEWARES": middlewares,
        "USERS_PARTS": {f"{site.host}/page0": "answer"},
    }
    run = await crawl_here(web, asked, settings, timeout=20)
    assert run.outcome == {url: [200] for url in asked}
    logouts = ["/logout0", "/logout1", "/logout2"]
    assert sorted(paths(run, site)) == [*logouts, "/page1", "/page2", "/robots.txt"]
    assert_ten_times(run.arrivals)
    assert_no_lease_left(run)


@pytest.mark.usefixtures("in_process")
async def test_a_crawl_that_is_over_is_forgotten(web: Web, tmp_path: Path) -> None:
    """A process may run one crawl after the other: nothing of ours keeps those before."""
    site = web.site({**FREE, "*": ""})
    quiet = {"LOG_LEVEL": "CRITICAL"}  # pytest keeps what is logged, and with it the spider
    run = await crawl_here(web, [site.url("/1")], {"JOBDIR": str(tmp_path), **quiet})
    assert run.outcome == {site.url("/1"): [200]}
    crawler = ref(run.crawler)
    del run
    for _ in range(100):
        await pause(0.05)  # the last tasks of the crawl may still be about to end
        gc.collect()
        if crawler() is None:
            break
    assert crawler() is None


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
    """A user's downloader or scheduler queue costs speed, never a wait, and no turn is lost.

    What middlewares take away behind the gate has a turn, and the next of its host waits for that
    one: the first site is so slow that no other one has anything left to do by then.
    """
    sites = [web.site({**FREE, "*": page}) for page in (Answer(delay=0.2), SLOW, SLOW)]
    tricks = {sites[0].host: "drop", sites[1].host: "answer"}
    asked = [site.url(f"/{number}") for number in range(4) for site in sites]
    settings = {
        "CONCURRENT_REQUESTS": 6,
        "DOWNLOADER_MIDDLEWARES": {
            "crawls.parts.Middleware": 50,
            "crawls.parts.LateMiddleware": 960,
        },
        "USERS_PARTS": {f"{host}/1": trick for host, trick in tricks.items()},
        "USERS_LATE_PARTS": {f"{host}/2": trick for host, trick in tricks.items()},
        **own,
    }
    run = await crawl_here(web, asked, settings, timeout=20)
    assert_ten_times(run.arrivals)
    assert sorted(run.outcome) == sorted(asked)
    assert sorted(len(paths(run, site)) for site in sites) == [3, 3, 5]
    assert_no_lease_left(run)


async def test_other_schemes_move_no_clock(web: Web, tmp_path: Path) -> None:
    """`data:` and `file:` URLs need no robots.txt and no turn."""
    (tmp_path / "page.html").write_text("local")
    asked = [f"data:,{number}" for number in range(9)] + [(tmp_path / "page.html").as_uri()]
    run = await crawl_here(web, asked, {"POLITE_MIN_DELAY": 1})
    assert run.outcome == {url: [200] for url in asked}
    assert run.seconds < len(asked)
    assert not any(name.startswith("polite/wait") for name in run.stats)
