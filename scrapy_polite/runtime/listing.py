"""Which components belong together, where they go, and whether all of them are there.

The add-on lists them from this table.  Who lists them by hand is told what is missing; a component
set to None is switched off on purpose and not missed.  A user's own subclass of a component stands
for it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from scrapy.utils.misc import load_object

if TYPE_CHECKING:
    from scrapy.settings import BaseSettings

MIDDLEWARES = "DOWNLOADER_MIDDLEWARES"
SPIDER_MIDDLEWARES = "SPIDER_MIDDLEWARES"
EXTENSIONS = "EXTENSIONS"


class Component(NamedTuple):
    """One component: the setting that lists it, its public name, its position.

    Args:
        without: what a crawl without it is like.
        replaces: the built-in whose place it takes, None when it takes none.
        switch: the setting that switches that built-in on.
    """

    setting: str
    path: str
    position: int
    without: str
    replaces: str | None = None
    switch: str = ""


COMPONENTS = (
    Component(
        MIDDLEWARES,
        "scrapy_polite.PoliteRobotsTxtMiddleware",
        100,
        "robots.txt is not obeyed",
        "scrapy.downloadermiddlewares.robotstxt.RobotsTxtMiddleware",
        "ROBOTSTXT_OBEY",
    ),
    Component(
        MIDDLEWARES,
        "scrapy_polite.PoliteIdentityMiddleware",
        490,
        "requests do not say who asks",
    ),
    Component(
        MIDDLEWARES,
        "scrapy_polite.PoliteBackoffMiddleware",
        560,
        "requests that a host refuses are lost, or repeated at once",
    ),
    Component(
        MIDDLEWARES,
        "scrapy_polite.PoliteGateMiddleware",
        950,
        "requests do not wait for their host",
    ),
    Component(
        EXTENSIONS,
        "scrapy_polite.PoliteThrottle",
        0,
        "delays do not follow the duration of fetches",
        "scrapy.extensions.throttle.AutoThrottle",
        "AUTOTHROTTLE_ENABLED",
    ),
    Component(
        EXTENSIONS,
        "scrapy_polite.PoliteBackoff",
        0,
        "a host that answers 429 or 503 is not left alone",
    ),
)
"""What the promise to hosts needs."""

HEARERS = (
    Component(
        MIDDLEWARES,
        "scrapy_polite.PolitePageMiddleware",
        95,
        "what pages and their headers ask is not heard",
    ),
    Component(
        SPIDER_MIDDLEWARES,
        "scrapy_polite.PoliteSpiderMiddleware",
        950,
        "nofollow and noindex are not honoured",
    ),
)
"""What hears the wishes of owners; needed where a setting says that they count."""

_COUNT_WISHES = ("POLITE_PURPOSE", "POLITE_PAGE_DIRECTIVES")
TELLERS = (
    Component(EXTENSIONS, "scrapy_polite.PoliteTimeline", 0, "there is no event log"),
    Component(EXTENSIONS, "scrapy_polite.PoliteReport", 0, "there is no report"),
    Component(EXTENSIONS, "scrapy_polite.PoliteProgress", 0, "there is no progress line"),
)
"""What only tells of it; nobody has to list them."""


def check(settings: BaseSettings) -> None:
    """Make sure that no component was forgotten, and that none does a built-in's work beside it.

    Raises:
        ValueError: names each missing component and the line that lists it.
    """
    hears = any(settings.get(name) for name in _COUNT_WISHES)
    needed = (*COMPONENTS, *HEARERS) if hears else COMPONENTS
    missing = [item for item in needed if not is_listed(settings, item)]
    if missing:
        lines = ", ".join(f'{item.setting}["{item.path}"] = {item.position}' for item in missing)
        raise ValueError(
            "scrapy_polite is listed in part only, and half of it does not keep the promise: "
            f"add {lines} (None switches one off on purpose), or use the add-on: "
            'ADDONS = {"scrapy_polite.Addon": 500}.'
        )
    for item in COMPONENTS:
        if item.replaces and _doubles(settings, item, item.replaces):
            raise ValueError(
                f"{item.path} and the built-in that it replaces are both listed: "
                f'add {item.setting}["{item.replaces}"] = None.'
            )


def is_listed(settings: BaseSettings, item: Component) -> bool:
    """Return whether a user's setting names a component, be it to switch it off."""
    return any(is_or_derives(key, item.path) for key in settings.getdict(item.setting))


def runs(settings: BaseSettings, item: Component) -> bool:
    """Return whether Scrapy will make a component, or a subclass of it."""
    effective = settings.get_component_priority_dict_with_base(item.setting)
    return any(
        is_or_derives(key, item.path) for key, place in effective.items() if place is not None
    )


def names(settings: BaseSettings, setting: str, built_in: str) -> bool:
    """Return whether a user's setting names a built-in, be it to switch it off."""
    wanted = load_object(built_in)
    return any(_loaded(key) is wanted for key in settings.getdict(setting))


def position_of(settings: BaseSettings, setting: str, built_in: str) -> int | None:
    """Return where a built-in stands, None when the user switched it off."""
    wanted = load_object(built_in)
    effective = settings.get_component_priority_dict_with_base(setting)
    places = [place for key, place in effective.items() if _loaded(key) is wanted]
    return next((int(place) for place in places if place is not None), None)


def is_or_derives(named: object, path: str) -> bool:
    """Return whether what a setting names is a class of ours, or one derived from it."""
    found = _loaded(named)
    return isinstance(found, type) and issubclass(found, load_object(path))


def _doubles(settings: BaseSettings, item: Component, built_in: str) -> bool:
    return (
        settings.getbool(item.switch)
        and runs(settings, item)
        and position_of(settings, item.setting, built_in) is not None
    )


def _loaded(key: object) -> object:
    try:
        return load_object(key) if isinstance(key, str) else key
    except (ImportError, NameError, ValueError):
        return None  # Scrapy reports it when it makes its components
