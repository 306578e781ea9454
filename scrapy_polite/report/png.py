"""The timeline as a PNG, for print: a row per host, fetches solid, waits hatched.

Needs matplotlib (extra ``report``).  No more than `HOSTS_DRAWN` hosts are drawn; the title says so.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from scrapy_polite.report.picture import Row
from scrapy_polite.report.summary import Report
from scrapy_polite.report.tally import FETCHES
from scrapy_polite.report.text import headline
from scrapy_polite.report.words import date, many, printable, span

HOSTS_DRAWN = 40
_COLUMNS = 1400  # of pixels; a fetch that is shorter than one is drawn by its share of the time
_NEAR = 4  # columns
_LEAST = 0.06  # of a row's height
_HALF = 0.38  # of a row's height
_STEPS = (0.01, 0.1, 0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 21600)
_DPI = 150
_INCHES = 12.0
_LABEL = 36  # characters
_LOOKS: dict[str, dict[str, Any]] = {
    "wait": {"label": "wait: ten fetches, or the floor", "hatch": "////", "edgecolor": "#8c8c8c"},
    "crawl-delay": {"label": "wait: Crawl-delay", "hatch": "\\\\\\\\", "edgecolor": "#c47a1b"},
    "backoff": {"label": "left alone after a refusal", "hatch": "////", "edgecolor": "#c2261c"},
    "held": {"label": "robots.txt cannot be read", "hatch": "----", "edgecolor": "#a3539f"},
    "parked": {"label": "parked", "hatch": "||||", "edgecolor": "#444444"},
    "page": {"label": "page", "facecolor": "#1f5fa8"},
    "robots": {"label": "robots.txt", "facecolor": "#8a2fa0"},
    "media": {"label": "media", "facecolor": "#0b7a5c"},
}
"""How each kind of span looks; the later ones are drawn on top."""


class NeedsMatplotlib(Exception):
    """matplotlib is not installed; the message says what to do."""


def to_png(report: Report, path: Path) -> None:
    """Write the timeline of a report as a PNG.

    Raises:
        NeedsMatplotlib: it is not installed.
        OSError: the file cannot be written.
    """
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError:
        raise NeedsMatplotlib(
            "The PNG needs matplotlib: run pip install 'scrapy-polite[report]'."
        ) from None
    rows = report.picture.rows[:HOSTS_DRAWN]
    high = 0.5 if len(rows) <= 8 else 0.25
    figure = Figure(figsize=(_INCHES, 1.9 + high * max(len(rows), 1)), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    seconds = max(report.seconds, 0.001)
    _draw(axes, rows, report.picture.kinds, seconds / _COLUMNS)
    axes.set_xlim(0, seconds)
    axes.set_ylim(max(len(rows), 1) - 0.5, -0.5)
    axes.set_yticks(range(len(rows)), [_label(row.host) for row in rows])
    ticks = _ticks(seconds)
    axes.set_xticks(ticks, [span(at) if at else "0" for at in ticks])
    axes.set_title(_title(report, len(rows)), loc="left", fontsize=11, parse_math=False)
    axes.spines[["top", "right"]].set_visible(False)
    axes.tick_params(axis="y", length=0)
    if axes.get_legend_handles_labels()[0]:
        figure.legend(loc="outside lower center", ncols=4, frameon=False, fontsize=9)
    figure.savefig(path, dpi=_DPI, format="png")


def _draw(axes: Any, rows: Sequence[Row], kinds: Sequence[str], unit: float) -> None:
    from matplotlib.collections import PolyCollection

    for kind in (name for name in _LOOKS if name in kinds):
        look = {"facecolor": "white", "linewidth": 0, **_LOOKS[kind]}
        code, crowded = kinds.index(kind), kind in FETCHES
        for number, row in enumerate(rows):
            bars = _bars(row, code, unit if crowded else 0.0, join=not crowded and unit)
            if bars:
                axes.broken_barh(bars, (number - _HALF, 2 * _HALF), **look)
                look["label"] = None  # one of them is enough for the legend
            shares = _shares(row, code, kinds, unit) if crowded else []
            if shares:
                boxes = [_box(left, unit, number + _HALF, height) for left, height in shares]
                axes.add_collection(PolyCollection(boxes, **look))
                look["label"] = None


def _spans(row: Row) -> Iterator[tuple[float, float, int]]:
    """Yield start and length in seconds, and the number of the kind."""
    numbers = iter(row.spans)
    for start, length, code in zip(numbers, numbers, numbers, strict=True):
        yield start / 1000, length / 1000, code


def _bars(row: Row, code: int, least: float, *, join: float) -> list[tuple[float, float]]:
    """Return (start, length) of a row's spans of one kind.

    Args:
        least: shorter ones are left out.
        join: with less than so many seconds between them they become one.
    """
    bars: list[tuple[float, float]] = []
    for start, length, kind in _spans(row):
        if kind != code or length < least:
            continue
        if bars and join and start - sum(bars[-1]) < join:
            first = bars[-1][0]
            bars[-1] = first, max(start + length, sum(bars[-1])) - first
        else:
            bars.append((start, length))
    return bars


def _shares(row: Row, code: int, kinds: Sequence[str], unit: float) -> list[tuple[float, float]]:
    """Return (start, height) of the columns in which fetches are too short to be seen.

    The height is their share of the time; but 1, the whole row, where one stands alone.
    """
    fetches = [span for span in _spans(row) if kinds[span[2]] in FETCHES]
    taken = {int(start / unit) for start, _, _ in fetches}
    seconds = defaultdict[int, float](float)
    for start, length, kind in fetches:
        if kind == code and length < unit:
            seconds[int(start / unit)] += length
    return [
        (column * unit, max(part / unit, _LEAST) if _is_crowded(column, taken) else 1.0)
        for column, part in seconds.items()
    ]


def _box(left: float, width: float, floor: float, share: float) -> list[tuple[float, float]]:
    """Return the corners of a column that stands on the floor of its row."""
    right, top = left + width, floor - 2 * _HALF * share
    return [(left, floor), (left, top), (right, top), (right, floor)]


def _is_crowded(column: int, taken: set[int]) -> bool:
    near = range(column - _NEAR, column + _NEAR + 1)
    return any(other in taken for other in near if other != column)


def _ticks(seconds: float) -> list[float]:
    """Return round instants, about ten of them.

    >>> _ticks(7600)
    [0.0, 900.0, 1800.0, 2700.0, 3600.0, 4500.0, 5400.0, 6300.0, 7200.0]
    """
    days = math.ceil(seconds / 10 / 86400)
    step = next((each for each in _STEPS if each * 10 >= seconds), days * 86400)
    return [float(number * step) for number in range(int(seconds / step) + 1)]


def _label(host: str) -> str:
    host = printable(host).replace("$", r"\$")
    return host if len(host) <= _LABEL else host[: _LABEL - 3] + "..."


def _title(report: Report, drawn: int) -> str:
    hosts = many(report.host_count, "host")
    shown = hosts if drawn == report.host_count else f"{drawn} of {hosts}"
    spider = f"{printable(report.spider)}, " if report.spider else ""
    return f"{spider}{date(report.began_at)}, {shown}. {headline(report)}"
