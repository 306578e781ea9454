"""The add-on: one line in settings.py turns the pack on.  The only module that edits settings.

Its values have the priority ``addon``: they beat Scrapy's defaults and lose to settings.py, spider
and command line.  A component that the user placed, moved or switched off stays as it is.  Running
it twice changes nothing.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from scrapy.settings import SETTINGS_PRIORITIES
from scrapy.utils.misc import load_object

from scrapy_polite import config
from scrapy_polite.runtime.listing import COMPONENTS, Component, is_listed

if TYPE_CHECKING:
    from scrapy.settings import BaseSettings

logger = logging.getLogger(__name__)

SETTINGS: dict[str, Any] = {
    "ROBOTSTXT_OBEY": True,
    "ROBOTSTXT_PARSER": "scrapy_polite.Rfc9309RobotParser",
    "AUTOTHROTTLE_ENABLED": True,
    "AUTOTHROTTLE_MAX_DELAY": config.MAX_DELAY,
    "SCHEDULER_PRIORITY_QUEUE": "scrapy_polite.PolitePriorityQueue",
    "SCHEDULER_DISK_QUEUE": "scrapy_polite.SpoolLifoQueue",
    "SCHEDULER_START_DISK_QUEUE": "scrapy_polite.SpoolFifoQueue",
    "DOWNLOADER": "scrapy_polite.PoliteDownloader",
}
"""Settings that the add-on changes, where the user did not."""


class Addon:
    """Makes an existing crawl polite."""

    def update_settings(self, settings: BaseSettings) -> None:
        """List our components and set what they need.

        Raises:
            ValueError: the contact is missing or a setting is bad; the crawl does not start.
        """
        if not config.is_enabled(settings):
            return
        read = config.read(settings)
        for component in COMPONENTS:
            _list(settings, component)
        for name, value in SETTINGS.items():
            settings.set(name, value, priority="addon")
        _never_cache(settings, read.backoff_statuses)
        for line in _defeated(settings):
            logger.warning(line)


def _list(settings: BaseSettings, component: Component) -> None:
    setting, ours = component.setting, load_object(component.path)
    if is_listed(settings, setting, component.path):
        return
    position: int | None = component.position
    if component.replaces is not None:
        built_in = load_object(component.replaces)
        position = _position(settings, setting, built_in)
        settings.set_in_component_priority_dict(setting, built_in, None)
    settings.set_in_component_priority_dict(setting, ours, position)


def _position(settings: BaseSettings, setting: str, built_in: object) -> int | None:
    """Return where a built-in stands, None when the user switched it off."""
    effective = settings.get_component_priority_dict_with_base(setting)
    for key, position in effective.items():
        if (load_object(key) if isinstance(key, str) else key) is built_in:
            return None if position is None else int(position)
    return None


def _never_cache(settings: BaseSettings, statuses: frozenset[int]) -> None:
    """Keep refusals out of HttpCache, whoever set its list of statuses to ignore."""
    name = "HTTPCACHE_IGNORE_HTTP_CODES"
    ignored = {int(code) for code in settings.getlist(name)}
    priority = max(settings.getpriority(name) or 0, SETTINGS_PRIORITIES["addon"])
    settings.set(name, sorted(ignored | statuses), priority=priority)


def _defeated(settings: BaseSettings) -> list[str]:
    """Return one line for each setting of the user's that takes politeness away."""
    lines = [
        f"{name} = {settings.get(name)!r}: {meaning}"
        for name, is_bad, meaning in _DEFEATS
        if is_bad(settings)
    ]
    lines += [
        f"{component.path} is switched off in {component.setting}: its part is not kept"
        for component in COMPONENTS
        if _position(settings, component.setting, load_object(component.path)) is None
    ]
    return lines


_DEFEATS = (
    (
        "ROBOTSTXT_OBEY",
        lambda s: not s.getbool("ROBOTSTXT_OBEY"),
        "robots.txt is not obeyed; leave it out or write True",
    ),
    (
        "AUTOTHROTTLE_ENABLED",
        lambda s: not s.getbool("AUTOTHROTTLE_ENABLED"),
        "delays do not follow the duration of fetches; leave it out or write True",
    ),
    (
        "AUTOTHROTTLE_TARGET_CONCURRENCY",
        lambda s: s.getfloat("AUTOTHROTTLE_TARGET_CONCURRENCY") > 1.0,
        "has no effect, a host has one connection; leave it out",
    ),
    (
        "AUTOTHROTTLE_MAX_DELAY",
        lambda s: s.getfloat("AUTOTHROTTLE_MAX_DELAY") < config.MAX_DELAY,
        f"cuts the wait after slow fetches short; leave it out or write {config.MAX_DELAY:g}",
    ),
    (
        "POLITE_DELAY_FACTOR",
        lambda s: s.getfloat("POLITE_DELAY_FACTOR", 10.0) < 10.0,
        "a host is occupied for more than 1/11 of the time; leave it out for sites of others",
    ),
    (
        "SCHEDULER_PRIORITY_QUEUE",
        lambda s: s.get("SCHEDULER_PRIORITY_QUEUE") != SETTINGS["SCHEDULER_PRIORITY_QUEUE"],
        "waiting hosts hold the others up; leave it out",
    ),
    (
        "DOWNLOADER",
        lambda s: s.get("DOWNLOADER") != SETTINGS["DOWNLOADER"],
        "waiting requests hold places; derive yours from scrapy_polite.PoliteDownloader",
    ),
)
