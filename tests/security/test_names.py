"""Names that a site gives to hosts: as many as it likes, as long, and as odd."""

from __future__ import annotations

import tracemalloc

import pytest

from scrapy_polite.frontier.hosts import NEVER, Frontier, Openness, Want
from scrapy_polite.policy import robots_cache as cache
from scrapy_polite.policy.origin import host_of, origin_of
from scrapy_polite.policy.outage import ENOUGH, OutageWatch
from scrapy_polite.policy.robots_access import Access
from scrapy_polite.policy.robots_cache import Ages
from scrapy_polite.runtime.lanes import Lanes
from scrapy_polite.runtime.telling import one_line, shown
from scrapy_polite.runtime.verdicts import PARSED_BYTES, Verdicts
from scrapy_polite.state import memory
from scrapy_polite.state.memory import MemoryStore
from state.kit import done

KEY_MAX = 600  # characters
HOST_BYTES = 4_000  # what a host that was seen once may cost, of memory
LANES = Lanes(obey=True)


ODD = {
    "escape": "a\x1b[2Jb",
    "line separator": "a\u2028b",
    "next line": "a\x85[scrapy] ERROR",
    "right to left": "a\u202eb",
    "zero width": "a\u200bb",
    "NUL": "a\0b",
    "half a character": "a\ud800b",
    "script": "<script>alert(1)</script>",
    "100 KB": "a" * 100_000,
    "100 KB of labels": "a." * 50_000,
    "100 KB that grow": "\ufdfa" * 50_000,
    "100 KB of dots": "\u3002" * 100_000,
    "100 KB of escapes": "%e2%80%ae" * 11_000,
    "100 KB of digits": "1" * 100_000,
    "100 KB of zeros": "0x" + "0" * 100_000 + "7f000001",
    "100 KB of userinfo": "u" * 100_000 + "@site.example",
    "100 KB of port": "site.example:" + "1" * 100_000,
    "a port of letters": "site.example:\x1b[2J",
    "100 KB of zone": "[fe80::1%25" + "z" * 100_000 + "]",
}


@pytest.mark.parametrize("name", ODD.values(), ids=ODD)
def test_keys_are_short_and_fit_to_print(name: str) -> None:
    """Whatever a host is called, its key and its origin can be logged and kept, and are its own."""
    url = f"http://{name}/"
    host, origin = host_of(url) or "", origin_of(url) or ""
    for key in (host, origin):
        assert len(key) <= KEY_MAX
        assert key.isprintable()
    assert (host_of(origin) or "", origin_of(origin) or "") == (host, origin)


def test_long_names_are_told_apart() -> None:
    """Two hosts do not get one clock because their keys were cut."""
    assert len({host_of(f"http://{'a' * 5_000}{n}/") for n in range(100)}) == 100


SPELLINGS = {
    "name": [
        "site.example",
        "SITE.Example",
        "site.example.",
        "site.example:80",
        "u:p@site.example",
    ],
    "IPv4": ["127.0.0.1", "127.1", "0x7f.1", "2130706433", "017700000001", "[::ffff:7f00:1]"],
    "IPv6": ["[::1]", "[0:0:0:0:0:0:0:1]", "[::0001]:80", "[0000::1]"],
}


@pytest.mark.parametrize("spellings", SPELLINGS.values(), ids=SPELLINGS)
def test_one_machine_one_clock(spellings: list[str]) -> None:
    """A site cannot get a second connection by spelling its own host in another way."""
    assert len({host_of(f"http://{spelling}/") for spelling in spellings}) == 1


def test_as_many_ports_as_there_are() -> None:
    """65,535 origins of a host are queued and fetched from in as many steps, not in the square."""
    asked = 0

    def judge(origin: str, now: float) -> tuple[Openness, float]:
        nonlocal asked
        asked += 1
        fetched = origin in known
        return (Openness.OPEN, NEVER) if fetched else (Openness.NEEDS_ROBOTS, NEVER)

    known: set[str] = set()
    frontier, count, turns = Frontier(judge), 65_535, 200
    for port in range(1, count + 1):
        frontier.push("h", f"http://h:{port}", 0.0)
    for second in range(turns):
        assert frontier.take(Want.ROBOTS, float(2 * second)) == "h"
        origin = frontier.want("h", float(2 * second))[1]
        known.add(origin)
        frontier.put_back("h", 2 * second + 1.0, 2 * second + 0.5)
        frontier.judged("h", origin, 2 * second + 0.6)
        assert frontier.take(Want.PAGE, 2 * second + 1.0) == "h"
        frontier.popped("h", origin, 2 * second + 1.0)
        frontier.put_back("h", 2 * second + 2.0, 2 * second + 1.5)
    assert frontier.queued("h") == count - turns
    assert asked < 4 * count


def test_pages_do_not_wait_for_every_port() -> None:
    """Links to a thousand ports of a host, or redirects to it, take every second turn at most."""
    frontier = Frontier(
        lambda origin, now: (
            (Openness.OPEN if origin == "http://h" else Openness.NEEDS_ROBOTS),
            NEVER,
        )
    )
    for port in range(1000):
        frontier.push("h", f"http://h:{port}", 0.0)
        frontier.wait("h", 0.0, hop=True)
    frontier.push("h", "http://h", 0.0, count=20)
    wants = []
    for second in range(20):
        want = frontier.want("h", float(second))[0]
        assert want is not None and frontier.take(want, float(second)) == "h"
        if want is Want.HOP:
            frontier.waited("h", float(second), hop=True)
        else:
            frontier.popped("h", "http://h", float(second))
        frontier.put_back("h", second + 1.0, float(second))
        wants.append(want)
    assert wants == [Want.HOP, Want.PAGE] * 10


def test_hosts_without_number() -> None:
    """A host that was seen once costs a few kilobytes of memory."""
    count, now = 5_000, 0.0
    verdicts, store = Verdicts(LANES, Ages(), 600.0), MemoryStore(lambda: now)
    frontier = Frontier(verdicts.judge)
    body = b"User-agent: *\nDisallow: /a\n"
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    for number in range(count):
        host = f"{number}.evil.example"
        origin = f"http://{host}"
        frontier.push(host, origin, now)
        record = cache.answered(
            origin, Access.SUCCESSFUL, now=now, fresh_for=9.0, status=200, body=body
        )
        done(store.put_robots(record))
        verdicts.adopt(origin, verdicts.entry(origin, host, now), record, now)
    cost = (tracemalloc.get_traced_memory()[0] - before) / count
    tracemalloc.stop()
    assert cost < HOST_BYTES


def test_parsed_files_are_kept_within_bounds() -> None:
    """Hosts with files of 500 KB each do not add up in memory: the least used are parsed again."""
    verdicts = Verdicts(LANES, Ages(), 600.0)
    for number in range(4000):
        verdicts.keep_parser(f"http://{number}", object(), 500_000)  # type: ignore[arg-type]
        verdicts.keep_parser("http://same", object(), 500_000)  # type: ignore[arg-type]
    kept = [n for n in range(4000) if verdicts.parser(f"http://{n}") is not None]
    assert len(kept) == PARSED_BYTES // 500_000 - 1
    assert kept[-1] == 3999 and verdicts.parser("http://same") is not None


def test_files_in_memory_are_kept_within_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    """Files that do not compress fill the store up to its bound, and the oldest go."""
    monkeypatch.setattr(memory, "ROBOTS_BYTES", 100_000)
    store = MemoryStore()
    body = bytes(range(256)) * 4
    for number in range(3000):
        for origin in (f"http://{number}", "http://same"):
            done(
                store.put_robots(
                    cache.RobotsRecord(origin, Access.SUCCESSFUL, body + b"%d" % number)
                )
            )
    kept = sum(done(store.get_robots(f"http://{number}")) is not None for number in range(3000))
    assert 100 < kept < 1000
    assert done(store.get_robots("http://same")) and done(store.get_robots("http://2999"))


def test_names_that_fall_silent_are_no_outage() -> None:
    """One site with a thousand names cannot have us think that our own line is down; three can."""
    watch = OutageWatch()
    hosts = [f"{n}.evil.example" for n in range(1000)] + [f"{n}.evil.co.uk" for n in range(1000)]
    others = ["site.example", "10.0.0.1", "10.0.0.2"]
    for host in (*hosts, *others):
        watch.answered(host, 0.0)
    assert not any(watch.failed(host, 1.0) for host in hosts)
    assert [watch.failed(host, 2.0) for host in others] == [True, False, False]
    assert ENOUGH == 3


TEXTS = {
    "lines": ("a\n2026-01-01 [scrapy] ERROR: b\r\n", "a 2026-01-01 [scrapy] ERROR: b"),
    "all that ends lines": ("a\x0b\x0c\x1c\x85\u2028\u2029b", "a b"),
    "terminal": ("a\x1b]0;owned\x07\x9bb", "a]0;ownedb"),
    "directions": ("a\u202e\u2066\u200fb", "ab"),
    "long": ("a" * 1000, "a" * 197 + "..."),
}


@pytest.mark.parametrize(("text", "line"), TEXTS.values(), ids=TEXTS)
def test_a_line_is_a_line(text: str, line: str) -> None:
    """What a site has written is one printable line in our log, of 200 characters at most."""
    assert one_line(text) == line


URLS = {
    "password": ("http://me:secret@h:81/a@b", "http://h:81/a@b"),
    "several": ("http://a@b:secret@h/", "http://h/"),
    "backslash": ("http://h\\@secret/", "http://h\\@secret/"),
    "in the query": ("http://h?u=http://a:b@c", "http://h?u=http://a:b@c"),
    "none": ("http://h/a", "http://h/a"),
}


@pytest.mark.parametrize(("url", "expected"), URLS.values(), ids=URLS)
def test_passwords_stay_with_the_request(url: str, expected: str) -> None:
    """A URL is shown without its userinfo."""
    assert shown(url) == expected
