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
EXTENSIONS = "EXTENSIONS"


class BuiltIn(NamedTuple):
    """A component of Scrapy's, and the setting that switches it on."""

    path: str
    switch: str


class Component(NamedTuple):
    """One component: the setting that lists it, its public name, its position.

    Args:
        replaces: the built-in whose place it takes, None when it takes none.
    """

    setting: str
    path: str
    position: int
    replaces: BuiltIn | None = None


COMPONENTS = (
    Component(
        MIDDLEWARES,
        "scrapy_polite.PoliteRobotsTxtMiddleware",
        100,
        BuiltIn("scrapy.downloadermiddlewares.robotstxt.RobotsTxtMiddleware", "ROBOTSTXT_OBEY"),
    ),
    Component(MIDDLEWARES, "scrapy_polite.PoliteIdentityMiddleware", 490),
    Component(MIDDLEWARES, "scrapy_polite.PoliteBackoffMiddleware", 560),
    Component(MIDDLEWARES, "scrapy_polite.PoliteGateMiddleware", 950),
    Component(
        EXTENSIONS,
        "scrapy_polite.PoliteThrottle",
        0,
        BuiltIn("scrapy.extensions.throttle.AutoThrottle", "AUTOTHROTTLE_ENABLED"),
    ),
    Component(EXTENSIONS, "scrapy_polite.PoliteBackoff", 0),
)


def check(settings: BaseSettings) -> None:
    """Make sure that no component was forgotten, and that none does a built-in's work beside it.

    Raises:
        ValueError: names each missing component and the line that lists it.
    """
    missing = [item for item in COMPONENTS if not is_listed(settings, item)]
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
                f'add {item.setting}["{item.replaces.path}"] = None.'
            )


def is_listed(settings: BaseSettings, item: Component) -> bool:
    """Return whether a user's setting names a component, be it to switch it off."""
    return any(_is_ours(key, item) for key in settings.getdict(item.setting))


def runs(settings: BaseSettings, item: Component) -> bool:
    """Return whether Scrapy will make a component, or a subclass of it."""
    effective = settings.get_component_priority_dict_with_base(item.setting)
    return any(_is_ours(key, item) for key, place in effective.items() if place is not None)


def names_built_in(settings: BaseSettings, item: Component) -> bool:
    """Return whether a user's setting names the built-in that a component replaces."""
    built_in = item.replaces and load_object(item.replaces.path)
    return any(_loaded(key) is built_in for key in settings.getdict(item.setting))


def position_of_built_in(settings: BaseSettings, item: Component) -> int | None:
    """Return where the built-in that a component replaces stands, None when it is switched off."""
    built_in = item.replaces and load_object(item.replaces.path)
    effective = settings.get_component_priority_dict_with_base(item.setting)
    places = [place for key, place in effective.items() if _loaded(key) is built_in]
    return next((int(place) for place in places if place is not None), None)


def _doubles(settings: BaseSettings, item: Component, built_in: BuiltIn) -> bool:
    return (
        settings.getbool(built_in.switch)
        and runs(settings, item)
        and position_of_built_in(settings, item) is not None
    )


def _is_ours(key: object, item: Component) -> bool:
    found, ours = _loaded(key), load_object(item.path)
    return isinstance(found, type) and issubclass(found, ours)


def _loaded(key: object) -> object:
    try:
        return load_object(key) if isinstance(key, str) else key
    except (ImportError, NameError, ValueError):
        return None  # Scrapy reports it when it makes its components
