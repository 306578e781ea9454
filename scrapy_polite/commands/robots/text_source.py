"""The part of the report's text that says how the file came, and how it was read."""

from __future__ import annotations

from collections.abc import Iterator

from scrapy_polite.commands.robots.layout import labelled
from scrapy_polite.commands.robots.report import Report, Shape
from scrapy_polite.commands.robots.visit import Visit
from scrapy_polite.policy.robots_access import MAX_HOPS, Access
from scrapy_polite.policy.robots_cache import Standing
from scrapy_polite.report.words import many, span
from scrapy_polite.robots.lines import LIMIT_BYTES, printable

_ENCODINGS = {"utf-8": "UTF-8", "utf-16-le": "UTF-16", "utf-16-be": "UTF-16"}


def source(report: Report) -> Iterator[str]:
    """Yield the lines of this part."""
    visit, shape = report.visit, report.shape
    if visit:
        took = f", in {span(visit.seconds)}" if visit.seconds else ""
        yield from labelled("Fetched", f"as {report.config.identity.user_agent}{took}")
        for hop in visit.hops[:-1]:
            yield from labelled("Redirect", f"{hop.status} {printable(hop.url)}")
        if visit.hops[1:]:
            yield from labelled("Ends at", printable(visit.hops[-1].url))
        yield from labelled("Answer", _answer(report, visit))
        asked = visit.answer.header("Retry-After")
        if asked and visit.answer.access is Access.UNREACHABLE:
            yield from labelled("Retry-After", printable(asked))
        kind = visit.answer.header("Content-Type")
        if kind and shape:
            yield from labelled("Media type", printable(kind))
    if shape:
        yield from labelled("Size", _size(shape))
        yield from labelled("Text", _reading(shape))


def _answer(report: Report, visit: Visit) -> str:
    answer, standing = visit.answer, report.reading.standing
    if standing is Standing.RULES:
        return f"{answer.status}: its rules count"
    if 300 <= (answer.status or 0) <= 399:
        why = f"the redirects lead nowhere, or there are more than {MAX_HOPS}"
        return f"{answer.status}: {why}, which counts as 404: everything is allowed"
    if standing is Standing.ALLOWED:
        return f"{answer.status}: there are no rules, everything is allowed"
    if standing is Standing.DISALLOWED:
        return f"{answer.status}: nothing is allowed (POLITE_ROBOTS_FORBIDDEN)"
    return f"{answer.status}: nothing is allowed until the file can be read"


def _size(shape: Shape) -> str:
    total = shape.size_bytes + shape.ignored_bytes
    if not shape.ignored_bytes:
        return f"{total:,} octets, of {LIMIT_BYTES:,} that a crawler reads"
    all_of_it = f"{total:,}" if shape.is_whole else f"more than {LIMIT_BYTES:,}"
    return f"{all_of_it} octets, of which the first {shape.size_bytes:,} are read"


def _reading(shape: Shape) -> str:
    mark = "with a byte order mark" if shape.has_bom else "no byte order mark"
    ends = f", line ends {' and '.join(shape.line_ends)}" if shape.line_ends else ""
    return f"{_ENCODINGS[shape.encoding]}, {mark}, {many(shape.lines, 'line')}{ends}"
