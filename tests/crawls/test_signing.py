"""Signed requests: each one that leaves is signed anew, over what the server reads.

Rules: every request that a site recorded is verified (`verifying`), with cryptography alone.
"""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from scrapy import Request, Spider
from scrapy.http import Response
from scrapy.utils.test import get_crawler

from crawls.judging import MANY, moved
from crawls.promise import fetch_directly
from crawls.test_handlers import WAYS, Way, settings_of, way
from crawls.verifying import NAMES, Key, fault_of, make_key
from harness import Answer, Arrival, Crawl, CrawlFailed, Web, crawl, crawl_here
from harness.spider import Asking
from scrapy_polite.runtime.signing import target_of

pytest.importorskip("http_sf")
pytestmark = pytest.mark.crawl
assert way is not None  # the fixture

AGENT = "https://agent.test"
RULES = "User-agent: *\nDisallow: /private/\n"


@pytest.fixture
def key(tmp_path: Path) -> Key:
    """A key of the crawl's own."""
    return make_key(tmp_path / "key.pem")


def with_key(key: Key, **more: Any) -> dict[str, Any]:
    """Return settings that have requests signed."""
    signing = {"POLITE_SIGNATURE_KEY": str(key.path), "POLITE_SIGNATURE_AGENT": AGENT}
    return {**MANY, **signing, **more}


def assert_all_signed(run: Crawl, key: Key, scheme: str = "http") -> None:
    """Every request that came verifies, and no signature came twice."""
    assert run.arrivals
    faults = [
        f"{seen.path} {fault}"
        for seen in run.arrivals
        if (fault := fault_of(seen, key, AGENT, scheme))
    ]
    assert faults == []
    assert len({seen.headers["signature"] for seen in run.arrivals}) == len(run.arrivals)


@pytest.mark.usefixtures("in_process")
async def test_every_request_is_signed(web: Web, key: Key, tmp_path: Path) -> None:
    """Pages, robots.txt and its hops, redirects, repeats, refusals, media and direct downloads."""
    other = web.site({"/robots.txt": 404, "*": "text"})
    refused = Answer(429, {"Retry-After": "1"})
    home = web.site(
        {
            "/robots.txt": moved("/rules"),
            "/rules": RULES,
            "/go": moved(other.url("/hop?a=1&b=2")),
            "/broken": [500, ""],
            "/refused": [refused, ""],
            "*": "text",
        }
    )

    async def parse(self: Spider, response: Response, asked_url: str) -> Any:
        yield {"file_urls": [other.url("/file")]}
        await fetch_directly(self, [other.url("/direct")])

    media = {
        "ITEM_PIPELINES": {"scrapy.pipelines.files.FilesPipeline": 1},
        "FILES_STORE": str(tmp_path / "files"),
        "RETRY_ENABLED": True,
    }
    asked: list[Asking] = [
        *map(home.url, ("/go", "/broken", "/refused", "/a?x=1", "/private/x")),
        {"url": home.url("/form"), "method": "POST", "body": "a=b"},
    ]
    run = await crawl_here(web, asked, with_key(key, **media), {"parse": parse})
    assert_all_signed(run, key)
    paths = [seen.path for seen in run.arrivals]
    assert {"/robots.txt", "/rules", "/hop?a=1&b=2", "/file", "/direct", "/form"} <= set(paths)
    assert paths.count("/broken") == paths.count("/refused") == 2
    assert "/private/x" not in paths


@pytest.mark.parametrize("way", WAYS, indirect=True)
async def test_every_handler(way: Way, key: Key) -> None:
    """What each handler sends verifies: odd paths, a Host header, HTTP/2's authority."""
    scheme = "http" if way.web is Web else "https"
    with way.web() as web:
        site = web.site({"/robots.txt": RULES, "*": ""})
        paths = ["", "?q=1", "/a/../b/./c", "/%7Euser/%2e%2e/x", "/a%2Fb;c=d,(e)'f!$&*+", "//x//y"]
        paths += ["/[x]^|{y}`", "/caf%C3%A9%20x", "/é ü", "/a:b@c?d=e/f#g", "/%zz%", "/a\\b"]
        asked: list[Asking] = [f"{site.url('')}{path}" for path in paths]
        run = await crawl_here(web, asked, with_key(key, **settings_of(way)))
    assert len(run.arrivals) > len(paths) - 3, run.outcome
    assert_all_signed(run, key, scheme)


@pytest.mark.usefixtures("in_process")
@pytest.mark.parametrize("way", [name for name in WAYS if name != "HTTP/2"], indirect=True)
async def test_a_host_header(way: Way, key: Key) -> None:
    """A Host header of a middleware's is what is signed, where it is what is sent.

    Scrapy's HTTP/2 sends it beside another authority, which servers refuse.
    """
    scheme = "http" if way.web is Web else "https"
    with way.web() as web:
        site = web.site({"/robots.txt": RULES, "*": ""})
        asked: list[Asking] = [{"url": site.url("/a"), "headers": {"Host": "Other.Test:8080"}}]
        run = await crawl_here(web, asked, with_key(key, **settings_of(way)))
    assert [seen.path for seen in run.arrivals] == ["/robots.txt", "/a"]
    assert_all_signed(run, key, scheme)


@pytest.mark.parametrize(
    ("url", "authority"),
    [
        ("http://[::1]:80/", "[::1]"),
        ("http://[2001:DB8::1]:8080/", "[2001:db8::1]:8080"),
        ("http://bücher.test/", "xn--bcher-kva.test"),
        ("https://Site.Test:443/", "site.test"),
        ("http://site.test:443/", "site.test:443"),
    ],
)
def test_the_authority_of_a_url(url: str, authority: str) -> None:
    """Default ports and case do not count, brackets do, and a name is in punycode."""
    assert target_of(get_crawler(), Request(url)).authority == authority


@pytest.mark.usefixtures("in_process")
async def test_ipv6(web: Web, key: Key) -> None:
    """The server at an IPv6 address is sent what verifies."""
    heads: list[dict[str, str]] = []
    try:
        listener = socket.create_server(("::1", 0), family=socket.AF_INET6)
    except OSError:
        pytest.skip("this machine has no ::1")
    thread = threading.Thread(target=_answer, args=(listener, heads), daemon=True)
    thread.start()
    url = f"http://[::1]:{listener.getsockname()[1]}/a"
    meta = {"dont_obey_robotstxt": True}
    run = await crawl_here(web, [{"url": url, "meta": meta}], with_key(key))
    thread.join(10)
    assert run.outcome[url] == [200]
    seen = Arrival("", 0, "/a", "GET", 0, 0, 200, "answered", heads[0], 1)
    assert fault_of(seen, key, AGENT) is None


def _answer(listener: socket.socket, heads: list[dict[str, str]]) -> None:
    """Answer one request, and keep its headers."""
    with listener, listener.accept()[0] as connection:
        lines = connection.recv(65_536).decode("latin-1").split("\r\n")[1:]
        heads.append({n.lower(): v for n, _, v in (line.partition(": ") for line in lines)})
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")


class Meddler:
    """A middleware next to the downloader that changes where requests go, and their signature."""

    def process_request(self, request: Request) -> Request | None:
        for name in NAMES:
            request.headers[name] = "sig1=:Zm9yZ2Vk:"
        if request.url.endswith("/old"):
            request._set_url(request.url.replace("/old", "/new"))
        return None


@pytest.mark.usefixtures("in_process")
async def test_what_middlewares_change(web: Web, key: Key) -> None:
    """The URL that a late middleware leaves behind is signed, and its own signature replaced."""
    site = web.site({"/robots.txt": RULES, "*": ""})
    late = {"DOWNLOADER_MIDDLEWARES": {Meddler: 999}}
    run = await crawl_here(web, [site.url("/old")], with_key(key, **late))
    assert [seen.path for seen in run.arrivals] == ["/robots.txt", "/new"]
    assert_all_signed(run, key)


@pytest.mark.usefixtures("in_process")
async def test_a_downloader_of_ones_own(web: Web, key: Key) -> None:
    """Scrapy's own downloader in place of ours sends signed requests too."""
    site = web.site({"/robots.txt": RULES, "/go": moved("/hop"), "*": ""})
    foreign = {"DOWNLOADER": "scrapy.core.downloader.Downloader"}
    run = await crawl_here(web, [site.url("/go")], with_key(key, **foreign))
    assert [seen.path for seen in run.arrivals] == ["/robots.txt", "/go", "/hop"]
    assert_all_signed(run, key)


async def test_without_a_key_nothing_is_signed(web: Web) -> None:
    """No request has any of the three headers."""
    site = web.site({"/robots.txt": RULES, "*": ""})
    run = await crawl_here(web, [site.url("/a")], {"POLITE_SIGNATURE_AGENT": AGENT})
    assert not any(NAMES & seen.headers.keys() for seen in run.arrivals)


@pytest.mark.usefixtures("in_process")
async def test_a_spider_has_its_own_key(web: Web, key: Key, tmp_path: Path) -> None:
    """`custom_settings` count, and the agent is the origin of the spider's contact."""
    site, own = web.site({"/robots.txt": 404, "*": ""}), make_key(tmp_path / "own.json", jwk=True)
    custom = {
        "POLITE_SIGNATURE_KEY": own.path,
        "POLITE_SIGNATURE_AGENT": None,
        "POLITE_CONTACT_URL": "https://Own.test:443/bot",
    }
    attributes = {"custom_settings": custom}
    run = await crawl_here(web, [site.url("/a")], with_key(key), attributes)
    assert [fault_of(seen, own, "https://own.test") for seen in run.arrivals] == [None, None]


@pytest.mark.usefixtures("in_process")
async def test_no_signature_is_left_on_a_request(web: Web, key: Key) -> None:
    """What a spider, a cache or a queue gets to see of a request is not signed."""
    site = web.site({"/robots.txt": 404, "*": ""})
    seen: list[set[str]] = []

    def parse(self: Spider, response: Response, asked_url: str) -> None:
        assert response.request is not None
        seen.append({name.decode().lower() for name in response.request.headers})

    await crawl_here(web, [site.url("/a")], with_key(key), {"parse": parse})
    assert len(seen) == 1
    assert not seen[0] & NAMES


FAULTS = {
    "missing": ({"POLITE_SIGNATURE_KEY": "/nowhere/key.pem"}, "POLITE_SIGNATURE_KEY: .*No such"),
    "no path": ({"POLITE_SIGNATURE_KEY": 5}, "POLITE_SIGNATURE_KEY is 5: write"),
    "http": ({"POLITE_SIGNATURE_AGENT": "http://agent.test"}, "POLITE_SIGNATURE_AGENT is .*https"),
    "a path": ({"POLITE_SIGNATURE_AGENT": f"{AGENT}/keys"}, "POLITE_SIGNATURE_AGENT is .*origin"),
    "no agent": ({"POLITE_SIGNATURE_AGENT": None}, "POLITE_SIGNATURE_AGENT is not set, and"),
}


@pytest.mark.parametrize("name", FAULTS)
async def test_a_crawl_that_cannot_sign_does_not_start(web: Web, key: Key, name: str) -> None:
    """One sentence says what to write, and nothing is sent."""
    settings, said = FAULTS[name]
    site = web.site({"*": ""})
    with pytest.raises(CrawlFailed, match=f"ValueError: {said}"):
        await crawl_here(web, [site.url("/a")], with_key(key, **settings))
    assert web.arrivals() == []


@pytest.fixture
def without_http_sf(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """As if the extra was not installed."""
    monkeypatch.setitem(__import__("sys").modules, "http_sf", None)
    yield


@pytest.mark.usefixtures("in_process", "without_http_sf")
async def test_the_extra_is_missing(web: Web, key: Key) -> None:
    """The sentence says what to install."""
    site = web.site({"*": ""})
    with pytest.raises(CrawlFailed, match=r"pip install 'scrapy-polite\[signatures\]'"):
        await crawl_here(web, [site.url("/a")], with_key(key))
    assert web.arrivals() == []


def test_the_key_stays_where_it_is(web: Web, key: Key, tmp_path: Path) -> None:
    """No log, report, event log, state, feed or JOBDIR of a crawl has the key, resumed or not."""
    site = web.site({"/robots.txt": RULES, "/busy": [Answer(429, {"Retry-After": "900"})], "*": ""})
    out = tmp_path / "out"
    out.mkdir()
    settings = with_key(
        key,
        LOG_LEVEL="DEBUG",
        LOG_FILE=str(out / "log"),
        JOBDIR=str(out / "job"),
        POLITE_STATE=str(out / "state.db"),
        POLITE_REPORT=str(out / "report.html"),
        POLITE_TIMELINE=str(out / "events.jsonl"),
        HTTPCACHE_ENABLED=True,
        HTTPCACHE_DIR=str(out / "cache"),
        FEEDS={str(out / "items.jsonl"): {"format": "jsonlines"}},
    )
    asked: list[Asking] = [site.url(path) for path in ("/a", "/b", "/busy", "/private/x")]
    for _ in range(2):
        run = crawl(web, asked, {**settings, "CLOSESPIDER_TIMEOUT": 3})
        assert not any(secret in run.log for secret in key.secrets)
    written = {path: path.read_bytes() for path in out.rglob("*") if path.is_file()}
    assert {"log", "report.html", "events.jsonl", "state.db"} <= {path.name for path in written}
    for path, octets in written.items():
        assert not any(secret.encode() in octets for secret in key.secrets), path
        assert key.private.private_bytes_raw() not in octets, path


def test_reactorless(key: Key) -> None:
    """Without a reactor requests are signed too."""
    with Web() as web:
        site = web.site({"/robots.txt": RULES, "/go": moved("/hop"), "*": ""})
        without = {"TWISTED_REACTOR_ENABLED": False}
        run = crawl(web, [site.url("/go")], with_key(key, **without))
    assert [seen.path for seen in run.arrivals] == ["/robots.txt", "/go", "/hop"]
    assert_all_signed(run, key)
