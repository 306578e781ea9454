"""What a person reads of a crawl of hostile sites: log, event log, report and figures."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from crawls.judging import MANY
from harness import Answer, Crawl, Web, crawl_here
from harness.spider import Asking
from scrapy_polite.report.load import load
from scrapy_polite.report.page import to_page
from scrapy_polite.report.text import to_text
from security.raw import Raw

pytestmark = pytest.mark.crawl

LOG_LINE = 900  # characters: a host's name twice, and a few words
EVENT_LINE = 65_536  # octets; what a reader takes
NAMES = [
    *("a\x1bcb", "a\u2028INFO b", "a\u202eb", "a\x85b", "a\u200bb", "<script>x"),
    *("a" * 1_500, "a." * 700 + "b", "\ufdfa" * 200, "-", "_", "a%0d%0ab", "a%00b", "%1bc"),
]
PATHS = ["/%0A[scrapy]%20ERROR", "/\x1b[2J\u202e", "/<script>", "/?u=" + "x" * 1_800, "/\u2028"]
RULE = (
    "User-agent: *\nDisallow: /no\x1b[2J\u202e\nCrawl-\x1b[2J: 1\nSitemap: \x1b\u2028" + "x" * 9_000
)


async def crawl_of_hostile_sites(web: Web, folder: Path) -> Crawl:
    """Crawl names, paths, refusals and rules that are written to be read by a person."""
    refuse = Answer(503, {"Retry-After": "0.1"})
    site = web.site({"/robots.txt": RULE, "/r": [refuse, 200]})
    far = web.site({"/robots.txt": 404, "*": Answer(429, {"Retry-After": "9" * 300})})
    banner = b"HTTP/1.1 \x1b[2J " + b"\xe2\x80\xa8" * 3_000 + b"\r\n\r\n"
    with Raw({"/robots.txt": lambda: [banner]}) as broken:
        # By way of a proxy that is not there, so that nobody is asked for these names.
        meta = {"proxy": web.deserted().url("")}
        names = [*NAMES, "me:secret@a", "me:secret@b"]
        asked: list[Asking] = [{"url": f"http://{n}.invalid/", "meta": meta} for n in names]
        asked += [site.url(path) for path in (*PATHS, "/r?\x1b[2J\u202e" + "y" * 900)]
        asked += [far.url("/\x1b[2J"), broken.url("/")]
        settings: dict[str, Any] = {
            **MANY,
            "POLITE_TIMELINE": str(folder / "events.jsonl"),
            "POLITE_REPORT": str(folder / "report.json"),
            "LOG_LEVEL": "INFO",
        }
        return await crawl_here(web, asked, settings, timeout=100)


async def test_nothing_of_a_site_gets_out_of_its_line(web: Web, tmp_path: Path) -> None:
    """Each line is printable and of bounded length; no password, no markup, no broken line."""
    run = await crawl_of_hostile_sites(web, tmp_path)
    lines = [line for line in run.log.split("\n") if "scrapy_polite." in line]
    told = [line for line in lines if re.search("robots.txt of|left alone|parked", line)]
    assert sum("robots.txt of" in line for line in told) > len(NAMES), "all of them were tried"
    assert [line for line in told if not line.isprintable() or len(line) > LOG_LINE] == []
    assert "secret" not in "".join(lines)

    events = (tmp_path / "events.jsonl").read_bytes().splitlines(keepends=True)
    assert all(line.isascii() and line.endswith(b"}\n") for line in events)
    assert max(map(len, events)) < EVENT_LINE
    assert all(isinstance(json.loads(line), dict) for line in events)
    assert b"secret" not in b"".join(events)

    report = load(tmp_path / "report.json")
    assert not [note for note in report.notes if "could not be read" in note]
    text = to_text(report)
    assert [line for line in text.split("\n") if not line.isprintable() or len(line) > 300] == []
    page = to_page(report)
    assert "<script>x" not in page.split('id="report"')[0]
    assert page.count("<script") == page.count("</script>")
    assert "secret" not in text + page + str(run.stats)
    assert [key for key in run.stats if not key.isprintable() or len(key) > 200] == []
    assert len(run.stats) < 120
