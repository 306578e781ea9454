"""The HTML page: in a real browser it shows what the log says, and it needs nothing else."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from report.chromium import boxes, opened, told
from report.logs import HOST, began, fetch, report_of, robots, whole
from scrapy_polite.report.page import data_of, to_page
from scrapy_polite.report.schema import Blocked, Dropped, Ended, Event, Parked, Remains

PIXEL = 1.01
HOSTILE = "</script><script>document.title='owned'</script>"
KNOWN: list[Event] = [
    fetch(0, 2, what="robots", verdict=None, until_at=24.0),
    robots(2.0),
    fetch(24, 28, until_at=72.0),
    fetch(72, 74, what="media", outcome="refused", status=429, until_at=94.0, reason="backoff"),
    Blocked(74, HOST, 94, "429", 429),
    fetch(94, 100),
    fetch(0, 10, "slow.example"),
    Parked(50, "gone.example", 9999, "asked"),
    Remains(100, "gone.example", 7),
    Dropped(60, HOST, f"https://{HOST}/private/", "disallowed"),
    Ended(100, "finished"),
]


def page_of(*events: Event) -> str:
    """Return the page of a log."""
    return to_page(report_of([began(), *events]))


def test_bars_are_where_they_belong(tmp_path: Path) -> None:
    """Each fetch, wait, block and parking of a known log is drawn at its place and length."""
    document = opened(page_of(*KNOWN), tmp_path)
    [width] = re.findall(r'<svg width="(\d+)" height="\d+" tabindex="0"', document)
    scale = (float(width) - 198) / 100  # pixels per second; 198 are for the names

    def at(*spans: tuple[float, float]) -> list[tuple[float, float]]:
        wanted = [(start * scale, (end - start) * scale) for start, end in spans]
        return [(pytest.approx(left, abs=PIXEL), pytest.approx(w, abs=PIXEL)) for left, w in wanted]

    assert boxes(document, HOST, "robots") == at((0, 2))
    assert boxes(document, HOST, "page") == at((24, 28), (94, 100))
    assert boxes(document, HOST, "media") == at((72, 74))
    assert boxes(document, HOST, "wait") == at((2, 24), (28, 72))
    assert boxes(document, HOST, "backoff") == at((74, 94))
    assert boxes(document, "slow.example", "wait") == at((10, 100))
    assert boxes(document, "gone.example", "parked") == at((50, 100))


def test_use(tmp_path: Path) -> None:
    """Zoom, hover, paging, search and order work, by mouse and by keyboard."""
    events = [fetch(n, n + 1, f"host{n:03}.example") for n in range(90)]
    script = """
      const chart = () => document.querySelector("#chart svg");
      const label = () => chart().getAttribute("aria-label");
      const page = () => document.getElementById("page").textContent;
      const press = (id) => document.getElementById(id).click();
      const set = (id, value, type) => { const field = document.getElementById(id);
        field.value = value; field.dispatchEvent(new Event(type)); };
      const key = (name) => chart().dispatchEvent(new KeyboardEvent("keydown", { key: name }));
      const first = () => document.querySelector("#hosts tbody td").textContent;
      const point = (type, seconds, row) => {
        const box = chart().getBoundingClientRect(), wide = box.width - 198;
        const clientX = box.left + 190 + seconds / 90 * wide, clientY = box.top + 37 + 22 * row;
        chart().dispatchEvent(new PointerEvent(type, { clientX, clientY, button: 0 })); };
      const said = { start: page() };
      press("on"); said.second = [page(), first()];
      set("find", "host07", "input"); said.found = page();
      set("find", "", "input"); set("order", "name", "change"); said.named = first();
      point("pointermove", 3.5, 3); said.tip = document.getElementById("tip").textContent;
      point("pointerdown", 30, 0); point("pointerup", 59.9, 0); said.dragged = label();
      press("all"); press("in"); said.zoomed = label();
      key("ArrowRight"); said.panned = label();
      key("0"); said.whole = label();
      document.body.dataset.told = JSON.stringify(said);
    """
    said = json.loads(told(opened(page_of(*events, Ended(90, "finished")), tmp_path, script)))
    assert said["start"] == "page 1 of 3, 90 hosts"
    assert said["second"] == ["page 2 of 3, 90 hosts", "host040.example"]
    assert said["found"] == "page 1 of 1, 10 hosts"
    assert said["named"] == "host000.example"
    assert said["tip"].split("\n")[0] == "host003.example"
    assert said["tip"].split("\n")[2] == "page: 1 s, 0:00:03.000 to 0:00:04.000"
    dragged = [float(part) for part in re.findall(r"0:0(?:0|1):([\d.]+)", said["dragged"])]
    assert dragged == [pytest.approx(30, abs=0.2), pytest.approx(59.9, abs=0.2)]
    assert "from 0:00:22.500 to 0:01:07.500" in said["zoomed"]
    assert "from 0:00:33.750 to 0:01:18.750" in said["panned"]
    assert "from 0:00:00.000 to 0:01:30.000" in said["whole"]


def test_five_thousand_hosts(tmp_path: Path) -> None:
    """A page of 5,000 hosts shows the busiest and pages through the others."""
    events = [fetch(20 * n, 20 * n + 1, f"h{h}.example") for n in range(3) for h in range(5000)]
    document = opened(page_of(fetch(60, 61, "h4321.example"), *events), tmp_path)
    assert "page 1 of 125, 5,000 hosts" in document
    assert document.count('data-kind="page"') == 40
    assert boxes(document, "h4321.example", "page")


def test_crowded_row_is_not_solid(tmp_path: Path) -> None:
    """Where fetches are too close to be told apart, their height is their share of the time."""
    events = [fetch(11 * n, 11 * n + 1) for n in range(20_000)]
    document = opened(page_of(*events), tmp_path)
    [path] = re.findall(r'<path d="([^"]*)"[^>]*data-kind="page"', document)
    heights = {float(height) for height in re.findall(r"v([\d.]+)h-", path)}
    [row] = {
        float(height)
        for height in re.findall(
            r"v([\d.]+)h-", re.findall(r'<path d="([^"]*)"[^>]*data-kind="wait"', document)[0]
        )
    }
    assert max(heights) < row / 6
    assert len(boxes(document, HOST, "wait")) < 2000


def test_hostile_texts_stay_texts(tmp_path: Path) -> None:
    """Nothing that a host, URL, reason or name says becomes part of the page."""
    events = [
        began(spider=HOSTILE, user_agent=HOSTILE),
        fetch(0, 1, HOSTILE, url=HOSTILE),
        Dropped(1, HOSTILE, HOSTILE, "left"),
        robots(1, host=HOSTILE, origin=HOSTILE, problems=(HOSTILE,), problem_count=1),
        Ended(1, HOSTILE),
    ]
    document = opened(to_page(report_of(events)), tmp_path)
    assert "<title>Politeness of &lt;/script&gt;" in document
    assert document.count("<script") == 4  # data, page, chart, and the test's own


def test_page_needs_nothing_else() -> None:
    """A page names no other file and forbids to load any."""
    page = page_of(*KNOWN)
    markup = re.sub(r'<script type="application/json".*?</script>', "", page, flags=re.DOTALL)
    assert re.findall(r"""(?:src|href|srcset|action)\s*=|@import|url\((?!#)""", markup) == []
    assert "default-src 'none'" in page


def test_page_holds_the_report() -> None:
    """The JSON in a page is the report; without scripts the page has the text."""
    page = page_of(*KNOWN)
    data = data_of(page)
    assert data is not None and json.loads(data)["fetches"] == 5
    assert "<noscript><pre>Politeness of the crawl of spider spider" in page


def test_whole_log_in_a_page() -> None:
    """A log of no fetches makes a page too."""
    assert "cannot be told" in to_page(report_of(whole()))
