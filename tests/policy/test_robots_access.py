"""The meaning of each status of a robots.txt answer, and of each Location.

Rules: the table lists the exceptions; every other status has the meaning of its class.
"""

from __future__ import annotations

import itertools
import os

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scrapy_polite.policy.origin import origin_of
from scrapy_polite.policy.robots_access import MAX_HOPS, Access, access_of, next_hop

FUZZ_EXAMPLES = int(os.environ.get("FUZZ_EXAMPLES", "300"))
HERE = "http://site.example/robots.txt"

CLASSES = {
    1: Access.UNREACHABLE,  # no final answer
    2: Access.SUCCESSFUL,  # RFC 9309 section 2.3.1.1
    3: Access.UNAVAILABLE,  # no redirect that could be followed
    4: Access.UNAVAILABLE,  # RFC 9309 section 2.3.1.3
    5: Access.UNREACHABLE,  # RFC 9309 section 2.3.1.4
}
EXCEPTIONS = {
    **dict.fromkeys((301, 302, 303, 307, 308), Access.REDIRECTED),  # RFC 9309 section 2.3.1.2
    429: Access.UNREACHABLE,
}
STATUSES = {status: EXCEPTIONS.get(status, CLASSES[status // 100]) for status in range(100, 600)}


@pytest.mark.parametrize(("status", "access"), STATUSES.items(), ids=STATUSES)
def test_rfc9309_2_3_1_status(status: int, access: Access) -> None:
    """The status alone decides, and by default 401 and 403 are like any other 4xx."""
    assert access_of(status) is access


@pytest.mark.parametrize("status", [None, -1, 0, 99, 600, 999])
def test_rfc9309_2_3_1_4_no_answer(status: int | None) -> None:
    """No answer, and an answer with no status of HTTP, are unreachable."""
    assert access_of(status) is Access.UNREACHABLE


def test_forbidden_disallow() -> None:
    """With "disallow" 401 and 403 forbid, and nothing else changes."""
    strict = {status: access_of(status, forbidden="disallow") for status in STATUSES}
    assert strict == STATUSES | {401: Access.FORBIDDEN, 403: Access.FORBIDDEN}


def test_rfc9110_15_4_5_revalidating() -> None:
    """A conditional request makes 304 confirm the copy, and nothing else changes."""
    conditional = {status: access_of(status, revalidating=True) for status in STATUSES}
    assert conditional == STATUSES | {304: Access.NOT_MODIFIED}


def test_values_are_lower_case() -> None:
    """The values, which stand in stores and reports, are the names in lower case."""
    assert [access.value for access in Access] == [access.name.lower() for access in Access]


HOPS = {
    "absolute": ("https://other.example:8443/r.txt?a=b", "https://other.example:8443/r.txt?a=b"),
    "path": ("/r.txt", "http://site.example/r.txt"),
    "relative": ("r.txt", "http://site.example/r.txt"),
    "query only": ("?v=2", "http://site.example/robots.txt?v=2"),
    "network path": ("//www.site.example/robots.txt", "http://www.site.example/robots.txt"),
    "host only": ("https://other.example", "https://other.example/"),
    "octets": (b"/r.txt", "http://site.example/r.txt"),
    "blanks around": (" \t/r.txt ", "http://site.example/r.txt"),
    "fragment": ("/r.txt#part", "http://site.example/r.txt"),
    "userinfo": ("http://user:secret@other.example/r.txt", "http://other.example/r.txt"),
    "default port": ("https://Other.Example:443/r.txt", "https://other.example/r.txt"),
    "idna": ("http://bücher.example/r.txt", "http://xn--bcher-kva.example/r.txt"),
    "utf-8": ("/rébots.txt".encode(), "http://site.example/r%C3%A9bots.txt"),
    "latin-1": (b"/r\xe9bots.txt", "http://site.example/r%E9bots.txt"),
    "escapes stay": ("/r%C3%A9.txt?a=%2F", "http://site.example/r%C3%A9.txt?a=%2F"),
    "space": ("/my robots.txt?a b", "http://site.example/my%20robots.txt?a%20b"),
    "backslash": ("\\\\other.example\\r.txt?a\\b", "http://other.example/r.txt?a%5Cb"),
    "backslash no userinfo": (
        "http://site.example\\@evil.example/",
        "http://site.example/@evil.example/",
    ),
}


@pytest.mark.parametrize(("location", "target"), HOPS.values(), ids=HOPS)
def test_rfc9309_2_3_1_2_next_hop(location: str | bytes, target: str) -> None:
    """A Location is resolved to an absolute URL in one spelling."""
    assert next_hop(HERE, location, hops=0, seen={HERE}) == target


DEAD_ENDS = [
    None, "", " ", "#top", "ftp://site.example/r.txt", "file:///etc/hosts", "javascript:x",
    "data:,x", "mailto:bot@site.example", "http://", "https:///r.txt", "http://user@/",
    "http://[::1/r.txt", "http://h:99999/", "http://h:port/", "http://h:0/", "http://a b/r.txt",
    "/\ud800", b"http://\xff/",
]  # fmt: skip


@pytest.mark.parametrize("location", DEAD_ENDS, ids=ascii)
def test_dead_end(location: str | bytes | None) -> None:
    """A Location that is missing, broken or not http(s) ends the chain."""
    assert next_hop(HERE, location, hops=0, seen={HERE}) is None


def follow(start: str, locations: dict[str, str]) -> list[str]:
    """The URLs that a fetch asks for when each one redirects as the table says."""
    chain = [start]
    while target := next_hop(chain[-1], locations[chain[-1]], hops=len(chain) - 1, seen=chain):
        chain.append(target)
    return chain


def test_rfc9309_2_3_1_2_five_hops() -> None:
    """An endless chain is followed for five hops and no further."""
    pages = [HERE] + [f"http://h{hop}.example/r.txt" for hop in range(10)]
    assert follow(HERE, dict(itertools.pairwise(pages))) == pages[: MAX_HOPS + 1]
    assert MAX_HOPS == 5


LOOPS = {
    "itself": {HERE: "/robots.txt"},
    "itself, spelt otherwise": {HERE: "HTTP://Site.Example.:80/robots.txt#again"},
    "two": {HERE: "/r.txt", "http://site.example/r.txt": "/robots.txt"},
}


@pytest.mark.parametrize("locations", LOOPS.values(), ids=LOOPS)
def test_loop_ends_before_a_second_visit(locations: dict[str, str]) -> None:
    """A loop is left before any URL is asked for twice."""
    assert follow(HERE, locations) == list(locations)


def test_loop_to_itself_needs_no_record() -> None:
    """A redirect to the URL that sent it is a loop even when nothing was recorded as seen."""
    assert next_hop(HERE, "/robots.txt", hops=0, seen=()) is None


@settings(max_examples=FUZZ_EXAMPLES, deadline=None)
@given(st.one_of(st.text(), st.binary(), st.text().map("http://{}".format)))
def test_fuzz_next_hop(location: str | bytes) -> None:
    """Whatever the Location, the next hop is a printable http(s) URL, or there is none."""
    target = next_hop(HERE, location, hops=0, seen={HERE})
    if target is not None:
        origin = origin_of(target)
        assert origin is not None
        assert target.startswith(f"{origin}/")
        assert target.isascii()
        assert target.isprintable()
        assert "#" not in target
