"""`scrapy politeness --state FILE [--why URL]`: what a state file says about hosts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy_polite import config
from scrapy_polite.policy.identity import IdentityError
from scrapy_polite.policy.origin import host_of, origin_of
from scrapy_polite.policy.robots_cache import Ages, RobotsRecord, Standing, standing
from scrapy_polite.report.words import many, printable, span
from scrapy_polite.robots.rules import RobotsRules
from scrapy_polite.state import inspect

if TYPE_CHECKING:
    from scrapy.settings import BaseSettings

    from scrapy_polite.state.inspect import KnownHost

HOSTS_SHOWN = 100
_REASONS = {
    inspect.LEASED: "a fetch is under way",
    inspect.LOST: "its last fetch was cut off by the end of a process",
    inspect.PARKED: "it asked to be left alone for long, or refused too often",
    inspect.BACKOFF: "it refused",
    inspect.DELAY: "it is left alone after a fetch",
    inspect.READY: "it may be asked",
}
_ROBOTS = {
    Standing.ALLOWED: "there is no robots.txt: everything is allowed",
    Standing.DISALLOWED: "robots.txt is forbidden, so nothing is allowed",
    Standing.UNREACHABLE: "robots.txt cannot be read, so nothing is allowed until it can",
    Standing.UNKNOWN: "robots.txt was not asked for yet",
}


def table(path: str) -> str:
    """Return the hosts of a state file, those that wait longest first.

    Raises:
        OSError: there is no such file.
        ValueError: it is no state file.
    """
    known = inspect.hosts(path)[::-1]
    lines = [f"{many(len(known), 'host')} known"]
    if known:
        lines.append(f"{'host':<40} {'next turn':>12}  why")
    for host in known[:HOSTS_SHOWN]:
        lines.append(f"{printable(host.host):<40} {_due(host):>12}  {_REASONS[host.reason]}")
    if len(known) > HOSTS_SHOWN:
        lines.append(f"... and {many(len(known) - HOSTS_SHOWN, 'more host')}")
    return "\n".join(lines)


def why(path: str, url: str, settings: BaseSettings) -> str:
    """Return why a URL is not fetched right now.

    Args:
        path: of the state file.
        url: a URL, or a host key as reports show it.

    Raises:
        OSError: there is no such file.
        ValueError: it is no state file.
    """
    key = host_of(url) or url
    found = inspect.hosts(path, key)
    lines = [_host(found[0]) if found else f"{key}: nothing is known of it, it may be asked."]
    origin = origin_of(url)
    if origin is not None:
        record = next(iter(inspect.robots(path, origin)), None)
        lines.append(f"{origin}: {_robots(record, url, settings)}.")
    return "\n".join(printable(line) for line in lines)


def _host(host: KnownHost) -> str:
    if host.reason == inspect.READY:
        return f"{host.host}: {_REASONS[host.reason]}."
    return f"{host.host}: {_REASONS[host.reason]}; its next turn is {_due(host)}."


def _due(host: KnownHost) -> str:
    if host.reason == inspect.LEASED:
        return "after it"
    return "now" if host.due_in <= 0 else f"in {span(host.due_in)}"


def _robots(record: RobotsRecord | None, url: str, settings: BaseSettings) -> str:
    stands = standing(record, 0.0, Ages())  # instants of what `inspect` returns are from now
    if record is None or stands is not Standing.RULES:
        return _ROBOTS[stands]
    try:
        token = config.read_identity(settings).product_token
    except IdentityError:
        token = "*"  # outside a project nobody says who asks
    return f"robots.txt: {RobotsRules(record.body).explain(url, token)}"
