"""While a crawl runs: the line in the log, the telnet variable, and what callbacks are told."""

from __future__ import annotations

import json
import os
import pty
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from harness import POLITE, Answer, Web, crawl_here
from harness.child import environment

pytestmark = pytest.mark.crawl

PAGES = {"/robots.txt": 404, "*": Answer(delay=0.03, body="x")}
LINE = re.compile(
    r"(\d+) pages? done, (\d+) queued; hosts: (\d+) in flight, (\d+) ready, (\d+) waiting, "
    r"(\d+) blocked, (\d+) parked(?:; next fetch in [\d.]+ s)?(?:; what is queued takes about .+)?"
)


async def test_line(web: Web) -> None:
    """Each LOGSTATS_INTERVAL one line says how the crawl stands; its pages only grow."""
    sites = [web.site(PAGES), web.site(PAGES)]
    urls = [site.url(f"/{number}") for number in range(4) for site in sites]
    run = await crawl_here(web, urls, {"LOGSTATS_INTERVAL": 0.25})
    lines = [list(map(int, found.groups())) for found in LINE.finditer(run.log)]
    pages = [line[0] for line in lines]
    assert len(lines) >= 2 and pages == sorted(pages)
    assert all(0 <= done + queued <= 8 for done, queued, *_ in lines)
    assert any(line[4] == 2 for line in lines)  # both hosts wait at some time


async def test_line_of_held_pages(web: Web) -> None:
    """Where pages wait for a robots.txt that cannot be read, the line says for how long."""
    site = web.site({**PAGES, "/robots.txt": 500})
    settings = {"LOGSTATS_INTERVAL": 0.25, "POLITE_ROBOTS_HOLD": 2}
    run = await crawl_here(web, [site.url("/1")], settings)
    told = re.findall(r"next fetch in ([\d.]+) s; what is queued takes about", run.log)
    assert max(map(float, told)) >= 1


async def test_no_line(web: Web) -> None:
    """LOGSTATS_INTERVAL = 0 switches the line off, as it does Scrapy's."""
    site = web.site(PAGES)
    run = await crawl_here(web, [site.url("/1")], {"LOGSTATS_INTERVAL": 0})
    assert not LINE.search(run.log)


async def test_telnet(web: Web) -> None:
    """In the telnet console `polite` says how the crawl stands and why a URL is not fetched."""
    site, refuses = web.site(PAGES), web.site({**PAGES, "/1": [Answer(429), 200]})
    urls = [site.url("/1"), site.url("/2"), refuses.url("/1"), refuses.url("/2")]
    settings = {
        "EXTENSIONS": {"report.parts.Asker": 0},
        "ASKED_URLS": [urls[1], urls[3], "data:,x"],
        "POLITE_BACKOFF_MIN": 1,
    }
    run = await crawl_here(web, urls, settings)
    asked = run.stats["asked"].splitlines()
    assert LINE.fullmatch(asked[1])
    assert any(
        re.fullmatch(rf"{site.host}: it is left alone: duration, after a fetch of .*", line)
        for line in asked
    )
    assert any(
        line.startswith(f"{refuses.host}: it is left alone: ") and refuses.url("/1") in line
        for line in asked
    )
    assert any(line.endswith("requests queued: 1; robots.txt: allowed") for line in asked)
    assert "data:,x: no host's clock is for it" in asked


async def test_meta(web: Web) -> None:
    """request.meta["polite"] says how long a request waited, for how long and why its host was left
    alone before, and what robots.txt says of it and its use; also of what was not fetched."""
    robots = "User-agent: *\nDisallow: /private\n"
    site = web.site({**PAGES, "/robots.txt": robots})
    unreachable = web.site({**PAGES, "/robots.txt": 503})
    urls = [site.url("/1"), site.url("/2"), site.url("/private"), unreachable.url("/1")]
    settings = {
        "DOWNLOADER_MIDDLEWARES": {"report.parts.Noter": 1000},
        "POLITE_ROBOTS_HOLD": 0.2,
    }
    run = await crawl_here(web, urls, settings)

    def why(host: str, path: str) -> dict[str, Any]:
        return json.loads(run.stats[f"why/{host}{path}"])

    for path in ("/1", "/2"):
        told = why(site.host, path)
        assert set(told) == {"waited", "rest", "reason", "robots", "usage", "duration"}
        assert (told["reason"], told["robots"]) == ("duration", "allowed")
        assert told["waited"] >= 0 and told["duration"] >= 0.03
    assert why(site.host, "/2")["rest"] >= 0.3
    assert why(site.host, "/private") == {"robots": "disallowed"}
    assert why(unreachable.host, "/1") == {"robots": "unreachable"}


def test_bar_in_a_terminal(web: Web, tmp_path: Path) -> None:
    """There is a bar when the log goes to a file and stderr is a terminal."""
    pytest.importorskip("rich")
    site = web.site(PAGES)
    urls = [site.url(f"/{number}") for number in range(8)]
    job = {
        "settings": {**POLITE, "LOG_FILE": "crawl.log"},
        "requests": urls,
        "attributes": {},
    }
    (tmp_path / "job.json").write_text(json.dumps(job))
    ours, theirs = pty.openpty()
    subprocess.run(
        [sys.executable, "-m", "harness.runner", "job.json", "result.json"],
        cwd=tmp_path,
        env=environment(TERM="xterm", COLUMNS="120"),
        stderr=theirs,
        check=True,
        timeout=60,
    )
    os.close(theirs)
    shown = os.read(ours, 100_000).decode()
    os.close(ours)
    assert "8/8" in shown and "waiting" in shown
    assert "INFO" not in shown
