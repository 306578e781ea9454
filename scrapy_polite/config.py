"""Our settings, read once per crawler into frozen values.

A bad value stops the crawl before its first request, with one sentence that names the setting and
says what to write instead.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from scrapy.settings import SETTINGS_PRIORITIES
from scrapy.settings import default_settings as scrapy_defaults

from scrapy_polite.policy.backoff import BackoffRules
from scrapy_polite.policy.delay import DelayRules
from scrapy_polite.policy.host import HostRules
from scrapy_polite.policy.identity import Identity, make_identity
from scrapy_polite.policy.robots_cache import Ages

if TYPE_CHECKING:
    from scrapy.settings import BaseSettings

DEFAULTS: dict[str, Any] = {
    "POLITE_ENABLED": True,
    "POLITE_PRODUCT": None,
    "POLITE_CONTACT_URL": None,
    "POLITE_CONTACT_EMAIL": None,
    "POLITE_ALLOW_ANONYMOUS": False,
    "POLITE_DELAY_FACTOR": 10.0,
    "POLITE_MIN_DELAY": 1.0,
    "POLITE_JITTER": 0.1,
    "POLITE_CRAWL_DELAY_MAX": 300.0,
    "POLITE_ROBOTS_TIMEOUT": 30.0,
    "POLITE_ROBOTS_CONCURRENCY": 64,
    "POLITE_ROBOTS_HOLD": 600.0,
    "POLITE_ROBOTS_FORBIDDEN": "allow",
    "POLITE_ROBOTS_MAX_AGE": 86400.0,
    "POLITE_ROBOTS_MIN_AGE": 3600.0,
    "POLITE_ROBOTS_STALE_AGE": 2592000.0,
    "POLITE_BACKOFF_STATUSES": [429, 503],
    "POLITE_BACKOFF_MIN": 60.0,
    "POLITE_BACKOFF_MAX": 3600.0,
    "POLITE_RETRY_AFTER_MAX": 86400.0,
    "POLITE_BACKOFF_GIVE_UP": 8,
    "POLITE_RATELIMIT_HEADERS": False,
    "POLITE_GROUP_BY": "host",
}
"""Every setting that this version reads, with its default."""

MAX_DELAY = 600.0  # seconds; the add-on's value for AUTOTHROTTLE_MAX_DELAY
_IDENTITY = ("POLITE_PRODUCT", "POLITE_CONTACT_URL", "POLITE_CONTACT_EMAIL")


@dataclass(frozen=True, slots=True)
class Config:
    """What the settings say; durations in seconds."""

    identity: Identity
    rules: HostRules
    ages: Ages
    obey_robots: bool
    crawl_delay_max: float
    robots_timeout: float
    robots_concurrency: int
    robots_hold: float
    robots_forbidden: str
    backoff_statuses: frozenset[int]
    ratelimit_headers: bool
    group_by: str
    slot_floors: dict[str, float]


def read(settings: BaseSettings) -> Config:
    """Read all settings.

    Raises:
        ValueError: one sentence that names the setting and says what to write.
    """
    minimum, maximum = (
        _seconds(settings, "POLITE_ROBOTS_MIN_AGE"),
        _seconds(settings, "POLITE_ROBOTS_MAX_AGE"),
    )
    return Config(
        identity=read_identity(settings),
        rules=HostRules(_delay_rules(settings), _backoff_rules(settings)),
        ages=Ages(maximum, min(minimum, maximum), _seconds(settings, "POLITE_ROBOTS_STALE_AGE")),
        obey_robots=settings.getbool("ROBOTSTXT_OBEY"),
        crawl_delay_max=_seconds(settings, "POLITE_CRAWL_DELAY_MAX"),
        robots_timeout=_seconds(settings, "POLITE_ROBOTS_TIMEOUT", least=0.001),
        robots_concurrency=_count(settings, "POLITE_ROBOTS_CONCURRENCY"),
        robots_hold=_seconds(settings, "POLITE_ROBOTS_HOLD"),
        robots_forbidden=_choice(settings, "POLITE_ROBOTS_FORBIDDEN", ("allow", "disallow")),
        backoff_statuses=_statuses(settings, "POLITE_BACKOFF_STATUSES"),
        ratelimit_headers=_flag(settings, "POLITE_RATELIMIT_HEADERS"),
        group_by=_choice(settings, "POLITE_GROUP_BY", ("host", "domain", "ip")),
        slot_floors=_slot_floors(settings),
    )


def read_identity(settings: BaseSettings) -> Identity:
    """Read who the crawl says it is."""
    agent = settings.get("USER_AGENT")
    own_agent = agent if agent != scrapy_defaults.USER_AGENT else None
    # A spider that says who it is outranks a USER_AGENT of the project.
    said_at = max((_priority(settings, name) for name in _IDENTITY), default=0)
    if own_agent is not None and said_at > _priority(settings, "USER_AGENT"):
        own_agent = None
    return make_identity(
        product=settings.get("POLITE_PRODUCT"),
        contact_url=settings.get("POLITE_CONTACT_URL"),
        contact_email=settings.get("POLITE_CONTACT_EMAIL"),
        user_agent=own_agent,
        robots_user_agent=settings.get("ROBOTSTXT_USER_AGENT"),
        allow_anonymous=_flag(settings, "POLITE_ALLOW_ANONYMOUS"),
        bot_name=settings.get("BOT_NAME"),
    )


def is_enabled(settings: BaseSettings) -> bool:
    """Return whether the pack is switched on."""
    return _flag(settings, "POLITE_ENABLED")


def is_set(settings: BaseSettings, name: str) -> bool:
    """Return whether somebody set a setting, be it an add-on or a user."""
    return _priority(settings, name) > SETTINGS_PRIORITIES["default"]


def _delay_rules(settings: BaseSettings) -> DelayRules:
    factor = _seconds(settings, "POLITE_DELAY_FACTOR")
    target = _number(settings, "AUTOTHROTTLE_TARGET_CONCURRENCY", 1.0, least=1e-6)
    if is_set(settings, "AUTOTHROTTLE_TARGET_CONCURRENCY"):
        factor = max(factor, 1.0 / target) if target < 1.0 else factor
    adaptive = settings.getbool("AUTOTHROTTLE_ENABLED") or not is_set(
        settings, "AUTOTHROTTLE_ENABLED"
    )
    own_ceiling = is_set(settings, "AUTOTHROTTLE_MAX_DELAY")
    own_start = is_set(settings, "AUTOTHROTTLE_START_DELAY")
    ceiling = _number(settings, "AUTOTHROTTLE_MAX_DELAY", MAX_DELAY)
    start = _number(settings, "AUTOTHROTTLE_START_DELAY", 0.0)
    return DelayRules(
        factor=factor if adaptive else 0.0,
        floor=max(_seconds(settings, "POLITE_MIN_DELAY"), _number(settings, "DOWNLOAD_DELAY", 0.0)),
        ceiling=ceiling if own_ceiling else MAX_DELAY,
        jitter=_seconds(settings, "POLITE_JITTER"),
        start_floor=start if own_start else 0.0,
    )


def _backoff_rules(settings: BaseSettings) -> BackoffRules:
    minimum = _seconds(settings, "POLITE_BACKOFF_MIN")
    maximum = _seconds(settings, "POLITE_BACKOFF_MAX")
    if maximum < minimum:
        raise ValueError(
            f"POLITE_BACKOFF_MAX is {maximum:g} and POLITE_BACKOFF_MIN {minimum:g}: "
            "write a POLITE_BACKOFF_MAX that is at least as large."
        )
    return BackoffRules(
        minimum,
        maximum,
        _seconds(settings, "POLITE_RETRY_AFTER_MAX"),
        _count(settings, "POLITE_BACKOFF_GIVE_UP"),
    )


def _slot_floors(settings: BaseSettings) -> dict[str, float]:
    slots = settings.getdict("DOWNLOAD_SLOTS")
    return {key: float(slot.get("delay") or 0.0) for key, slot in slots.items()}


def _priority(settings: BaseSettings, name: str) -> int:
    return settings.getpriority(name) or 0


def _value(settings: BaseSettings, name: str) -> Any:
    value = settings.get(name)
    return DEFAULTS[name] if value is None else value


def _seconds(settings: BaseSettings, name: str, *, least: float = 0.0) -> float:
    return _as_number(name, _value(settings, name), DEFAULTS[name], least)


def _number(settings: BaseSettings, name: str, default: float, *, least: float = 0.0) -> float:
    value = settings.get(name)
    return _as_number(name, default if value is None else value, default, least)


def _as_number(name: str, value: Any, default: Any, least: float) -> float:
    try:
        number = math.nan if isinstance(value, bool) else float(value)
    except (TypeError, ValueError):
        number = math.nan
    if not least <= number < math.inf:
        raise ValueError(
            f"{name} is {value!r}: write a number of at least {least:g}, for example {default!r}."
        )
    return number


def _count(settings: BaseSettings, name: str) -> int:
    value = _value(settings, name)
    try:
        number = 0 if isinstance(value, bool) else int(value)
    except (TypeError, ValueError):
        number = 0
    if number < 1:
        raise ValueError(
            f"{name} is {value!r}: write a whole number of at least 1, "
            f"for example {DEFAULTS[name]!r}."
        )
    return number


def _flag(settings: BaseSettings, name: str) -> bool:
    try:
        return settings.getbool(name, DEFAULTS[name])
    except ValueError:
        raise ValueError(f"{name} is {settings.get(name)!r}: write True or False.") from None


def _choice(settings: BaseSettings, name: str, choices: tuple[str, ...]) -> str:
    value = _value(settings, name)
    if value not in choices:
        options = " or ".join(repr(choice) for choice in choices)
        raise ValueError(f"{name} is {value!r}: write {options}.")
    return str(value)


def _statuses(settings: BaseSettings, name: str) -> frozenset[int]:
    value = _value(settings, name)
    values: Iterable[Any] = value.split(",") if isinstance(value, str) else value
    try:
        statuses = frozenset(int(item) for item in values)
    except (TypeError, ValueError):
        statuses = frozenset({0})
    if not all(400 <= status <= 599 for status in statuses):
        raise ValueError(
            f"{name} is {value!r}: write a list of HTTP statuses from 400 to 599, "
            f"for example {DEFAULTS[name]!r}."
        )
    return statuses
