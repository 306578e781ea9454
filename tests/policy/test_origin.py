"""Origins and host keys: the spellings of one host meet in one key, and no string raises.

Rules: a table per question; the fuzz runs FUZZ_EXAMPLES examples (300 unless told otherwise).
"""

from __future__ import annotations

import os

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from scrapy_polite.policy.origin import host_of, origin_of, robots_url

FUZZ_EXAMPLES = int(os.environ.get("FUZZ_EXAMPLES", "300"))

ORIGINS = {
    "https://site.example": ("https://site.example", "site.example"),
    "http://site.example/a?b#c": ("http://site.example", "site.example"),
    "HTTP://Site.EXAMPLE/": ("http://site.example", "site.example"),
    "http://site.example:80/": ("http://site.example", "site.example"),
    "https://site.example:443/": ("https://site.example", "site.example"),
    "https://site.example:80/": ("https://site.example:80", "site.example"),
    "http://site.example:443/": ("http://site.example:443", "site.example"),
    "http://h:8080": ("http://h:8080", "h"),
    "http://h:0008080": ("http://h:8080", "h"),
    "http://h:0080/": ("http://h", "h"),
    "http://h:/": ("http://h", "h"),
    "http://h:0/": ("http://h:0", "h"),
    "http://h?q=http://other.example/": ("http://h", "h"),
    "http://h#@other.example/": ("http://h", "h"),
    "http://user:p@ss@site.example/": ("http://site.example", "site.example"),
    "http://site.example./": ("http://site.example", "site.example"),
    "http://site.example.:80/": ("http://site.example", "site.example"),
    "http://[::1]:81/": ("http://[::1]:81", "::1"),
    "http://[::1]/": ("http://[::1]", "::1"),
    "http://[::1]:/": ("http://[::1]", "::1"),
    "http://127.0.0.1:5000/": ("http://127.0.0.1:5000", "127.0.0.1"),
    "http://xn--bcher-kva.example/": ("http://xn--bcher-kva.example", "xn--bcher-kva.example"),
    "http://my_host.example/": ("http://my_host.example", "my_host.example"),
    "http://site.example\\@other.example/": ("http://site.example", "site.example"),
}

ONE_HOST = {
    "bücher": [
        "xn--bcher-kva.example",
        "BÜCHER.example",
        "XN--BCHER-KVA.Example.",
        "bu\u0308cher.example",
        "bücher\u3002example",
        "b%C3%BCcher.example",
        "bü\ncher.example",
    ],
    "strasse": ["strasse.example", "Straße.example", "STRASSE.example"],
    "wide": [
        "site.example",
        "\uff53\uff49\uff54\uff45.example",
        "si\u00adte.example",
        "s%69te.example",
    ],
    "ipv4": ["127.0.0.1", "127.1", "127.0.1", "0177.0.0.01", "0x7f.1", "0X7F000001", "2130706433"],
    "ipv6": ["[::1]", "[0:0:0:0:0:0:0:1]", "[0::0001]"],
    "ipv6 letters": ["[2001:db8::ab]", "[2001:0DB8:0:0::00AB]"],
    "ipv4 in ipv6": ["192.0.2.7", "[::ffff:192.0.2.7]", "[::FFFF:c000:207]"],
    "no idna form": [f"{'a' * 70}ü.example", f"{'A' * 70}Ü.Example."],
    "empty label": ["ü..example", "Ü..EXAMPLE"],
    "underscore": ["a_b.example", "A_B.example"],
}

NO_ORIGIN = [
    "", " ", "site.example", "/path", "//site.example/", "?", "#", "http:", "http:/", "http://",
    "http:///path", "http://:80/", "http://user@/", "http://./", "http://[]:80/", "https://?q",
    "http:site.example", "ftp://site.example/", "file:///etc/hosts",
    "data:text/plain,http://site.example/", "mailto:bot@site.example", "s3://bucket/key",
    "xhttp://site.example/", "httpx://site.example/", "javascript:void(0)", "about:blank",
]  # fmt: skip

NOT_HOSTS = [
    "http://[::1", "http://[::g]/", "http://[0", "http://::1/", "http://[::ffff:1.2.3.4%25x]/",
    "http://h:99999/", "http://h:port/", "http://h:\uff18\uff10/", "http://a b.example/",
    "http://256.1.1.1/", "http://1.2.3.4.5/", "http://08.1/", "http://0x/",
    "http://\u2100.example/", "http://\ud800.example/", "http://%zz.example/",
    "http://a%2Fb.example/", f"http://{'9' * 10_000}/", f"http://h:{'9' * 10_000}/",
    f"http://{'ü' * 5_000}/",
]  # fmt: skip


@pytest.mark.parametrize(("url", "expected"), ORIGINS.items(), ids=ORIGINS)
def test_origin_and_host(url: str, expected: tuple[str, str]) -> None:
    """Each URL has the origin and the host of the table."""
    assert (origin_of(url), host_of(url)) == expected


@pytest.mark.parametrize("spellings", ONE_HOST.values(), ids=ONE_HOST)
def test_one_host_one_key(spellings: list[str]) -> None:
    """All spellings of a host give one host key and one origin."""
    urls = [f"http://{spelling}/" for spelling in spellings]
    assert len({host_of(url) for url in urls}) == 1
    assert len({origin_of(url) for url in urls}) == 1
    assert host_of(urls[0]) is not None


@pytest.mark.parametrize("url", NO_ORIGIN)
def test_no_origin(url: str) -> None:
    """What is not http(s), or names no host, has neither origin nor host."""
    assert origin_of(url) is None
    assert host_of(url) is None


@pytest.mark.parametrize("url", NOT_HOSTS, ids=range(len(NOT_HOSTS)))
def test_impossible_host_still_has_a_clock(url: str) -> None:
    """A host that cannot exist is keyed all the same, whatever the case of its spelling."""
    assert host_of(url)
    assert origin_of(url) == origin_of(url.upper())


@pytest.mark.parametrize(
    "url", ["  http://site.example/", "ht\ntp://site.example/", "http:/\t/site.example/"]
)
def test_whatwg_4_4_blanks_do_not_hide_a_host(url: str) -> None:
    """Leading blanks, and tabs or line ends anywhere, do not make a URL of a host another one."""
    assert origin_of(url) == "http://site.example"


def test_rfc9309_2_3_robots_url() -> None:
    """The robots.txt of an origin is at the top of its path, on its port."""
    assert robots_url("http://[::1]:81") == "http://[::1]:81/robots.txt"


URLISH = st.one_of(
    st.text(),
    st.text().map("http://{}".format),
    st.text("0x189af.:%[]@\\/ ü\u3002\u2100\ud800\t", max_size=20).map("https://{}/p".format),
)


@settings(max_examples=FUZZ_EXAMPLES, deadline=None)
@given(URLISH)
@example("http://%2561.example/")
@example("http://a .\u00a0./")
def test_fuzz_total_and_stable(url: str) -> None:
    """No string raises, and an origin is its own origin, with the same host."""
    origin, host = origin_of(url), host_of(url)
    assert (origin is None) == (host is None)
    if origin is not None:
        assert origin_of(origin) == origin
        assert host_of(origin) == host
