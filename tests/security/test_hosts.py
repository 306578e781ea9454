"""Many hosts of one owner, or one host by many names, in a crawl."""

from __future__ import annotations

from ipaddress import IPv4Address
from random import Random

import pytest

from crawls.judging import MANY
from harness import Answer, Web, crawl_here, most_at_once, robots_fetches
from scrapy_polite.runtime import verdicts
from scrapy_polite.state import memory

pytestmark = pytest.mark.crawl


async def test_files_that_push_others_out(web: Web, monkeypatch: pytest.MonkeyPatch) -> None:
    """When the files of some hosts push out those of others, these are asked for again.

    No page is taken to be forbidden because its rules are not kept, and none to be allowed.
    """
    monkeypatch.setattr(memory, "ROBOTS_BYTES", 5_000)
    monkeypatch.setattr(verdicts, "PARSED_BYTES", 5_000)
    filler = bytes(Random(1).choices(range(48, 123), k=4_000))
    rules = b"User-agent: *\nDisallow: /private\n# " + filler
    sites = [web.site({"/robots.txt": rules, "*": ""}) for _ in range(3)]
    paths = [f"/{kind}/{number}" for number in range(4) for kind in ("open", "private")]
    asked = [site.url(path) for path in paths for site in sites]
    run = await crawl_here(web, asked, MANY)
    for site in sites:
        got = [run.outcome[site.url(path)] for path in paths]
        assert got == [[200], ["IgnoreRequest"]] * 4
    assert not any("/private" in seen.path for seen in run.arrivals)


async def test_one_host_by_many_names(web: Web) -> None:
    """However a site spells its own address, it has one connection and one robots.txt."""
    site = web.site({"/robots.txt": Answer(404, delay=0.02), "*": Answer(delay=0.02)})
    address = IPv4Address(site.host)
    a, b, c, d = address.packed
    names = [
        *(site.host, str(int(address)), hex(int(address)), f"{a}.{b}.{c * 256 + d}"),
        *(f"0x{a:x}.{b}.{c:#o}.{d}".replace("0o", "0"), f"{a}.{int(address) % 2**24}"),
    ]
    urls = [f"http://{name}:{site.port}/{n}{turn}" for n, name in enumerate(names) for turn in "ab"]
    run = await crawl_here(web, urls, {"CONCURRENT_REQUESTS": 32, "RETRY_ENABLED": False})
    assert most_at_once(run.arrivals) == 1
    assert len(robots_fetches(run.arrivals)) == 1
    assert {seen.path for seen in run.arrivals} >= {"/0a", "/0b"}
