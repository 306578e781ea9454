"""The harness itself: what it serves, what it records, and that it sees what stock Scrapy does."""

from __future__ import annotations

import http.client
import socket
from itertools import pairwise
from typing import Any

import pytest

from harness import (
    Answer,
    Arrival,
    Asked,
    CrawlFailed,
    Site,
    Web,
    crawl,
    crawl_here,
    gaps,
    most_at_once,
    robots_fetches,
)
from harness.apart import WebApart

HELLO = "<html><body>Hello.</body></html>"


def ask(site: Site, path: str = "/", method: str = "GET", **headers: str) -> tuple[int, bytes]:
    """Make one request and return status and body."""
    connection = http.client.HTTPConnection(site.host, site.port, timeout=5)
    try:
        connection.request(method, path, headers=headers)
        response = connection.getresponse()
        return response.status, response.read()
    finally:
        connection.close()


def arrival(host: str, start_at: float, end_at: float, path: str = "/") -> Arrival:
    """Return a record of which only host, path and time matter."""
    return Arrival(host, 80, path, "GET", start_at, end_at, 200, "answered", {}, 1)


class TestRecord:
    """The questions asked of a log."""

    @pytest.mark.parametrize(
        ("spans", "expected"),
        [
            ([], 0),
            ([(0, 1)], 1),
            ([(1, 1)], 1),
            ([(0, 1), (1, 2)], 1),
            ([(0, 2), (1, 3)], 2),
            ([(0, 9), (1, 2), (3, 4)], 2),
            ([(0, 3), (1, 3), (2, 3), (3, 4)], 3),
        ],
    )
    def test_most_at_once(self, spans: list[tuple[float, float]], expected: int) -> None:
        """Requests overlap when one starts before another has ended, not at that instant."""
        assert most_at_once([arrival("a", *span) for span in spans]) == expected

    def test_most_at_once_of_one_host(self) -> None:
        """Only the arrivals of the host that is asked for count."""
        log = [arrival("a", 0, 2), arrival("b", 0, 2), arrival("b", 1, 2)]
        assert [most_at_once(log, host) for host in ("a", "b", "c", None)] == [1, 2, 0, 3]

    def test_gaps(self) -> None:
        """A gap runs from the end of a fetch to the next start on that host, whatever the order."""
        log = [arrival("a", 12, 13), arrival("b", 0, 9), arrival("a", 0, 2), arrival("b", 8, 9)]
        assert [(gap.host, gap.wait, gap.ratio) for gap in gaps(log)] == [
            ("b", -1, -1 / 9),
            ("a", 10, 5),
        ]

    def test_robots_fetches(self) -> None:
        """Fetches of /robots.txt are told from pages."""
        first, second = arrival("a", 0, 1, "/robots.txt"), arrival("b", 1, 2, "/robots.txt")
        log = [first, arrival("a", 1, 2), second]
        assert robots_fetches(log) == [first, second]
        assert robots_fetches(log, "b") == [second]


class TestServer:
    """What the server answers and records."""

    @pytest.mark.parametrize(
        ("page", "expected"),
        [
            (404, (404, b"")),
            ("héllo", (200, "héllo".encode())),
            (b"\xff\x00", (200, b"\xff\x00")),
            ({"status": 503, "body": "later"}, (503, b"later")),
            (Answer(size_bytes=300_000), (200, b"x" * 300_000)),
            (Answer(304, body="never sent"), (304, b"")),
            (lambda asked: f"{asked.method} {asked.path}", (200, b"GET /p?q=1")),
        ],
    )
    def test_page(self, web: Web, page: Any, expected: tuple[int, bytes]) -> None:
        """Each kind of page is served and recorded as it says."""
        site = web.site({"/p": page})
        assert ask(site, "/p?q=1") == expected
        [seen] = web.arrivals(site.host)
        assert (seen.path, seen.status, seen.ended) == ("/p?q=1", expected[0], "answered")

    def test_lookup(self, web: Web) -> None:
        """The path with its query wins over the path, the path over "*", and the rest is 404."""
        site = web.site({"/a?x": "query", "/a": "path", "*": "any"})
        assert [ask(site, p)[1] for p in ("/a?x", "/a?y", "/b")] == [b"query", b"path", b"any"]
        assert ask(web.site({"/a": "path"}), "/b")[0] == 404

    def test_list(self, web: Web) -> None:
        """A list of answers is taken in turn, and the last one repeated."""
        site = web.site({"*": [200, [503], 404]})
        assert [ask(site)[0] for _ in range(4)] == [200, 503, 404, 404]

    def test_headers(self, web: Web) -> None:
        """Headers go out as given, also twice, and those that came are recorded."""
        site = web.site({"*": Answer(headers=[("Retry-After", "1"), ("Retry-After", "2")])})
        connection = http.client.HTTPConnection(site.host, site.port, timeout=5)
        connection.request("POST", "/", body=b"a\r\n\r\nb", headers={"X-Who": "me"})
        assert connection.getresponse().getheader("Retry-After") == "1, 2"
        connection.close()
        [seen] = web.arrivals()
        assert (seen.method, seen.headers["x-who"], seen.headers["content-length"]) == (
            "POST",
            "me",
            "6",
        )

    @pytest.mark.parametrize("slow", [{"delay": 0.1}, {"body_delay": 0.1}])
    def test_slow(self, web: Web, slow: dict[str, float]) -> None:
        """A delay before headers or before the body is part of the recorded duration."""
        assert ask(web.site({"*": {**slow, "body": "x"}})) == (200, b"x")
        assert web.arrivals()[0].duration >= 0.1

    def test_body_delay(self, web: Web) -> None:
        """With a body delay, the headers arrive before the body."""
        site = web.site({"*": Answer(body="late", body_delay=0.2)})
        with socket.create_connection((site.host, site.port), timeout=5) as client:
            client.sendall(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
            assert client.recv(4096).endswith(b"\r\n\r\n")
            assert client.recv(4096) == b"late"

    def test_drop(self, web: Web) -> None:
        """A dropped request gets a reset and is recorded without a status."""
        site = web.site({"*": Answer(drop=True)})
        with pytest.raises(ConnectionError):
            ask(site)
        [seen] = web.arrivals()
        assert (seen.status, seen.ended) == (None, "dropped")

    def test_hang(self, web: Web) -> None:
        """A hanging request is recorded once the client has left."""
        site = web.site({"*": Answer(hang=True)})
        with socket.create_connection((site.host, site.port)) as client:
            client.sendall(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
            client.settimeout(0.1)
            with pytest.raises(TimeoutError):
                client.recv(1)
            assert web.arrivals() == []
        [seen] = web.arrivals()
        assert (seen.status, seen.ended) == (None, "left")
        assert seen.duration >= 0.05  # of 0.1; the server may notice the request late

    def test_keep_alive(self, web: Web) -> None:
        """Requests on one connection share its number; `Connection: close` ends it."""
        site = web.site({"*": "x", "/last": Answer(headers={"Connection": "close"})})
        connection = http.client.HTTPConnection(site.host, site.port, timeout=5)
        for path in ("/1", "/2", "/last"):
            connection.request("GET", path)
            connection.getresponse().read()
        assert connection.sock is None
        ask(site)
        assert [seen.connection for seen in web.arrivals()] == [1, 1, 1, 2]

    def test_head(self, web: Web) -> None:
        """A HEAD request gets no body."""
        assert ask(web.site({"*": "body"}), method="HEAD") == (200, b"")

    def test_hosts(self, web: Web) -> None:
        """Sites have hosts of their own on one port unless told otherwise; deserted ones refuse."""
        first, second = web.site({"*": "1"}), web.site({"*": "2"})
        other_port = web.site({"*": "3"}, host=first.host, port=0)
        assert first.host != second.host
        assert first.port == second.port != other_port.port
        assert [ask(site)[1] for site in (first, second, other_port)] == [b"1", b"2", b"3"]
        with pytest.raises(ConnectionRefusedError):
            ask(web.deserted())
        with Web() as another:
            assert not another.block.overlaps(web.block)

    def test_loopback_only(self, web: Web) -> None:
        """No site listens where other machines could reach it."""
        assert ask(web.site({"*": "x"}, host="localhost")) == (200, b"x")
        with pytest.raises(ValueError, match=r"0\.0\.0\.0 is no loopback host"):
            web.site({}, host="0.0.0.0")

    def test_bug(self) -> None:
        """A page function that fails answers 500, and the web raises its error at the end."""

        def page(asked: Asked) -> int:
            raise LookupError(asked.path)

        with pytest.raises(LookupError, match="/p"), Web() as web:
            assert ask(web.site({"*": page}), "/p")[0] == 500

    def test_apart(self) -> None:
        """A web in a process of its own serves the same and hands over the same record."""
        host = str(next(Web().block.hosts()))
        with WebApart({host: {"*": [Answer(body=b"\xff"), {"status": 503}]}}) as web:
            [site] = web.sites
            assert [ask(site, "/p", From="me"), ask(site)] == [(200, b"\xff"), (503, b"")]
            log = web.stop()
        assert [(seen.host, seen.path, seen.status) for seen in log] == [
            (host, "/p", 200),
            (host, "/", 503),
        ]
        assert log[0].headers["from"] == "me"


@pytest.mark.crawl
class TestCrawlHere:
    """Crawls in the process of the tests, of stock Scrapy."""

    async def test_outcome(self, web: Web) -> None:
        """Each URL gets its status, or the name of the exception instead."""
        site = web.site(
            {
                "/robots.txt": "User-agent: *\nDisallow: /no",
                "/moved": Answer(301, {"Location": "/here"}),
                "/here": HELLO,
                "/drop": Answer(drop=True),
                "/404": 404,
            }
        )
        urls = [site.url(path) for path in ("/moved", "/no", "/drop", "/404")]
        run = await crawl_here(web, urls, {"RETRY_ENABLED": False}, polite=False)
        drop = run.outcome.pop(site.url("/drop"))
        assert run.outcome == {urls[0]: [200], urls[1]: ["IgnoreRequest"], urls[3]: [404]}
        assert drop in (["ResponseNeverReceived"], ["DownloadFailedError"])
        assert run.stats["finish_reason"] == "finished"
        assert "Spider closed (finished)" in run.log
        assert len(robots_fetches(run.arrivals)) == 1

    async def test_requests(self, web: Web) -> None:
        """Requests may be dicts, settings and spider attributes reach the crawl."""
        site = web.site({"*": HELLO})
        run = await crawl_here(
            web,
            [{"url": site.url("/p"), "method": "HEAD", "headers": {"X-Who": "me"}}],
            {"USER_AGENT": "settings"},
            {"custom_settings": {"ROBOTSTXT_OBEY": False, "USER_AGENT": "spider"}},
            polite=False,
        )
        [seen] = run.arrivals
        assert (seen.method, seen.headers["x-who"]) == ("HEAD", "me")
        assert seen.headers["user-agent"] == "spider"

    async def test_stock_all_at_once(self, web: Web) -> None:
        """The record shows that stock Scrapy sends a host many requests at once."""
        site = web.site({"*": Answer(body=HELLO, delay=0.2)})
        urls = [site.url(f"/p{n}") for n in range(15)]
        settings = {"CONCURRENT_REQUESTS_PER_DOMAIN": 15, "ROBOTSTXT_OBEY": False}
        run = await crawl_here(web, urls, settings, polite=False)
        assert most_at_once(run.arrivals, site.host) == 15
        assert [run.outcome[url] for url in urls] == [[200]] * 15

    async def test_stock_delay(self, web: Web) -> None:
        """The record shows the waits that a download delay makes."""
        site = web.site({"*": HELLO})
        urls = [site.url(f"/p{n}") for n in range(3)]
        run = await crawl_here(web, urls, {"DOWNLOAD_DELAY": 0.2}, polite=False)
        assert most_at_once(run.arrivals) == 1
        starts = [seen.start_at for seen in run.arrivals]
        assert len(starts) == 4
        assert all(after - before >= 0.09 for before, after in pairwise(starts))

    async def test_timeout(self, web: Web) -> None:
        """A crawl that takes too long is stopped, and that is an error."""
        site = web.site({"*": Answer(delay=0.3)})
        settings = {"CONCURRENT_REQUESTS": 1, "ROBOTSTXT_OBEY": False}
        urls = [site.url(f"/p{n}") for n in range(100)]
        with pytest.raises(TimeoutError):
            await crawl_here(web, urls, settings, polite=False, timeout=0.5)
        assert len(web.arrivals()) < 100

    async def test_no_start(self, web: Web) -> None:
        """A crawl that does not start says why."""
        settings = {"ADDONS": {"harness.no.Such": 500}}
        with pytest.raises(CrawlFailed, match=r"^ModuleNotFoundError: .*harness\.no"):
            await crawl_here(web, [web.site({}).url()], settings, polite=False)
        assert web.arrivals() == []


@pytest.mark.slow
class TestCrawlApart:
    """Crawls in a process of their own, of stock Scrapy."""

    @pytest.mark.parametrize(
        "reactor",
        [
            {"TWISTED_REACTOR": "twisted.internet.asyncioreactor.AsyncioSelectorReactor"},
            {"TWISTED_REACTOR": "twisted.internet.selectreactor.SelectReactor"},
            {"TWISTED_REACTOR_ENABLED": False},
        ],
        ids=["asyncio", "select", "reactorless"],
    )
    def test_reactors(self, web: Web, reactor: dict[str, Any]) -> None:
        """With each reactor, and with none, a crawl hands over outcome, stats, log and arrivals."""
        site = web.site({"/robots.txt": 404, "/p": HELLO})
        run = crawl(web, [site.url("/p"), site.url("/404")], reactor, polite=False)
        assert run.outcome == {site.url("/p"): [200], site.url("/404"): [404]}
        assert run.stats["downloader/request_count"] == 3
        assert run.stats["finish_reason"] == "finished"
        assert "Spider closed (finished)" in run.log
        assert sorted(seen.path for seen in run.arrivals) == ["/404", "/p", "/robots.txt"]

    @pytest.mark.parametrize("reactor", [{}, {"TWISTED_REACTOR_ENABLED": False}])
    def test_no_start(self, web: Web, reactor: dict[str, Any]) -> None:
        """A crawl that does not start says why."""
        settings = {"ADDONS": {"harness.no.Such": 500}, **reactor}
        with pytest.raises(CrawlFailed, match=r"^ModuleNotFoundError: .*harness\.no"):
            crawl(web, [web.site({}).url()], settings, polite=False)

    def test_timeout(self, web: Web) -> None:
        """A crawl that takes too long is killed, and the error shows its log."""
        site = web.site({"*": Answer(hang=True)})
        with pytest.raises(TimeoutError, match="Spider opened"):
            crawl(web, [site.url()], polite=False, timeout=4)
