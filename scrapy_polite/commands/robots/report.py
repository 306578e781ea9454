"""All that `scrapy robots` has to say, before it becomes text or JSON.

It judges nothing itself: verdicts, problems and the meaning of statuses are those of a crawl.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from scrapy_polite.commands.robots.later import Prospect, prospects
from scrapy_polite.commands.robots.look import Look
from scrapy_polite.commands.robots.question import Page, Question
from scrapy_polite.commands.robots.reading import Reading, Ruling
from scrapy_polite.commands.robots.trouble import what_went_wrong
from scrapy_polite.commands.robots.visit import Visit
from scrapy_polite.config import Config
from scrapy_polite.policy.robots_cache import Standing
from scrapy_polite.robots import hints
from scrapy_polite.robots.groups import Group
from scrapy_polite.robots.lines import DISALLOW, LIMIT_BYTES, RobotsFile, records
from scrapy_polite.robots.preferences import Wish
from scrapy_polite.robots.problems import Kind, find_problems

ALL_ALLOWED, SOME_DISALLOWED, CANNOT_TELL = 0, 1, 2
_LINE_ENDS = {"\n": "LF", "\r\n": "CR LF", "\r": "CR"}
_LINE_END = re.compile(r"\r\n|\r|\n")
_PLAIN_TEXT = "text/plain"


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing to put right.

    Attributes:
        line: its line; 0 when the whole file or the answer is meant.
        kind: a word for machines.
        message: one sentence.
        text: the line as written, fit to print; empty for the whole file.
    """

    line: int
    kind: str
    message: str
    text: str = ""


@dataclass(frozen=True, slots=True)
class Shape:
    """How the file was read.

    Attributes:
        size_bytes: octets that count.
        ignored_bytes: octets behind them.
        is_whole: False when the download was stopped at the limit, so that more may follow.
        line_ends: `LF`, `CR LF`, `CR`, in the order in which they appear.
    """

    size_bytes: int
    ignored_bytes: int
    is_whole: bool
    lines: int
    encoding: str
    has_bom: bool
    line_ends: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class PageReport:
    """One page: verdict, preferences by label, and what a look showed; None when nobody tried."""

    page: Page
    ruling: Ruling
    look: Look | None = None
    usage: Mapping[str, Wish] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Report:
    """See above.

    Attributes:
        visit: what the site answered; None for a file.
        shape: how the file was read; None when the answer brought none.
        group: the group that applies, with its rules.
        crawl_delay: what it asks for in seconds; None for nothing.
        crawl_delay_line: the line that does.
        nameless: whether nobody has said who asks, so that no page of a site was looked at.
    """

    question: Question
    config: Config
    reading: Reading
    visit: Visit | None
    shape: Shape | None
    group: Group
    crawl_delay: float | None
    crawl_delay_line: int | None
    sitemaps: tuple[str, ...]
    problems: tuple[Problem, ...]
    pages: tuple[PageReport, ...]
    prospects: tuple[Prospect, ...]
    nameless: bool = False

    @property
    def failure(self) -> str | None:
        """Why there is nothing to report, in one sentence; None when there is."""
        error = self.visit.answer.error if self.visit else None
        if error is None:
            return None
        why = what_went_wrong(error, self.config.robots_timeout)
        return f"{self.question.source} could not be fetched: {why}."

    @property
    def exit_status(self) -> int:
        """0 when all pages are allowed, 1 when any is disallowed, 2 when that cannot be told."""
        verdicts = {page.ruling.allowed for page in self.pages}
        if None in verdicts:
            return CANNOT_TELL
        return SOME_DISALLOWED if False in verdicts else ALL_ALLOWED


def make_report(
    question: Question,
    config: Config,
    reading: Reading,
    visit: Visit | None = None,
    *,
    nameless: bool = False,
) -> Report:
    """Return the report on a reading, and on the visit that it comes from, None for a file."""
    file = reading.rules.file
    has_rules = reading.standing is Standing.RULES
    record = reading.record
    looks = visit.looks if visit else {}
    return Report(
        question,
        config,
        reading,
        visit,
        _shape(file, visit) if has_rules else None,
        reading.group(),
        reading.crawl_delay(),
        reading.crawl_delay_line(),
        hints.sitemaps(file.records()),
        (*_in_answer(visit), *_in_file(file, visit, config.crawl_delay_max)),
        tuple(
            PageReport(p, reading.ruling(p.url), looks.get(p.url), reading.usage(p.url))
            for p in question.pages
        ),
        tuple(prospects(record, config)) if record else (),
        nameless,
    )


def _shape(file: RobotsFile, visit: Visit | None) -> Shape:
    lines = file.lines()
    return Shape(
        size_bytes=len(file.octets),
        ignored_bytes=file.ignored_bytes,
        is_whole=not _was_cut(visit),
        lines=len(lines) - (lines[-1] == ""),
        encoding=file.encoding,
        has_bom=file.has_bom,
        line_ends=tuple(dict.fromkeys(_LINE_ENDS[end] for end in _LINE_END.findall(file.text))),
    )


def _was_cut(visit: Visit | None) -> bool:
    response = visit.answer.response if visit else None
    return response is not None and "download_stopped" in response.flags


def _in_answer(visit: Visit | None) -> Iterator[Problem]:
    """Yield what is wrong with the answer, whatever is in the file."""
    response = visit.answer.response if visit else None
    if visit is None or response is None:
        return
    kind = (visit.answer.header("Content-Type") or "").partition(";")[0].strip().lower()
    if not 200 <= response.status <= 299:
        text = RobotsFile.read(response.body).lines()
        if any(record.key == DISALLOW for record in records(text)):
            message = f"The status is {response.status}, so the rules in the body do not count."
            yield Problem(0, "status", message)
    elif kind != _PLAIN_TEXT:
        said = f"The media type is {kind}" if kind else "The answer names no media type"
        yield Problem(0, "media-type", f"{said}; the standard asks for {_PLAIN_TEXT}.")


def _in_file(file: RobotsFile, visit: Visit | None, crawl_delay_max: float) -> Iterator[Problem]:
    for found in find_problems(file, crawl_delay_max=crawl_delay_max):
        message = found.message
        if found.kind is Kind.IGNORED_TAIL and _was_cut(visit):
            message = f"From here on nothing is read: only the first {LIMIT_BYTES:,} octets count."
        elif found.kind is Kind.HTML and visit is not None:
            message = (
                "This is a web page, not a robots.txt file: a 'soft 404', if the site has none. "
                "Such a site should answer 404."
            )
        yield Problem(found.line, found.kind.value, message, found.text)
