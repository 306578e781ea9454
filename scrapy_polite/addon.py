"""The add-on: one line in settings.py turns the pack on.  The only module that edits settings.

Its values have the priority ``addon``: they beat Scrapy's defaults and lose to settings.py, spider
and command line.  A component that the user placed, moved or switched off stays as it is.  Running
it twice changes nothing.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, NamedTuple

from scrapy.settings import SETTINGS_PRIORITIES
from scrapy.utils.misc import load_object

from scrapy_polite import config
from scrapy_polite.policy.identity import BrowsersAgent, suggested
from scrapy_polite.runtime import listing
from scrapy_polite.runtime.listing import COMPONENTS, HEARERS, TELLERS, Component

if TYPE_CHECKING:
    from scrapy.crawler import Crawler
    from scrapy.settings import BaseSettings

logger = logging.getLogger(__name__)

_PREFIX = "POLITE_"
QUEUE = "scrapy_polite.PolitePriorityQueue"
DOWNLOADER = "scrapy_polite.PoliteDownloader"
SETTINGS: dict[str, Any] = {
    "ROBOTSTXT_OBEY": True,
    "ROBOTSTXT_PARSER": "scrapy_polite.Rfc9309RobotParser",
    "AUTOTHROTTLE_ENABLED": True,
    "AUTOTHROTTLE_MAX_DELAY": config.MAX_DELAY,
    "SCHEDULER_PRIORITY_QUEUE": QUEUE,
    "SCHEDULER_MEMORY_QUEUE": "scrapy_polite.LeanLifoQueue",
    "SCHEDULER_START_MEMORY_QUEUE": "scrapy_polite.LeanFifoQueue",
    "SCHEDULER_DISK_QUEUE": "scrapy_polite.SpoolLifoQueue",
    "SCHEDULER_START_DISK_QUEUE": "scrapy_polite.SpoolFifoQueue",
    "DOWNLOADER": DOWNLOADER,
}
"""Settings that the add-on changes, where the user did not."""


class Addon:
    """Makes an existing crawl polite.

    Args:
        spider: name of the spider that crawls, for what is told.
        benchmark: whether it is that of `scrapy bench`, which crawls a server of its own.
    """

    def __init__(self, spider: str | None = None, *, benchmark: bool = False) -> None:
        self._spider = spider
        self._is_benchmark = benchmark

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Addon:
        """Make one as Scrapy does."""
        spider = crawler.spidercls
        benchmark = spider.__module__ == "scrapy.commands.bench"
        return cls(getattr(spider, "name", None), benchmark=benchmark)

    def update_settings(self, settings: BaseSettings) -> None:
        """List our components and set what they need.

        Raises:
            ValueError: the contact is missing or a setting is bad; the crawl does not start.
        """
        try:
            if not config.is_enabled(settings):
                return
            if self._is_benchmark:
                logger.info("scrapy bench measures Scrapy on a server of its own: the pack is off")
                return
            for component in (*COMPONENTS, *HEARERS, *TELLERS):
                _list(settings, component)
            for name, value in SETTINGS.items():
                settings.set(name, value, priority="addon")
            read = config.read(settings)
        except ValueError as error:
            # Made anew, it comes without our frames: the sentence says what to do about it.
            refusal = ValueError(self._advice(settings, error) or str(error))
            _tell_of(refusal)
            raise refusal from None
        _never_cache(settings, read.backoff_statuses)
        logger.info(
            "Crawling as %s; robots.txt groups: %s",
            read.identity.user_agent,
            read.identity.product_token,
        )
        if read.signer is not None:
            logger.info(
                "Signing requests with the key %s of %s",
                read.signer.key.thumbprint,
                read.signer.agent,
            )
        for line in [*_misspelt(settings), *_defeated(settings, read)]:
            logger.warning(line)

    def _advice(self, settings: BaseSettings, error: ValueError) -> str | None:
        """Return what to do about a spider that calls itself a browser, None about all else."""
        name = "USER_AGENT"
        is_own = settings.getpriority(name) == SETTINGS_PRIORITIES["spider"]
        if not (is_own and isinstance(error, BrowsersAgent)):
            return None
        agent = settings[name]
        url = settings["POLITE_CONTACT_URL"] or "https://..."
        return (
            f"The spider {self._spider or 'that runs'} goes by the {name} of a browser, {agent!r}, "
            "so nobody could tell who asks. Take it out of the spider, or have all such spiders "
            "crawl under your name with two lines in settings.py:\n"
            f"    POLITE_PRODUCT = {suggested(settings['BOT_NAME'])!r}\n"
            f"    POLITE_CONTACT_URL = {url!r}  # a page of yours that says what the crawl is for"
        )


def _tell_of(error: Exception) -> None:
    """Log why a crawl does not start, where asyncio would log a task that nobody asked for it.

    Who awaits the crawl gets the error all the same.
    """
    try:
        task = asyncio.current_task()
    except RuntimeError:  # there is no loop: the crawl's Deferred says it
        task = None
    if task is not None:
        logger.error("%s", error)
        task.add_done_callback(lambda task: task.cancelled() or task.exception())


def _list(settings: BaseSettings, component: Component) -> None:
    setting, position, built_in = component.setting, component.position, component.replaces
    if listing.is_listed(settings, component):
        if built_in and not listing.names(settings, setting, built_in):
            _place(settings, setting, load_object(built_in), None)
        return
    place: int | None = position
    if built_in:
        place = listing.position_of(settings, setting, built_in)
        _place(settings, setting, load_object(built_in), None)
    # By name, as in Scrapy's own list, so that its log of components reads the same.
    _place(settings, setting, component.path, place)


def _place(settings: BaseSettings, setting: str, key: Any, place: int | None) -> None:
    settings.set_in_component_priority_dict(setting, key, place)


def _never_cache(settings: BaseSettings, statuses: frozenset[int]) -> None:
    """Keep refusals out of HttpCache, whoever set its list of statuses to ignore."""
    name = "HTTPCACHE_IGNORE_HTTP_CODES"
    ignored = {int(code) for code in settings.getlist(name)}
    priority = max(settings.getpriority(name) or 0, SETTINGS_PRIORITIES["addon"])
    settings.set(name, sorted(ignored | statuses), priority=priority)


def _misspelt(settings: BaseSettings) -> list[str]:
    """Return one line for each setting with a name like ours that nobody reads."""
    ours = {name.removeprefix(_PREFIX): name for name in config.DEFAULTS}
    lines = []
    for name in settings:
        if name.startswith(_PREFIX) and name not in config.DEFAULTS:
            meant = get_close_matches(name.removeprefix(_PREFIX), ours, 1)
            advice = f"write {ours[meant[0]]}" if meant else "leave it out"
            lines.append(f"{name}: has no effect, there is no such setting; {advice}")
    return lines


class _Defeat(NamedTuple):
    """A setting, when it takes politeness away, and what that means."""

    setting: str
    is_bad: Callable[[BaseSettings, config.Config], bool]
    meaning: str


def _defeated(settings: BaseSettings, read: config.Config) -> list[str]:
    """Return one line for each setting of the user's that takes politeness away."""
    lines = [
        f"{defeat.setting} = {settings.get(defeat.setting)!r}: {defeat.meaning}"
        for defeat in _DEFEATS
        if defeat.is_bad(settings, read)
    ]
    lines += [
        f"{component.path} is switched off in {component.setting}: {component.without}"
        for component in COMPONENTS
        if not listing.runs(settings, component)
    ]
    return lines


def _is_foreign(name: str, path: str) -> Callable[[BaseSettings, config.Config], bool]:
    """Return a check that a setting names neither a class of ours nor one derived from it."""
    return lambda settings, _: not listing.is_or_derives(settings[name], path)


def _is_nameless(_: BaseSettings, read: config.Config) -> bool:
    return not any(mark in read.identity.user_agent for mark in ("@", "://"))


def _has_nameless_browser(settings: BaseSettings, _: config.Config) -> bool:
    """Say whether scrapy-playwright is kept from handing our headers on; unset, it does."""
    name = "PLAYWRIGHT_PROCESS_REQUEST_HEADERS"
    return name in settings and settings[name] is None


_DEFEATS = (
    _Defeat(
        "ROBOTSTXT_OBEY",
        lambda _, read: not read.obey_robots,
        "robots.txt is not obeyed; leave it out or write True",
    ),
    _Defeat(
        "AUTOTHROTTLE_ENABLED",
        lambda settings, _: not settings.getbool("AUTOTHROTTLE_ENABLED"),
        "delays do not follow the duration of fetches; leave it out or write True",
    ),
    _Defeat(
        "AUTOTHROTTLE_TARGET_CONCURRENCY",
        lambda settings, _: settings.getfloat("AUTOTHROTTLE_TARGET_CONCURRENCY") > 1.0,
        "has no effect, a host has one connection; leave it out",
    ),
    _Defeat(
        "AUTOTHROTTLE_MAX_DELAY",
        lambda _, read: read.rules.delay.ceiling < config.MAX_DELAY,
        f"cuts the wait after slow fetches short; leave it out or write {config.MAX_DELAY:g}",
    ),
    _Defeat(
        "POLITE_DELAY_FACTOR",
        lambda settings, _: settings.getfloat("POLITE_DELAY_FACTOR", 10.0) < 10.0,
        "a host is occupied for more than 1/11 of the time; leave it out for sites of others",
    ),
    _Defeat(
        "POLITE_BACKOFF_STATUSES",
        lambda _, read: not read.backoff_statuses >= {429, 503},
        "a host that answers 429 or 503 is not left alone; leave both in",
    ),
    _Defeat(
        "POLITE_ALLOW_ANONYMOUS",
        _is_nameless,
        "no site's owner can reach you; leave it out and set POLITE_CONTACT_URL",
    ),
    _Defeat(
        "PLAYWRIGHT_PROCESS_REQUEST_HEADERS",
        _has_nameless_browser,
        "the browser does not say who asks; leave it out",
    ),
    _Defeat(
        "SCHEDULER_PRIORITY_QUEUE",
        _is_foreign("SCHEDULER_PRIORITY_QUEUE", QUEUE),
        f"waiting hosts hold the others up; leave it out or derive yours from {QUEUE}",
    ),
    _Defeat(
        "DOWNLOADER",
        _is_foreign("DOWNLOADER", DOWNLOADER),
        f"waiting requests hold places; leave it out or derive yours from {DOWNLOADER}",
    ),
)
