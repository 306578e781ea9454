"""The promises of a polite crawl, checked one by one.

A promise is *kept* when no fetch in the log breaks it, also when there was no occasion to.  It is
*unknown* when the log does not tell: nothing was fetched, or pages went out without a robots.txt to
judge them by.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from scrapy_polite.policy.identity import IdentityError, make_identity
from scrapy_polite.report import breaches as b
from scrapy_polite.report.figures import HostFigures
from scrapy_polite.report.tally import OTHER_AGENTS, Tally
from scrapy_polite.report.words import instant, many, share, span

KEPT, BROKEN, UNKNOWN = "kept", "broken", "unknown"
IDENTITY = "identity"
EXAMPLES = 10  # of a broken promise

TITLES = {
    b.AT_ONCE: "One request at a time per host",
    b.TEN_TIMES: "Wait at least ten times as long as the fetch took",
    b.SHARE: "Occupy a host for at most 1/11 of the time",
    b.CRAWL_DELAY: "Crawl-delay",
    b.RETRY_AFTER: "Retry-After",
    b.DISALLOWED: "Fetch no page that robots.txt disallows",
    IDENTITY: "Say who is crawling, with a contact",
}


@dataclass(frozen=True, slots=True)
class Promise:
    """One promise and what became of it.

    Args:
        verdict: "kept", "broken" or "unknown".
        detail: the figure behind the verdict, in words.
        count: how often it was broken.
        hosts: on how many hosts.
        examples: the first cases, a line each.
    """

    key: str
    title: str
    verdict: str
    detail: str
    count: int = 0
    hosts: int = 0
    examples: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.verdict not in (KEPT, BROKEN, UNKNOWN):
            raise ValueError(f"{self.verdict!r:.80} is no verdict")


def judge(tally: Tally, hosts: Sequence[HostFigures]) -> tuple[Promise, ...]:
    """Return what became of each promise.

    Args:
        hosts: the figures of all hosts.
    """
    details = dict(_details(tally, hosts))
    return tuple(
        _identity(tally)
        if key == IDENTITY
        else _promise(key, details[key], hosts, _doubt(key, hosts))
        for key in TITLES
    )


def _promise(key: str, detail: str, hosts: Sequence[HostFigures], doubt: str) -> Promise:
    broken = [host for host in hosts if key in host.breaches]
    if not broken:
        return Promise(key, TITLES[key], UNKNOWN if doubt else KEPT, doubt or detail)
    count = sum(host.breaches[key].count for host in broken)
    words = f"{many(count, 'time')} on {many(len(broken), 'host')}; {detail}"
    examples = tuple(
        f"{host.host} at {instant(host.breaches[key].at)}: {host.breaches[key].first}"
        for host in broken[:EXAMPLES]
    )
    return Promise(key, TITLES[key], BROKEN, words, count, len(broken), examples)


def _doubt(key: str, hosts: Sequence[HostFigures]) -> str:
    """Return why the log does not tell whether a promise was kept; empty when it does."""
    if not any(host.fetches for host in hosts):
        return "nothing was fetched"
    unjudged = sum(host.unjudged for host in hosts)
    if key == b.DISALLOWED and unjudged:
        return f"{many(unjudged, 'page')} went out without a robots.txt to judge by"
    return ""


def _details(tally: Tally, hosts: Sequence[HostFigures]) -> Iterator[tuple[str, str]]:
    yield b.AT_ONCE, f"most at once: {max((host.most_at_once for host in hosts), default=0)}"
    yield b.TEN_TIMES, _least(tally, hosts)
    shares = [host.share for host in hosts if host.share is not None]
    yield b.SHARE, f"at most {share(max(shares))}" if shares else "no host was asked twice"
    yield b.CRAWL_DELAY, _asked([host.crawl_delay for host in hosts], "robots.txt") + _cut(tally)
    yield b.RETRY_AFTER, _asked([host.asked for host in hosts], "refusal")
    pages = sum(host.pages + host.media for host in hosts)
    yield b.DISALLOWED, f"{many(pages, 'page')} judged"


def _least(tally: Tally, hosts: Sequence[HostFigures]) -> str:
    ratios = [host.least_ratio for host in hosts if host.least_ratio is not None]
    if not ratios:
        return "no host was asked twice"
    waits = sum(max(host.fetches - 1, 0) for host in hosts)
    words = f"least: {_ratio(min(ratios))} times, of {many(waits, 'wait')}"
    capped = sum(host.capped for host in hosts)
    if capped and tally.runs:
        ceiling = tally.runs[-1].ceiling
        words += f"; {many(capped, 'wait')} cut by AUTOTHROTTLE_MAX_DELAY = {ceiling:g}"
    return words


def _ratio(ratio: float) -> str:
    """The ratio, rounded down: 9.996 does not look as if it was kept."""
    return f"{int(ratio * 100) / 100:,.4g}" if ratio < 100 else f"{int(ratio):,}"


def _asked(seconds: Sequence[float], what: str) -> str:
    asked = [each for each in seconds if each > 0]
    if not asked:
        return f"no {what} asked for one"
    return f"asked for by {many(len(asked), 'host')}; longest: {span(max(asked))}"


def _cut(tally: Tally) -> str:
    """Say where a longer Crawl-delay was cut."""
    cut = [event for event in tally.robots.values() if event.asked_delay > event.crawl_delay]
    if not cut:
        return ""
    most = max(event.asked_delay for event in cut)
    return f"; {many(len(cut), 'longer one')} (up to {span(most)}) cut by POLITE_CRAWL_DELAY_MAX"


def _identity(tally: Tally) -> Promise:
    title = TITLES[IDENTITY]
    if not tally.agents:
        return Promise(IDENTITY, title, UNKNOWN, "nothing was fetched")
    nameless = {
        agent: count
        for (agent, sender), count in tally.agents.items()
        if agent != OTHER_AGENTS and not _named(agent, sender)
    }
    if not nameless and (OTHER_AGENTS, "") in tally.agents:
        return Promise(IDENTITY, title, UNKNOWN, "there were too many names to tell them apart")
    if not nameless:
        (agent, _), _ = tally.agents.most_common(1)[0]
        return Promise(IDENTITY, title, KEPT, agent)
    count = sum(nameless.values())
    examples = tuple(agent or "(no User-Agent)" for agent in list(nameless)[:EXAMPLES])
    words = f"{many(count, 'fetch')} without a name and contact"
    return Promise(IDENTITY, title, BROKEN, words, count, 0, examples)


def _named(agent: str, sender: str) -> bool:
    """Return whether a User-Agent and From say who is crawling and how to reach them."""
    try:
        make_identity(
            product=None,
            contact_url=None,
            contact_email=sender or None,
            user_agent=agent or None,
            robots_user_agent="any",  # which name it looks for in robots.txt is no matter here
        )
    except IdentityError:
        return False
    return True
