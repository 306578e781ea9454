"""The report for a terminal: plain ASCII, 100 columns, the hosts that matter most."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from scrapy_polite.report import schema
from scrapy_polite.report.figures import HostFigures
from scrapy_polite.report.promises import BROKEN, KEPT, UNKNOWN
from scrapy_polite.report.summary import Report
from scrapy_polite.report.words import date, instant, many, printable, share, span

HOSTS_SHOWN = 20
URLS_SHOWN = 5
ROBOTS_SHOWN = 10
_COLUMNS = 100
_MARKS = {KEPT: "pass", BROKEN: "FAIL", UNKNOWN: "  ? "}
_HEADLINES = {
    KEPT: "All {count} promises were kept.",
    BROKEN: "{broken} of {count} promises were broken.",
    UNKNOWN: "Whether all {count} promises were kept cannot be told.",
}
_DROPPED = {
    schema.DISALLOWED: "robots.txt disallows it",
    schema.UNREACHABLE: "robots.txt could not be read",
    schema.PARKED: "the host is parked",
    schema.LEFT: "the crawl ended before",
    schema.PURPOSE: "robots.txt disallows what the crawl is for",
    schema.UNWANTED: "fetched, but its header disallows what the crawl is for",
}


def to_text(report: Report) -> str:
    """Return a report as text, ending in a line end."""
    parts = (_head, _promises, _hosts, _waits, _not_fetched, _robots, _agents)
    blocks = ["\n".join(line.rstrip() for line in part(report)) for part in parts]
    return "\n\n".join(block for block in blocks if block) + "\n"


def headline(report: Report) -> str:
    """Return the verdict in one sentence."""
    broken = sum(promise.verdict == BROKEN for promise in report.promises)
    return _HEADLINES[report.verdict].format(count=len(report.promises), broken=broken)


def _head(report: Report) -> Iterator[str]:
    ended = f", ended: {printable(report.ended)}" if report.ended else ""
    name = f" of spider {printable(report.spider)}" if report.spider else ""
    yield f"Politeness of the crawl{name}, {date(report.began_at)}"
    yield (
        f"{many(report.fetches, 'fetch')} of {many(report.host_count, 'host')} "
        f"in {span(report.seconds)}{ended}"
    )
    for note in report.notes:
        yield f"Note: {note}"


def _promises(report: Report) -> Iterator[str]:
    yield headline(report)
    width = max((len(promise.title) for promise in report.promises), default=0)
    for promise in report.promises:
        detail = printable(promise.detail)
        yield f"  {_MARKS[promise.verdict]}  {promise.title:<{width}}  {detail}"
        for example in promise.examples[:URLS_SHOWN]:
            yield f"          {_short(example, _COLUMNS - 10)}"


_HOST_COLUMNS: tuple[tuple[str, int, Callable[[HostFigures], str]], ...] = (
    ("fetches", 7, lambda host: f"{host.fetches:,}"),
    ("at once", 7, lambda host: str(host.most_at_once)),
    ("occupied", 8, lambda host: "" if host.share is None else share(host.share)),
    ("least wait", 10, lambda host: "" if host.least_wait is None else span(host.least_wait)),
    ("/ fetch", 7, lambda host: "" if host.least_ratio is None else _ratio(host.least_ratio)),
    ("refused", 7, lambda host: f"{host.refused:,}" if host.refused else ""),
    ("remarks", 0, lambda host: ", ".join(_remarks(host))),
)


def _hosts(report: Report) -> Iterator[str]:
    shown = report.hosts[:HOSTS_SHOWN]
    if not shown:
        return
    width = min(max(len("host"), *(len(host.host) for host in shown)), 36)
    yield "  ".join([f"{'host':<{width}}", *(f"{name:>{size}}" for name, size, _ in _HOST_COLUMNS)])
    for host in shown:
        cells = [f"{_short(host.host, width):<{width}}"]
        cells += [f"{cell(host):>{size}}" for _, size, cell in _HOST_COLUMNS]
        yield "  ".join(cells)
    more = report.host_count - len(shown)
    if more:
        yield f"... and {many(more, 'more host')}; --html and --json have them all"


def _ratio(ratio: float) -> str:
    return f"{ratio:,.1f}" if ratio < 1000 else f"{ratio:,.0f}"


def _remarks(host: HostFigures) -> Iterator[str]:
    if host.breaches:
        yield "broken: " + " ".join(host.breaches)
    if host.parked_until_at is not None:
        yield f"parked until {instant(host.parked_until_at)}"
    if host.crawl_delay:
        yield f"Crawl-delay {span(host.crawl_delay)}"
    if host.asked:
        yield f"Retry-After {span(host.asked)}"
    if host.remains:
        yield f"{host.remains:,} left"


def _waits(report: Report) -> Iterator[str]:
    if report.waits:
        yield "Waits by what decided them: " + ", ".join(
            f"{printable(reason)} {waits.count:,} ({span(waits.seconds)})"
            for reason, waits in report.waits.items()
        )


def _not_fetched(report: Report) -> Iterator[str]:
    for item in report.not_fetched:
        why = _DROPPED.get(item.reason, printable(item.reason))
        yield f"Not fetched because {why}: {item.count:,}"
        yield from _some(item.urls, item.count)


def _some(lines: Sequence[str], count: int) -> Iterator[str]:
    for line in lines[:URLS_SHOWN]:
        yield f"  {_short(line, _COLUMNS - 2)}"
    if count > URLS_SHOWN and len(lines) > URLS_SHOWN:
        yield "  ..."


def _robots(report: Report) -> Iterator[str]:
    unread = [event for event in report.robots if event.standing == schema.UNREACHABLE]
    if unread:
        yield f"robots.txt that could not be read: {many(len(unread), 'file')}"
        yield from _some([f"{event.origin} ({_status(event)})" for event in unread], len(unread))
    faulty = [event for event in report.robots if event.problems]
    if faulty:
        yield f"robots.txt with problems: {many(len(faulty), 'file')}"
        for event in faulty[:ROBOTS_SHOWN]:
            more = f" (and {event.problem_count - 1} more)" if event.problem_count > 1 else ""
            yield f"  {_short(f'{event.origin}: {event.problems[0]}', _COLUMNS - 16)}{more}"
        if len(faulty) > ROBOTS_SHOWN:
            yield "  ..."


def _status(event: schema.RobotsRead) -> str:
    return "no answer" if event.status is None else f"status {event.status}"


def _agents(report: Report) -> Iterator[str]:
    if report.user_agents:
        yield "Sent as:"
    for agent in report.user_agents[:URLS_SHOWN]:
        sender = f", From: {agent.from_address}" if agent.from_address else ""
        name = agent.user_agent or "(no User-Agent)"
        yield f"  {agent.fetches:>7,}  {printable(name)}{printable(sender)}"


def _short(text: str, columns: int) -> str:
    text = printable(text)
    return text if len(text) <= columns else text[: columns - 3] + "..."
