"""The report for a terminal: the verdicts first, then why, then what to put right.

Rules: what comes from the site is escaped; what there is much of is cut, and --json has it all.
"""

from __future__ import annotations

from collections.abc import Iterator

from scrapy_polite.commands.robots.layout import COLUMNS, labelled, line_numbers, wrapped
from scrapy_polite.commands.robots.noindex import Noindex
from scrapy_polite.commands.robots.question import STANDARD_INPUT
from scrapy_polite.commands.robots.report import PageReport, Problem, Report
from scrapy_polite.commands.robots.text_source import source
from scrapy_polite.policy.robots_cache import Standing
from scrapy_polite.report.words import many, span
from scrapy_polite.robots.groups import EVERYONE, Group
from scrapy_polite.robots.lines import printable

_PROBLEMS_SHOWN = 20
_SITEMAPS_SHOWN = 5
_HIDDEN = (
    "What is disallowed is not read, so a noindex on it is never seen, and search engines may list "
    "its address all the same. To keep a page out of their results, allow it and let it say "
    "noindex."
)
_SEEN = (
    "Search engines that read a noindex do not list the page. They can read it as the page is "
    "allowed: a Disallow would hide it from them."
)
_NO_CONTACT = (
    "Nobody has said who asks, so robots.txt alone was fetched and no page was looked at for "
    "noindex. To be somebody, set POLITE_CONTACT_URL or POLITE_CONTACT_EMAIL in settings.py, or "
    "add --contact-url or --contact-email; --spider takes those of a spider's custom_settings."
)


def to_text(report: Report) -> str:
    """Return a report as text, ending in a line end."""
    parts = (_title, _pages, _group, source, _problems, _later, _note)
    blocks = ["\n".join(line.rstrip() for line in part(report)) for part in parts]
    return "\n\n".join(block for block in blocks if block) + "\n"


def _title(report: Report) -> Iterator[str]:
    name, token = printable(report.question.source), report.reading.token
    name = "standard input" if name == STANDARD_INPUT else name
    reader = "a crawler that it does not name" if token == EVERYONE else token
    is_guess = report.nameless and token == report.config.identity.product_token
    hint = " (for another crawler: --agent NAME)" if is_guess else ""
    yield from wrapped(f"{name}, as {reader} reads it{hint}")


def _pages(report: Report) -> Iterator[str]:
    for page in report.pages:
        yield printable(page.page.asked)
        yield from wrapped(page.ruling.sentence, 4)
        for label, wish in page.usage.items():
            if wish.line is not None:
                yield from wrapped(f"{label}: {wish}", 4)
        yield from _look(page)
    if any(page.look and page.look.found for page in report.pages):
        yield ""
        yield from wrapped(_SEEN)
    if any(page.ruling.allowed is False for page in report.pages):
        yield ""
        yield from wrapped(_HIDDEN)


def _look(page: PageReport) -> Iterator[str]:
    look = page.look
    if look is None:
        return
    if look.why_not:
        yield from wrapped(f"not looked at for noindex: {look.why_not}", 4)
    elif not look.found:
        yield from wrapped(f"looked at, status {look.status}: it does not say noindex", 4)
    else:
        for found in look.found:
            yield from wrapped(f"it says noindex {_whom(found)}: {_where(found)}", 4)
    for directive, told in look.page.items():
        yield from wrapped(f'it says {directive}: {told["by"]} "{told["text"]}"', 4)
    for label, told in look.usage.items():
        yield from wrapped(f'{label}: {told["says"]} by {told["by"]} "{told["text"]}"', 4)


def _whom(found: Noindex) -> str:
    return "to everyone" if found.agent == EVERYONE else f"to {found.agent}"


def _where(found: Noindex) -> str:
    return f'{found.where} "{found.text}"'


def _group(report: Report) -> Iterator[str]:
    if report.reading.standing is not Standing.RULES:
        return
    group, token = report.group, report.reading.token
    yield from labelled("Group", _which(group, token))
    if group.name is not None:
        allows = sum(rule.allow for rule in group.rules)
        yield from labelled(
            "Rules",
            f"{len(group.rules):,}: {allows:,} allow, {len(group.rules) - allows:,} disallow",
        )
    yield from labelled("Crawl-delay", _delay(report))
    for number, address in enumerate(report.sitemaps[:_SITEMAPS_SHOWN]):
        yield from labelled("" if number else "Sitemaps", printable(address))
    if len(report.sitemaps) > _SITEMAPS_SHOWN:
        yield from labelled("", f"and {len(report.sitemaps) - _SITEMAPS_SHOWN:,} more")


def _which(group: Group, token: str) -> str:
    others = "has no group for *" if token == EVERYONE else f"names neither {token} nor *"
    if group.name is None:
        return f"none: the file {others}, so everything is allowed"
    lines = f"{group.name} ({line_numbers(group.named_at)})"
    is_fallback = group.name == EVERYONE and token != EVERYONE
    return f"{lines}, as none names {token}" if is_fallback else lines


def _delay(report: Report) -> str:
    asked, limit = report.crawl_delay, report.config.crawl_delay_max
    if asked is None:
        rules = report.config.rules.delay
        return (
            f"none: a crawl waits {rules.factor:g} x the duration of each fetch, "
            f"at least {span(rules.floor)}"
        )
    kept = f"a crawl waits at least {span(min(asked, limit))} after each fetch"
    cut = " (POLITE_CRAWL_DELAY_MAX)" if asked > limit else ""
    return f"{span(asked)} (line {report.crawl_delay_line}): {kept}{cut}"


def _problems(report: Report) -> Iterator[str]:
    if not report.problems:
        if report.shape:
            yield "No problem found."
        return
    yield f"{many(len(report.problems), 'problem')}:"
    alike: dict[str, list[Problem]] = {}
    for problem in report.problems:
        alike.setdefault(problem.message, []).append(problem)
    for problems in list(alike.values())[:_PROBLEMS_SHOWN]:
        yield from _alike(problems)
    if len(alike) > _PROBLEMS_SHOWN:
        yield f"  and {len(alike) - _PROBLEMS_SHOWN:,} more kinds; --json has them all"


def _alike(problems: list[Problem]) -> Iterator[str]:
    """Yield problems that differ by their line only."""
    first = problems[0]
    where = f"{line_numbers(tuple(problem.line for problem in problems))}: " if first.line else ""
    yield from wrapped(f"{where}{first.message}", 2)
    if first.text.strip():
        yield f"      {first.text.strip()}"[:COLUMNS]


def _later(report: Report) -> Iterator[str]:
    if report.prospects:
        yield "When it is asked for again, and the answer is"
    width = max((len(prospect.answers) for prospect in report.prospects), default=0)
    for prospect in report.prospects:
        yield from labelled(prospect.answers, prospect.sentence, width + 4)


def _note(report: Report) -> Iterator[str]:
    if report.nameless and report.visit:
        yield from wrapped(f"Note: {_NO_CONTACT}")
