"""Which components belong together, where they go, and whether all of them are there.

The add-on lists them from this table.  Who lists them by hand is told what is missing; a component
set to None is switched off on purpose and not missed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from scrapy.utils.misc import load_object

if TYPE_CHECKING:
    from scrapy.settings import BaseSettings

MIDDLEWARES = "DOWNLOADER_MIDDLEWARES"
EXTENSIONS = "EXTENSIONS"


class Component(NamedTuple):
    """One component: the setting that lists it, its public name, its position.

    Args:
        replaces: the built-in whose place it takes, None when it takes none.
    """

    setting: str
    path: str
    position: int
    replaces: str | None = None


COMPONENTS = (
    Component(
        MIDDLEWARES,
        "scrapy_polite.PoliteRobotsTxtMiddleware",
        100,
        "scrapy.downloadermiddlewares.robotstxt.RobotsTxtMiddleware",
    ),
    Component(MIDDLEWARES, "scrapy_polite.PoliteIdentityMiddleware", 490),
    Component(MIDDLEWARES, "scrapy_polite.PoliteBackoffMiddleware", 560),
    Component(MIDDLEWARES, "scrapy_polite.PoliteGateMiddleware", 950),
    Component(
        EXTENSIONS, "scrapy_polite.PoliteThrottle", 0, "scrapy.extensions.throttle.AutoThrottle"
    ),
    Component(EXTENSIONS, "scrapy_polite.PoliteBackoff", 0),
)


def check(settings: BaseSettings) -> None:
    """Make sure that no component was forgotten.

    Raises:
        ValueError: names each missing component and the line that lists it.
    """
    missing = [item for item in COMPONENTS if not is_listed(settings, item.setting, item.path)]
    if missing:
        lines = ", ".join(f'{item.setting}["{item.path}"] = {item.position}' for item in missing)
        raise ValueError(
            "scrapy_polite is listed in part only, and half of it does not keep the promise: "
            f"add {lines} (None switches one off on purpose), or use the add-on: "
            'ADDONS = {"scrapy_polite.Addon": 500}.'
        )
    for item in COMPONENTS:
        if item.replaces and _runs(settings, item.setting, item.path):
            _forbid_both(settings, item)


def is_listed(settings: BaseSettings, setting: str, path: str) -> bool:
    """Return whether a user's setting names a component, be it to switch it off."""
    wanted = load_object(path)
    return any(_loads(key) is wanted for key in settings.getdict(setting))


def _forbid_both(settings: BaseSettings, item: Component) -> None:
    # The robots middlewares are on by default; AutoThrottle lies idle unless it is enabled.
    if item.setting == MIDDLEWARES and _runs(settings, item.setting, item.replaces or ""):
        raise ValueError(
            f"{item.path} and the built-in that it replaces are both listed: "
            f'add {item.setting}["{item.replaces}"] = None.'
        )


def _runs(settings: BaseSettings, setting: str, path: str) -> bool:
    wanted = load_object(path)
    effective = settings.get_component_priority_dict_with_base(setting)
    return any(
        _loads(key) is wanted and position is not None for key, position in effective.items()
    )


def _loads(key: object) -> object:
    try:
        return load_object(key) if isinstance(key, str) else key
    except (ImportError, NameError, ValueError):
        return None
