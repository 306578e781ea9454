"""The settings of the tiny crawl behind `scrapy robots URL`.

Rules:

- It is the project's crawl as far as the network sees it: identity, proxies, waits and the state
  that is shared with other processes stay. The add-on is on, whether the project has it or not.
  With `--spider` it is that spider's crawl: its `custom_settings` count.
- It is nobody's crawl beside that: no spider, job, queue, feed, pipeline, extension, cache, report
  or log of the project is touched.
- Where nobody has said who asks, one robots.txt is asked for in Scrapy's own name: the file is made
  to be read by anyone who comes, and a person's look is no crawl. Pages are another matter: without
  a contact none is fetched. A contact that is wrong is an error, as in a crawl.
"""

from __future__ import annotations

from typing import Any

import scrapy
from scrapy.settings import SETTINGS_PRIORITIES, Settings, default_settings
from scrapy.spiderloader import get_spider_loader

from scrapy_polite import config
from scrapy_polite.commands.robots.question import CannotTell
from scrapy_polite.robots.lines import printable
from scrapy_polite.runtime import listing

_ADDON = "scrapy_polite.Addon"
_STOCK = (
    "CLOSESPIDER_ERRORCOUNT",
    "CLOSESPIDER_PAGECOUNT",
    "CLOSESPIDER_TIMEOUT",
    "DUPEFILTER_CLASS",
    "EXTENSIONS",
    "FEEDS",
    "ITEM_PIPELINES",
    "LOG_STDOUT",
    "SCHEDULER",
    "SPIDER_LOADER_CLASS",
    "SPIDER_MIDDLEWARES",
    "SPIDER_MODULES",
    "STATS_CLASS",
)
_VISIT: dict[str, Any] = {
    **{name: getattr(default_settings, name) for name in _STOCK},
    "AUTOTHROTTLE_ENABLED": True,
    "HTTPCACHE_ENABLED": False,
    "JOBDIR": None,
    "POLITE_ENABLED": True,
    "POLITE_PAGE_DIRECTIVES": [],
    "POLITE_PURPOSE": [],  # what its header says is to be told, not a reason to look away
    "POLITE_REPORT": None,
    "POLITE_TIMELINE": None,
    "SCHEDULER_PRIORITY_QUEUE": "scrapy_polite.PolitePriorityQueue",
    "STATS_DUMP": False,
    "TELNETCONSOLE_ENABLED": False,
}
_NO_LOG = {"LOG_ENABLED": False, "LOG_FILE": None}
_NAMELESS = {"POLITE_ALLOW_ANONYMOUS": True, "POLITE_PRODUCT": f"Scrapy/{scrapy.__version__}"}
_WHO = (
    "POLITE_ALLOW_ANONYMOUS",
    "POLITE_CONTACT_EMAIL",
    "POLITE_CONTACT_URL",
    "POLITE_PRODUCT",
    "USER_AGENT",
)


def of_spider(settings: Settings, name: str | None) -> Settings:
    """Return the settings of a spider's crawls; without a name, those of the project.

    Raises:
        CannotTell: there is no such spider, or it cannot be loaded.
    """
    if name is None:
        return settings
    copied: Settings = settings.copy()
    try:
        loader = get_spider_loader(settings)
        is_there = name in loader.list()
        if is_there:
            loader.load(name).update_settings(copied)
    except Exception as error:  # whatever a module of the project's raises
        why = printable(f"{type(error).__name__}: {error}")
        raise CannotTell(f"The spiders of this project cannot be loaded: {why}.") from None
    if not is_there:
        raise CannotTell(f"There is no spider '{printable(name)}' here: see `scrapy list`.")
    return copied


def says_who(settings: Settings) -> bool:
    """Return whether anybody has set who asks."""
    return any(config.is_set(settings, name) for name in _WHO)


def for_visit(settings: Settings) -> Settings:
    """Return the settings of a visit to a site; those of the project stay as they are."""
    nameless = {} if says_who(settings) else _NAMELESS
    log = {name: off for name, off in _NO_LOG.items() if not _is_asked_for(settings, name)}
    return _with(settings, {**_VISIT, **nameless, **log, "ADDONS": _addons(settings)})


def for_file(settings: Settings) -> Settings:
    """Return the settings for reading a file: without a visit no contact or key is needed."""
    return _with(nameless_at_worst(settings), {"POLITE_SIGNATURE_KEY": None})


def nameless_at_worst(settings: Settings) -> Settings:
    """Return the settings with a name that will do where nobody has said who asks."""
    nameless = {} if says_who(settings) else _NAMELESS
    return _with(settings, {**nameless, "POLITE_ALLOW_ANONYMOUS": True})


def _with(settings: Settings, values: dict[str, Any]) -> Settings:
    copied: Settings = settings.copy()
    copied.setdict(values, priority="cmdline")
    return copied


def _is_asked_for(settings: Settings, name: str) -> bool:
    return settings.getpriority(name) == SETTINGS_PRIORITIES["cmdline"]


def _addons(settings: Settings) -> dict[Any, Any]:
    theirs = settings.getdict("ADDONS").items()
    kept = {key: place for key, place in theirs if not listing.is_or_derives(key, _ADDON)}
    return {**kept, _ADDON: 500}
