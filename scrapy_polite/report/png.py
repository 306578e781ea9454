"""The timeline as a PNG, for print: a row per host, fetches solid, waits hatched.

Needs matplotlib (extra ``report``).  No more than `HOSTS_DRAWN` hosts are drawn; the title says so.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from scrapy_polite.report.picture import Row
from scrapy_polite.report.summary import Report
from scrapy_polite.report.text import headline
from scrapy_polite.report.words import date, many, printable, span

HOSTS_DRAWN = 40
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
        from matplotlib.ticker import FuncFormatter
    except ImportError:
        raise NeedsMatplotlib(
            "The PNG needs matplotlib: run pip install 'scrapy-polite[report]'."
        ) from None
    rows = report.picture.rows[:HOSTS_DRAWN]
    high = 0.5 if len(rows) <= 8 else 0.25
    figure = Figure(figsize=(_INCHES, 1.9 + high * max(len(rows), 1)), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    _draw(axes, rows, report.picture.kinds)
    axes.set_xlim(0, max(report.seconds, 0.001))
    axes.set_ylim(len(rows) - 0.5, -0.5)
    axes.set_yticks(range(len(rows)), [_label(row.host) for row in rows])
    axes.xaxis.set_major_formatter(FuncFormatter(lambda at, _: span(at) if at else "0"))
    axes.set_title(_title(report, len(rows)), loc="left", fontsize=11, parse_math=False)
    axes.spines[["top", "right"]].set_visible(False)
    axes.tick_params(axis="y", length=0)
    if axes.get_legend_handles_labels()[0]:
        figure.legend(loc="outside lower center", ncols=4, frameon=False, fontsize=9)
    figure.savefig(path, dpi=_DPI, format="png")


def _draw(axes: Any, rows: Sequence[Row], kinds: Sequence[str]) -> None:
    labelled = set[str]()
    for kind in (name for name in _LOOKS if name in kinds):
        look = {"facecolor": "white", "linewidth": 0, **_LOOKS[kind]}
        code = kinds.index(kind)
        for number, row in enumerate(rows):
            bars = _bars(row, code)
            if bars:
                label = None if kind in labelled else look["label"]
                axes.broken_barh(bars, (number - 0.38, 0.76), **{**look, "label": label})
                labelled.add(kind)


def _bars(row: Row, code: int) -> list[tuple[float, float]]:
    """Return (start, length) in seconds of a row's spans of one kind."""
    triples = zip(row.spans[::3], row.spans[1::3], row.spans[2::3], strict=True)
    return [(start / 1000, length / 1000) for start, length, kind in triples if kind == code]


def _label(host: str) -> str:
    host = printable(host).replace("$", r"\$")
    return host if len(host) <= _LABEL else host[: _LABEL - 3] + "..."


def _title(report: Report, drawn: int) -> str:
    hosts = many(report.host_count, "host")
    shown = hosts if drawn == report.host_count else f"{drawn} of {hosts}"
    spider = f"{printable(report.spider)}, " if report.spider else ""
    return f"{spider}{date(report.began_at)}, {shown}. {headline(report)}"
