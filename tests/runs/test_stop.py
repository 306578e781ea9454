"""A stop takes as long as the longest transfer on the wire, and what waited is still there."""

from __future__ import annotations

import signal
import time
from pathlib import Path

import pytest

from harness import Answer, Web, gaps
from runs.running import Running, pages, wait_until

PAGE = Answer(body="<html>page</html>", delay=0.02)
STOP_WITHIN = 2.5  # seconds; a delay of 3 s or a block of 600 s must not show


@pytest.mark.slow
@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_in_the_middle_of_a_backoff_stops_at_once(
    web: Web, tmp_path: Path, how: signal.Signals
) -> None:
    """One host waits 3 s, another is blocked for 600 s: the process ends within seconds."""
    slow = web.site({"/robots.txt": 404, "*": PAGE})
    refusing = web.site(
        {"/robots.txt": 404, "*": Answer(status=429, headers={"Retry-After": "600"})}
    )
    urls = [site.url(f"/p{n}") for n in range(4) for site in (slow, refusing)]
    settings = {"JOBDIR": str(tmp_path / "job"), "POLITE_MIN_DELAY": 3.0}
    run = Running(tmp_path / "run", urls, settings)
    wait_until(lambda: any(arrival.status == 429 for arrival in web.arrivals()), 40.0)
    began_at = run.signal(how)
    result = run.finish(20.0)
    assert time.monotonic() - began_at < STOP_WITHIN
    assert result["stats"]["finish_reason"] == "shutdown"


@pytest.mark.slow
def test_a_resumed_crawl_fetches_each_page_once_and_none_early(web: Web, tmp_path: Path) -> None:
    """Stopped after a while and resumed: every page once, the refusing host not before its time."""
    sites = [web.site({"/robots.txt": 404, "*": PAGE}) for _ in range(4)]
    refusing = web.site(
        {
            "/robots.txt": 404,
            "*": [Answer(status=503, headers={"Retry-After": "600"}), PAGE],
        }
    )
    urls = [site.url(f"/p{n}") for n in range(6) for site in (*sites, refusing)]
    settings = {"JOBDIR": str(tmp_path / "job"), "POLITE_MIN_DELAY": 1.0}
    first = Running(tmp_path / "run", urls, {**settings, "CLOSESPIDER_TIMEOUT": 3})
    first.finish()
    before = len(pages(web))
    assert 0 < before < 24
    second = Running(tmp_path / "run", urls, {**settings, "CLOSESPIDER_TIMEOUT": 10})
    second.finish()
    assert sorted(pages(web)) == sorted((site.host, f"/p{n}") for site in sites for n in range(6))
    assert len([a for a in web.arrivals(refusing.host) if a.path != "/robots.txt"]) == 1
    assert len([a for a in web.arrivals() if a.path == "/robots.txt"]) == 5
    assert all(gap.wait >= 1.0 - 0.05 for gap in gaps(web.arrivals()))
