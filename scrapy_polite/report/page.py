"""The report as one HTML page that needs nothing else: no network, no other file.

The page holds the report as JSON, which `summary` reads back, and a script that draws it.  Without
scripts it shows the report as text.
"""

from __future__ import annotations

import html
import json
import re
from importlib.resources import files

from scrapy_polite.report.plain import to_plain
from scrapy_polite.report.summary import Report
from scrapy_polite.report.text import to_text
from scrapy_polite.report.words import printable

_PLACE = re.compile(r"\{\{(\w+)\}\}")
_DATA = re.compile(r'<script type="application/json" id="report">(.*?)</script>', re.DOTALL)


def to_page(report: Report) -> str:
    """Return a report as a page."""
    words = {
        "title": html.escape(printable(f"Politeness of {report.spider or report.source}")),
        "style": _part("page.css"),
        "page": _part("page.js"),
        "chart": _part("chart.js"),
        "text": html.escape(to_text(report)),
        # JSON has < in strings only; escaped there, no text of a log can end the element.
        "report": json.dumps(to_plain(report), separators=(",", ":")).replace("<", r"\u003c"),
    }
    return _PLACE.sub(lambda place: words[place[1]], _part("page.html"))


def data_of(page: str) -> str | None:
    """Return the JSON of the report that a page holds; None when it is no such page."""
    found = _DATA.search(page)
    return found[1] if found else None


def _part(name: str) -> str:
    return files("scrapy_polite.report").joinpath(name).read_text(encoding="utf-8")
