"""kill -9 loses nothing, and several processes keep one promise."""

from __future__ import annotations

import random
import signal
import time
from collections import Counter
from pathlib import Path

import pytest

from harness import Answer, Web, gaps, most_at_once, robots_fetches
from runs.running import Running, pages

PAGE = Answer(body="<html>page</html>", delay=0.02)
TOLERANCE = 0.03  # seconds between the server's clock readings and ours


def _promise_kept(web: Web) -> None:
    log = web.arrivals()
    assert {most_at_once(log, host) for host in {arrival.host for arrival in log}} == {1}
    short = [gap for gap in gaps(web.arrivals()) if gap.wait < 10 * gap.before.duration - TOLERANCE]
    assert not short


@pytest.mark.slow
def test_ten_kills_lose_no_page(web: Web, tmp_path: Path) -> None:
    """20 hosts x 10 pages, killed ten times at random moments: all pages, few of them twice."""
    sites = [web.site({"/robots.txt": 404, "*": PAGE}) for _ in range(20)]
    urls = [site.url(f"/p{n}") for n in range(10) for site in sites]
    settings = {"JOBDIR": str(tmp_path / "job"), "CONCURRENT_REQUESTS": 8}
    moments = random.Random(9309)
    for _ in range(10):
        run = Running(tmp_path / "run", urls, settings)
        time.sleep(moments.uniform(0.9, 1.8))
        run.kill()
    Running(tmp_path / "run", urls, settings).finish(110.0)
    fetched = Counter(pages(web))
    assert set(fetched) == {(site.host, f"/p{n}") for site in sites for n in range(10)}
    assert sum(fetched.values()) - len(fetched) <= 10 * 8  # what was on the wire at each kill
    assert len(robots_fetches(web.arrivals())) <= 20 + 10 * 8


@pytest.mark.slow
def test_three_processes_one_killed_one_stopped_keep_the_promise(web: Web, tmp_path: Path) -> None:
    """Three crawls share a state file; one is killed, one is suspended for a while."""
    sites = [
        web.site({"/robots.txt": "User-agent: *\nDisallow: /no\n", "*": PAGE}) for _ in range(8)
    ]
    settings = {"POLITE_STATE": str(tmp_path / "polite.db")}
    runs = [
        Running(
            tmp_path / f"run{w}", [s.url(f"/w{w}-{n}") for n in range(5) for s in sites], settings
        )
        for w in range(3)
    ]
    time.sleep(3.0)
    runs[2].kill()
    runs[1].signal(signal.SIGSTOP)
    time.sleep(4.0)
    runs[1].signal(signal.SIGCONT)
    results = [run.finish() for run in runs[:2]]
    for result in results:
        assert sum(outcome == [200] for outcome in result["outcome"].values()) == 40
    assert len(robots_fetches(web.arrivals())) == len(sites)
    _promise_kept(web)
