"""The report for a terminal, the picture for print, the bar, and the words they use."""

from __future__ import annotations

import builtins
import importlib.util
import io
from pathlib import Path
from typing import Any

import pytest

from report.logs import AGENT, HOST, fetch, report_of, robots, whole
from scrapy_polite.report import bar, png
from scrapy_polite.report.picture import picture
from scrapy_polite.report.progress import Overview, Paces, Queued, Standing, overview
from scrapy_polite.report.schema import Blocked, Dropped, Ended, Parked, Remains
from scrapy_polite.report.tally import Tally
from scrapy_polite.report.text import to_text

PARKED = "parked.example"
TOLD = whole(
    fetch(0, 1, what="robots", verdict=None),
    robots(1, 8.0, problems=("line 1: first", "line 2: second"), problem_count=5, status=200),
    robots(
        1,
        host=PARKED,
        origin=f"https://{PARKED}",
        access="unreachable",
        standing="unreachable",
        status=503,
    ),
    fetch(11, 12),
    fetch(
        30,
        31,
        PARKED,
        status=429,
        outcome="refused",
        retry_after=9000.0,
        until_at=9031.0,
        reason="backoff",
    ),
    Blocked(31, PARKED, 9031, "429", 429),
    Parked(31, PARKED, 9031, "429"),
    Dropped(32, HOST, f"https://{HOST}/private/1", "disallowed"),
    Dropped(33, HOST, f"https://{HOST}/private/2", "disallowed"),
    Remains(40, PARKED, 1234),
    Ended(40, "polite_parked"),
)
EXPECTED = """\
Politeness of the crawl of spider spider, 2027-01-15 08:00:00 UTC
3 fetches of 2 hosts in 40 s, ended: polite_parked

All 7 promises were kept.
  pass  One request at a time per host                     most at once: 1
  pass  Wait at least ten times as long as the fetch took  least: 10 times, of 1 wait
  pass  Occupy a host for at most 1/11 of the time         at most 9.09%
  pass  Crawl-delay                                        asked for by 1 host; longest: 8 s
  pass  Retry-After                                        asked for by 1 host; longest: 2 h 30 min
  pass  Fetch no page that robots.txt disallows            2 pages judged
  pass  Say who is crawling, with a contact                LogBot/1.0 (+https://logbot.test/)

host            fetches  at once  occupied  least wait  / fetch  refused  remarks
site.example          2        1     9.09%        10 s     10.0           Crawl-delay 8 s
parked.example        1        1                                       1  \
parked until 2:30:31.000, Retry-After 2 h 30 min, 1,234 left

Waits by what decided them: duration 2 (20 s), backoff 1 (2 h 30 min)

Not fetched because the host is parked: 1,234
  parked.example: 1,234 requests queued
Not fetched because robots.txt disallows it: 2
  https://site.example/private/1
  https://site.example/private/2

robots.txt that could not be read: 1 file
  https://parked.example (status 503)
robots.txt with problems: 1 file
  https://site.example: line 1: first (and 4 more)

Sent as:
        3  LogBot/1.0 (+https://logbot.test/)
"""


def test_text() -> None:
    """The whole report of a small crawl, as it is printed."""
    assert to_text(report_of(TOLD)) == EXPECTED


def test_text_of_many_hosts() -> None:
    """Of many hosts those come first that were not treated as promised, then the busiest."""
    events = [fetch(20 * n, 20 * n + 1, f"h{h:03}.example") for h in range(50) for n in range(3)]
    events += [fetch(0, 1, "rude.example"), fetch(2, 3, "rude.example")]
    events += [fetch(60, 61, "h042.example")]
    lines = to_text(report_of(whole(*events))).splitlines()
    [head] = [number for number, line in enumerate(lines) if line.startswith("host ")]
    shown = [line.split()[0] for line in lines[head + 1 : head + 5]]
    assert shown == ["rude.example", "h042.example", "h000.example", "h001.example"]
    assert "... and 31 more hosts; --html and --json have them all" in lines


def test_text_does_nothing_to_a_terminal() -> None:
    """Control characters of hosts, URLs, reasons and names are not printed."""
    nasty = "\x1b[2J\x07\u202e"
    events = whole(
        fetch(0, 1, nasty, url=nasty, user_agent=nasty, from_address=nasty),
        fetch(1.5, 2, nasty, reason=nasty),
        robots(1, host=nasty, origin=nasty, problems=(nasty,), problem_count=1),
        Dropped(1, nasty, nasty, nasty),
        Ended(3, nasty),
    )
    text = to_text(report_of(events))
    assert all(char.isprintable() or char == "\n" for char in text)


def test_busiest_hosts_are_drawn() -> None:
    """When the picture is full, the hosts that come last have no row and are counted."""
    tally = Tally().add_all(
        fetch(n, n + 0.5, f"h{host}", until_at=None) for host in range(5) for n in range(10)
    )
    drawn = picture(tally.hosts.values(), 10.0, spans_max=35)
    assert [row.host for row in drawn.rows] == ["h0", "h1", "h2"]
    assert drawn.left_out == 2
    assert drawn.rows[0].spans[:6] == (0, 500, 0, 1000, 500, 0)


def test_png(tmp_path: Path) -> None:
    """The PNG has the bars of a log: its width shows fetches and waits in their colours."""
    pytest.importorskip("matplotlib")
    from matplotlib.image import imread

    path = tmp_path / "timeline.png"
    png.to_png(report_of(TOLD), path)
    pixels = (imread(path)[:, :, :3] * 255).round().astype(int).tolist()
    colours = {tuple(pixel) for line in pixels for pixel in line}
    page, robots_txt, absent = (31, 95, 168), (138, 47, 160), (11, 122, 92)
    assert {page, robots_txt} <= colours and absent not in colours


def test_png_without_matplotlib(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without matplotlib one sentence says what to install, and there is no file."""
    real = builtins.__import__

    def without(name: str, *args: Any, **kwargs: Any) -> Any:
        if name.startswith("matplotlib"):
            raise ImportError(name)
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(png.NeedsMatplotlib, match=r"pip install 'scrapy-polite\[report\]'"):
        png.to_png(report_of(TOLD), tmp_path / "timeline.png")
    assert list(tmp_path.iterdir()) == []


# how a crawl stands

QUEUED = [
    Queued("fast", Standing.FETCHING, 0.0, 3),
    Queued("slow", Standing.WAITING, 40.0, 2),
    Queued("new", Standing.READY, 0.0, 5),
    Queued("blocked", Standing.BLOCKED, 90.0, 1),
    Queued("parked", Standing.PARKED, float("inf"), 7),
]


def paces() -> Paces:
    """Return the paces of a fast and a slow host."""
    known = Paces()
    known.add("fast", 0.1, 1.0)
    known.add("slow", 6.0, 60.0)
    return known


def test_overview() -> None:
    """Hosts are counted by what they do; the slowest one decides about the end."""
    stands = overview(12, QUEUED, paces(), places=16)
    assert stands.hosts == dict.fromkeys(Standing, 1)
    assert (stands.queued, stands.next_in) == (11, 0.0)
    assert stands.end_in == pytest.approx(40 + 66 + 6)
    assert str(stands) == (
        "12 pages done, 11 queued; hosts: 1 in flight, 1 ready, 1 waiting, 1 blocked, 1 parked; "
        "next fetch in 0.0 s; what is queued takes about 1 min 52 s"
    )


def test_overview_is_bound_by_places() -> None:
    """Many hosts with few places: the places decide about the end."""
    hosts = [Queued(f"h{number}", Standing.READY, 0.0, 1) for number in range(1000)]
    known = Paces()
    known.add("h0", 1.0, 10.0)
    assert overview(0, hosts, known, places=10).end_in == pytest.approx(100.0)


def test_overview_with_nothing_to_do() -> None:
    """Only parked hosts left, or nothing at all: there is no next fetch and no estimate."""
    for queued in ([], QUEUED[-1:]):
        stands = overview(5, queued, paces(), places=16)
        assert (stands.next_in, stands.end_in, stands.queued) == (None, None, 0)


def test_paces_are_forgotten() -> None:
    """What is kept of hosts without requests is dropped; they go at the usual pace."""
    known = paces()
    known.keep(["slow", "new"])
    assert known.of("slow").cycle == 66.0
    assert known.of("fast") == known.of("anybody")


def test_bar() -> None:
    """The bar shows pages, hosts, the next fetch and the end."""
    pytest.importorskip("rich")
    from rich.console import Console

    out = io.StringIO()
    line = bar.Bar(Console(file=out, force_terminal=True, width=120))
    line.show(Overview(30, {**dict.fromkeys(Standing, 0), Standing.WAITING: 4}, 70, 2.5, 61.0))
    line.close()
    text = out.getvalue()
    assert "30/100" in text
    assert "0 ready, 4 waiting; next in 2.5 s; about 1 min 1 s left" in text


def test_no_bar_without_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """There is a bar only where stderr is a terminal and rich is installed."""
    monkeypatch.setattr("sys.stderr", io.StringIO())
    assert not bar.is_possible()
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    assert bar.is_possible() is (importlib.util.find_spec("rich") is not None)


def test_agents_are_bounded() -> None:
    """Fifty names are told apart; those of all others are counted together."""
    names = [f"Bot{'x' * n}/1.0 (+https://bot.test/)" for n in range(80)]
    events = [fetch(n, n + 0.5, f"h{n}", user_agent=name) for n, name in enumerate(names)]
    report = report_of(whole(*events))
    assert report.verdict == "unknown"
    assert len(report.user_agents) == 51
    assert sum(agent.fetches for agent in report.user_agents) == 80
    assert AGENT not in {agent.user_agent for agent in report.user_agents}


def test_png_of_a_crowded_row(tmp_path: Path) -> None:
    """Where fetches are too short to be seen, a row is not solid: their share of the time is."""
    pytest.importorskip("matplotlib")
    from matplotlib.image import imread

    events = [fetch(11 * n, 11 * n + 1) for n in range(5000)]
    png.to_png(report_of(whole(*events)), tmp_path / "timeline.png")
    pixels = (imread(tmp_path / "timeline.png")[:, :, :3] * 255).round().astype(int).tolist()
    row = [[tuple(pixel) for pixel in line] for line in pixels]
    solid = [line for line in row if line.count((31, 95, 168)) > 1000]
    hatched = [line for line in row if 100 < line.count((255, 255, 255)) < len(line) - 300]
    assert 0 < len(solid) < len(hatched) / 5
