"""The report as JSON.

The shape is stable: keys may be added, none is taken away or changed without a new `version`.
Texts from the site are fit to print; what has no value is null.

    version      1
    source       URL of the robots.txt, name of a file, or "-"
    origin       whose it is; null for a file
    token        the product token that the rules are read for, "*" for everyone
    exit_status  0 all pages allowed, 1 any disallowed, 2 cannot be told
    fetch        null for a file, else: user_agent, nameless (nobody has said who asks), access
                 ("successful", "unavailable", "forbidden", "unreachable"), status, hops (of url,
                 status), seconds, media_type, retry_after, error
    file         null when there are no rules, else: octets, ignored_octets, whole, lines,
                 encoding, byte_order_mark, line_ends
    group        null when none applies, else: name, lines, rules, crawl_delay (asked for), delay
                 (kept to), both in seconds, crawl_delay_line
    sitemaps     their addresses
    problems     line (0: the file as a whole), kind, message, text
    pages        page, url, allowed (true, false, null), reason ("rule", "no_match", "no_group",
                 "robots_txt", "unavailable", "forbidden", "unreachable"), sentence, group,
                 group_line, line, rule, octets, usage (by label: says, line, rule), look (null when
                 nobody tried, else: status, noindex (of where, agent, text), directives (by name:
                 by, text, perhaps value), usage (by label: says, by, text), why_not)
    later        answers, standing ("rules", "allowed", "disallowed", "unreachable"), sentence
"""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from scrapy_polite.commands.robots.look import Look
from scrapy_polite.commands.robots.report import PageReport, Report
from scrapy_polite.commands.robots.trouble import what_went_wrong
from scrapy_polite.commands.robots.visit import Visit
from scrapy_polite.robots.lines import printable

VERSION = 1


def to_plain(report: Report) -> dict[str, Any]:
    """Return the report as JSON has it; see above."""
    return {
        "version": VERSION,
        "source": printable(report.question.source),
        "origin": report.question.origin,
        "token": report.reading.token,
        "exit_status": report.exit_status,
        "fetch": _fetch(report, report.visit) if report.visit else None,
        "file": _file(report),
        "group": _group(report),
        "sitemaps": [printable(address) for address in report.sitemaps],
        "problems": [asdict(problem) for problem in report.problems],
        "pages": [_page(page) for page in report.pages],
        "later": [
            {"answers": p.answers, "standing": p.standing.value, "sentence": p.sentence}
            for p in report.prospects
        ],
    }


def _fetch(report: Report, visit: Visit) -> dict[str, Any]:
    answer, config = visit.answer, report.config
    error = answer.error
    return {
        "user_agent": config.identity.user_agent,
        "nameless": report.nameless,
        "access": answer.access.value,
        "status": answer.status,
        "hops": [{"url": printable(hop.url), "status": hop.status} for hop in visit.hops],
        "seconds": round(visit.seconds, 3),
        "media_type": _header(visit, "Content-Type"),
        "retry_after": _header(visit, "Retry-After"),
        "error": what_went_wrong(error, config.robots_timeout) if error else None,
    }


def _header(visit: Visit, name: str) -> str | None:
    value = visit.answer.header(name)
    return None if value is None else printable(value)


def _file(report: Report) -> dict[str, Any] | None:
    shape = report.shape
    if shape is None:
        return None
    return {
        "octets": shape.size_bytes,
        "ignored_octets": shape.ignored_bytes,
        "whole": shape.is_whole,
        "lines": shape.lines,
        "encoding": shape.encoding,
        "byte_order_mark": shape.has_bom,
        "line_ends": list(shape.line_ends),
    }


def _group(report: Report) -> dict[str, Any] | None:
    group, asked = report.group, report.crawl_delay
    if group.name is None:
        return None
    return {
        "name": group.name,
        "lines": list(group.named_at),
        "rules": len(group.rules),
        "crawl_delay": asked,
        "crawl_delay_line": report.crawl_delay_line,
        "delay": None if asked is None else min(asked, report.config.crawl_delay_max),
    }


def _page(page: PageReport) -> dict[str, Any]:
    ruling, verdict = page.ruling, page.ruling.verdict
    return {
        "page": printable(page.page.asked),
        "url": printable(page.page.url),
        "allowed": ruling.allowed,
        "reason": ruling.reason,
        "sentence": ruling.sentence,
        "group": verdict and verdict.group,
        "group_line": verdict and verdict.group_line,
        "line": verdict and verdict.line,
        "rule": verdict and verdict.rule,
        "octets": verdict and verdict.octets,
        "usage": {
            label: {"says": wish.preference.value, "line": wish.line, "rule": wish.rule}
            for label, wish in page.usage.items()
        },
        "look": _look(page.look) if page.look else None,
    }


def _look(look: Look) -> dict[str, Any]:
    return {
        "status": look.status,
        "noindex": [asdict(found) for found in look.found],
        "directives": dict(look.page),
        "usage": dict(look.usage),
        "why_not": look.why_not,
    }
