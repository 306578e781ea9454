"""The demo web answers as its owners wish, and its referee finds what is in a log and no more.

The sockets are tried on 127.0.0.1 only: some systems have no other loopback address.
"""

from __future__ import annotations

import asyncio
import io
import json
import os
import re
import socket
import subprocess
import sys
from collections.abc import Coroutine
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar
from urllib.robotparser import RobotFileParser

import pytest

PROJECT = Path(__file__).resolve().parents[1] / "example_project"
sys.path.insert(0, str(PROJECT))

from demo_web import table  # noqa: E402
from demo_web.answers import SiteAnswers  # noqa: E402
from demo_web.pages import site_pages  # noqa: E402
from demo_web.referee import (  # noqa: E402
    Fetch,
    Figures,
    broken_promises,
    judge,
    judge_site,
    read_log,
    total,
)
from demo_web.server import running_web  # noqa: E402
from demo_web.sites import SITES, Quota, Site  # noqa: E402

NAMED = {site.name: site for site in SITES}
WITH_PAGES = [site for site in SITES if site.has_pages]
HOST = "127.0.0.1"
T = TypeVar("T")


# The sites and their pages


@pytest.mark.parametrize("site", WITH_PAGES, ids=lambda site: site.name)
class TestPages:
    def test_there_are_12_to_25_pages_of_real_text(self, site: Site) -> None:
        pages = site_pages(site)
        assert 12 <= len(pages) <= 25
        sections = [text for path, text in pages.items() if path != "/" and not site.forbids(path)]
        assert min(len(re.findall(r"\w+", text)) for text in sections) > 40

    def test_links_lead_to_pages_and_the_front_page_has_them_all(self, site: Site) -> None:
        pages = site_pages(site)
        links = {path: set(re.findall(r'href="([^"]+)"', text)) for path, text in pages.items()}
        assert set().union(*links.values()) == set(pages)
        assert links["/"] == set(pages) - {"/"}

    def test_an_independent_parser_reads_the_owners_wishes_in_robots_txt(self, site: Site) -> None:
        parser = RobotFileParser()
        parser.parse(site.robots_txt().splitlines())
        wishes = {path: not site.forbids(path) for path in site_pages(site)}
        assert {path: parser.can_fetch("AnyBot", path) for path in wishes} == wishes
        delay = parser.crawl_delay("AnyBot")
        assert (None if delay is None else float(delay)) == site.crawl_delay


def test_forbidden_parts_have_pages_that_the_front_page_links_to() -> None:
    forbidding = {site.name for site in SITES if any(map(site.forbids, site_pages(site)))}
    assert forbidding == {site.name for site in SITES if site.forbidden}
    assert len(forbidding) >= 3


# The answers

ROBOTS_ANSWERS = {
    "a file that allows all": ("robots", 0, 200, "Allow: /\n", None),
    "a file that forbids a part": ("garden", 0, 200, "Disallow: /drafts/\n", None),
    "a file with Crawl-delay": ("bread", 0, 200, "Crawl-delay: 2\n", None),
    "no file": ("tides", 0, 404, "", None),
    "503 at first": ("lighthouses", 0, 503, "", 6),
    "503 with the seconds that are left, rounded up": ("lighthouses", 3.5, 503, "", 3),
    "503 until the last moment": ("lighthouses", 5.999, 503, "", 1),
    "the file once the site is open": ("lighthouses", 6, 200, "Disallow: /keepers/\n", None),
    "a redirect": ("clocks", 0, 301, "", None),
}


@pytest.mark.parametrize("case", ROBOTS_ANSWERS.values(), ids=ROBOTS_ANSWERS)
def test_robots_txt_is_answered_with(case: tuple[str, float, int, str, int | None]) -> None:
    name, age, status, words, retry_after = case
    answers = SiteAnswers(NAMED[name], port=80)
    answers.answer("/", now=100.0)
    answer = answers.answer("/robots.txt", now=100.0 + age)
    assert (answer.status, answer.retry_after) == (status, retry_after)
    assert words in answer.body


def test_the_redirect_of_robots_txt_leads_to_the_rules_of_the_site_that_was_asked() -> None:
    location = SiteAnswers(NAMED["clocks"], port=8123).answer("/robots.txt", now=0).location
    keeper = NAMED["rulebook"]
    prefix = f"http://{keeper.address}:8123"
    assert location is not None
    assert location.startswith(prefix)
    kept = SiteAnswers(keeper, port=8123).answer(location.removeprefix(prefix), now=0)
    assert (kept.status, kept.body) == (200, NAMED["clocks"].robots_txt())


def test_a_page_that_is_not_there_is_answered_404() -> None:
    assert SiteAnswers(NAMED["garden"], port=80).answer("/nothing", now=0).status == 404


def test_the_quota_refuses_all_pages_until_its_period_is_over_and_never_robots_txt() -> None:
    site = replace(NAMED["stars"], quota=Quota(pages=2, seconds=10.0))
    answers = SiteAnswers(site, port=80)
    walk = [(0, "/"), (4, "/dark"), (5.5, "/"), (5.5, "/robots.txt"), (9.9, "/moon"), (10, "/moon")]
    seen = [(answers.answer(path, now=100.0 + age)) for age, path in walk]
    assert [answer.status for answer in seen] == [200, 200, 429, 200, 429, 200]
    assert [answer.retry_after for answer in seen] == [None, None, 5, None, 1, None]


# The sockets and the log


def in_its_own_loop(job: Coroutine[Any, Any, T]) -> T:
    """What the job returns; in a thread, because the reactor of the tests runs in this one."""
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(asyncio.run, job).result()


async def talk(site: Site, *requests: bytes, log: io.StringIO | None = None) -> list[bytes]:
    """What the site sends back on one connection for each chunk of octets sent to it."""
    async with running_web(log=log, sites=[site]) as port:
        reader, writer = await asyncio.open_connection(HOST, port)
        received = []
        for request in requests:
            writer.write(request)
            received.append(await read_response(reader))
        writer.close()
        await writer.wait_closed()
    return received


async def read_response(reader: asyncio.StreamReader) -> bytes:
    """One response, head and body; empty when the connection was closed instead."""
    head = b""
    while not head.endswith(b"\r\n\r\n"):
        line = await asyncio.wait_for(reader.readline(), 10)
        if not line:
            return head
        head += line
    length = re.search(rb"Content-Length: (\d+)", head)
    assert length is not None
    return head + await asyncio.wait_for(reader.readexactly(int(length[1])), 10)


def request(path: str, **headers: str) -> bytes:
    fields = {"Host": HOST, **headers}
    lines = [f"GET {path} HTTP/1.1", *(f"{name}: {value}" for name, value in fields.items())]
    return "\r\n".join([*lines, "", ""]).encode()


LOCAL_GARDEN = replace(NAMED["garden"], address=HOST, seconds=0.06)


def test_two_requests_on_one_connection_are_answered_and_logged_with_their_times() -> None:
    log = io.StringIO()
    requests = request("/"), request("/soil?from=test", **{"User-Agent": "A/1", "From": "a@b.test"})
    front, soil = in_its_own_loop(talk(LOCAL_GARDEN, *requests, log=log))
    assert front.startswith(b"HTTP/1.1 200 OK\r\n")
    assert soil.endswith(site_pages(LOCAL_GARDEN)["/soil"].encode())
    first, second = read_log(log.getvalue().splitlines())
    assert [(x.path, x.user_agent, x.sender) for x in (first, second)] == [
        ("/", None, None),
        ("/soil", "A/1", "a@b.test"),
    ]
    assert min(x.end - x.start for x in (first, second)) >= 0.06 * 0.99
    assert second.start >= first.end


def test_a_refusal_is_sent_and_logged_with_its_retry_after() -> None:
    site = replace(NAMED["lighthouses"], address=HOST, seconds=0)
    log = io.StringIO()
    (answer,) = in_its_own_loop(talk(site, request("/robots.txt"), log=log))
    assert answer.startswith(b"HTTP/1.1 503 Service Unavailable\r\n")
    assert b"\r\nRetry-After: 6\r\n" in answer
    assert [(x.status, x.retry_after) for x in read_log(log.getvalue().splitlines())] == [(503, 6)]


def test_a_visitor_who_leaves_before_the_answer_is_logged() -> None:
    async def leave(log: io.StringIO) -> None:
        async with running_web(log=log, sites=[replace(LOCAL_GARDEN, seconds=0.2)]) as port:
            _, writer = await asyncio.open_connection(HOST, port)
            writer.write(request("/soil"))
            await writer.drain()
            writer.close()
            await asyncio.sleep(0.5)

    log = io.StringIO()
    in_its_own_loop(leave(log))
    assert [x.path for x in read_log(log.getvalue().splitlines())] == ["/soil"]


@pytest.mark.parametrize("noise", [b"hello\r\n\r\n", request("/", X="x" * 40_000)])
def test_what_is_not_a_request_ends_its_connection_and_not_the_site(noise: bytes) -> None:
    async def noise_then_request() -> list[bytes]:
        async with running_web(sites=[replace(LOCAL_GARDEN, seconds=0)]) as port:
            answers = []
            for octets in (noise, request("/")):
                reader, writer = await asyncio.open_connection(HOST, port)
                writer.write(octets)
                try:
                    answers.append(await read_response(reader))
                except ConnectionError:  # unread octets turn the close into a reset
                    answers.append(b"")
                writer.close()
            return answers

    refused, answered = in_its_own_loop(noise_then_request())
    assert refused == b""
    assert answered.startswith(b"HTTP/1.1 200 OK")


def test_a_taken_port_is_an_error_and_leaves_no_socket_open() -> None:
    async def open_twice() -> None:
        async with running_web(sites=[LOCAL_GARDEN]) as port:
            with pytest.raises(OSError, match="in use"):
                async with running_web(port, sites=[LOCAL_GARDEN]):
                    pass

    in_its_own_loop(open_twice())


# The referee, on logs written by hand

SITE = Site("hand", HOST, 0, "", forbidden=("/no/",), has_pages=False)
SLOW_SITE = replace(SITE, crawl_delay=3.0)


def fetch(start: float, end: float, path: str = "/", *, retry_after: float | None = None) -> Fetch:
    return Fetch(HOST, path, start, end, 200, retry_after=retry_after)


JUDGED: dict[str, tuple[Site, list[Fetch], dict[str, object]]] = {
    "nothing": (SITE, [], {"requests": 0, "most_at_once": 0, "least_ratio": None}),
    "one request has no wait": (SITE, [fetch(0, 1)], {"most_at_once": 1, "least_ratio": None}),
    "one after the other": (
        SITE,
        [fetch(0, 1), fetch(11, 12)],
        {"most_at_once": 1, "least_ratio": 10},
    ),
    "the least wait of three": (
        SITE,
        [fetch(0, 1), fetch(21, 23), fetch(33, 34)],
        {"least_ratio": 5},
    ),
    "an overlap": (SITE, [fetch(0, 3), fetch(2, 4)], {"most_at_once": 2, "least_ratio": 0}),
    "three at once, two of them after the first ended": (
        SITE,
        [fetch(0, 9), fetch(1, 2), fetch(3, 4), fetch(3.5, 5)],
        {"most_at_once": 3},
    ),
    "a wait counts from the end of the longest fetch": (
        SITE,
        [fetch(0, 5), fetch(1, 2), fetch(10, 11)],
        {"least_ratio": 0, "most_at_once": 2},
    ),
    "an early return": (
        SITE,
        [fetch(0, 1, retry_after=5), fetch(5.9, 6)],
        {"waits_asked": 1, "waits_kept": 0},
    ),
    "a return in time": (
        SITE,
        [fetch(0, 1, retry_after=5), fetch(6, 7)],
        {"waits_asked": 1, "waits_kept": 1},
    ),
    "no return at all": (SITE, [fetch(0, 1, retry_after=5)], {"waits_asked": 1, "waits_kept": 1}),
    "a request under way when the refusal came is no return": (
        SITE,
        [fetch(0, 2, retry_after=5), fetch(1, 3), fetch(8, 9)],
        {"waits_asked": 1, "waits_kept": 1},
    ),
    "two refusals, one kept to": (
        SITE,
        [fetch(0, 1, retry_after=5), fetch(2, 3, retry_after=4), fetch(7, 8)],
        {"waits_asked": 2, "waits_kept": 1},
    ),
    "Crawl-delay": (
        SLOW_SITE,
        [fetch(0, 1), fetch(4, 5), fetch(7.9, 8)],
        {"waits_asked": 2, "waits_kept": 1},
    ),
    "Crawl-delay and Retry-After": (
        SLOW_SITE,
        [fetch(0, 1, retry_after=9), fetch(4, 5)],
        {"waits_asked": 2, "waits_kept": 1},
    ),
    "forbidden pages": (
        SITE,
        [fetch(0, 1, "/no/x"), fetch(2, 3, "/no"), fetch(4, 5, "/yes/no/"), fetch(6, 7, "/no/x")],
        {"requests": 4, "forbidden": 2},
    ),
}


@pytest.mark.parametrize("case", JUDGED.values(), ids=JUDGED)
def test_the_referee_judges(case: tuple[Site, list[Fetch], dict[str, object]]) -> None:
    site, fetches, expected = case
    figures = judge_site(site, fetches)
    assert {name: getattr(figures, name) for name in expected} == expected


def test_pages_got_are_different_allowed_pages_answered_200() -> None:
    garden = NAMED["garden"]
    paths = "/", "/soil", "/soil", "/robots.txt", "/drafts/moon"
    fetches = [Fetch(HOST, path, n, n + 0.5, 200) for n, path in enumerate(paths)]
    fetches.append(Fetch(HOST, "/peas", 9, 10, 429))
    figures = judge_site(garden, fetches)
    assert (figures.pages, figures.allowed, figures.requests, figures.forbidden) == (2, 13, 6, 1)


def test_a_log_is_read_in_the_order_of_starts_and_each_site_gets_its_own_lines() -> None:
    garden, tides = NAMED["garden"].address, NAMED["tides"].address
    lines = [
        json.dumps({"host": host, "path": "/", "start": start, "end": start + 1, "status": 200})
        for host, start in ((garden, 5), (tides, 3), (garden, 1))
    ]
    fetches = read_log(lines)
    assert [fetch.start for fetch in fetches] == [1, 3, 5]
    judged = judge(fetches)
    assert [judged[name].requests for name in ("garden", "tides", "stars")] == [2, 1, 0]


KEPT = Figures(9, 5, 5, 1, 10.0, 2, 2, 0)


def test_a_total_takes_the_worst_of_each_site_or_the_sum() -> None:
    sites = [KEPT, replace(KEPT, most_at_once=3, least_ratio=None), replace(KEPT, least_ratio=2.5)]
    assert total(sites) == Figures(27, 15, 15, 3, 2.5, 6, 6, 0)


BROKEN: dict[str, tuple[Figures, str]] = {
    "an overlap": (replace(KEPT, most_at_once=2), "2 requests at once"),
    "a short wait": (replace(KEPT, least_ratio=9.99), "a wait of 9.99 fetches"),
    "no wait": (replace(KEPT, least_ratio=0.0), "a wait of 0.00 fetches"),
    "an early return": (replace(KEPT, waits_kept=1), "asked wait"),
    "a forbidden page": (replace(KEPT, forbidden=1), "1 forbidden"),
    "a crawl that fetched nothing": (replace(KEPT, pages=0), "nothing was fetched"),
}


@pytest.mark.parametrize("case", BROKEN.values(), ids=BROKEN)
def test_each_broken_promise_is_named_alone(case: tuple[Figures, str]) -> None:
    figures, words = case
    (broken,) = broken_promises(figures)
    assert words in broken


def test_a_crawl_that_kept_everything_broke_nothing() -> None:
    assert broken_promises(KEPT) == []


# The text


def test_the_table_has_a_row_for_each_site_and_fits_100_columns() -> None:
    wide = Figures(9999, 25, 25, 99, 999.9, 99, 99, 99)
    text = table.table({site.name: wide for site in SITES}, {site.name: KEPT for site in SITES})
    assert max(map(len, text.splitlines())) <= 100
    for site in SITES:
        (row,) = (line for line in text.splitlines() if line.startswith(f"{site.name} "))
        assert row[:29].split() == f"{site.name} {site.manner}".split()
        assert row.endswith("  9999      9    99      1 999.9   10.0 99/99    2/2    99      0")


def test_the_last_words_follow_from_the_figures() -> None:
    worse = replace(KEPT, forbidden=1, most_at_once=2)
    assert "kept every promise; stock Scrapy would have broken 2" in table.verdict(worse, KEPT)
    assert "broke a promise: 2 requests at once" in table.verdict(KEPT, worse)
    assert "2 of 7 requested waits" in table.sentence("Some crawl", replace(KEPT, waits_asked=7))


def test_signatures_name_each_visitor_once_with_its_address() -> None:
    visits = [replace(fetch(0, 1), user_agent="A/1", sender="a@b.test")] * 2 + [fetch(2, 3)]
    assert table.signatures(visits).splitlines() == ["  A/1, From: a@b.test", "  nobody"]


# The Scrapy project


def scrapy(*arguments: str, project: str = "default") -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "scrapy", *arguments],
        cwd=PROJECT,
        env={**os.environ, "SCRAPY_PROJECT": project},
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )


@pytest.mark.parametrize(
    ("project", "addons"), [("default", {"scrapy_polite.Addon": 500}), ("stock", {})]
)
def test_the_project_is_the_same_with_and_without_the_add_on(
    project: str, addons: dict[str, int]
) -> None:
    assert json.loads(scrapy("settings", "--get", "ADDONS", project=project).stdout) == addons
    assert scrapy("settings", "--get", "DOWNLOAD_DELAY", project=project).stdout.strip() == "1"


def other_loopback_addresses() -> bool:
    """Whether the system has them without further ado (Linux has, macOS has not)."""
    try:
        socket.create_server((SITES[0].address, 0)).close()
    except OSError:
        return False
    return True


@pytest.mark.slow
@pytest.mark.skipif(not other_loopback_addresses(), reason="127.0.0.1 is the only loopback address")
def test_the_demo_ends_with_the_proof_and_exit_status_0(tmp_path: Path) -> None:
    demo = subprocess.run(
        [sys.executable, "run_demo.py", "--seconds", "4", "--keep", str(tmp_path)],
        cwd=PROJECT,
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert demo.returncode == 0, demo.stdout + demo.stderr
    assert "the polite crawl kept every promise" in demo.stdout
    polite = read_log((tmp_path / "polite" / "web.jsonl").read_text().splitlines())
    assert {(fetch.user_agent, fetch.sender) for fetch in polite} == {
        (
            "AlmanacBot/1.0 (+https://almanac.test/crawler; crawler@almanac.test)",
            "crawler@almanac.test",
        ),
        ("ChronicleBot/2.0 (+https://chronicle.test/about-our-robot)", None),
    }
