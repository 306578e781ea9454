"""Our settings, read once per crawler into frozen values.

A bad value stops the crawl before its first request, with one sentence that names the setting and
says what to write instead.  A setting that is None counts as not set.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from scrapy.settings import SETTINGS_PRIORITIES
from scrapy.settings import default_settings as scrapy_defaults

from scrapy_polite.config import signing, values, wishes
from scrapy_polite.identity.signature import Signer
from scrapy_polite.policy.backoff import BackoffRules
from scrapy_polite.policy.delay import DelayRules
from scrapy_polite.policy.host import HostRules
from scrapy_polite.policy.identity import Identity, make_identity, own_product, product_token
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
    "POLITE_STATE": None,
    "POLITE_REDIS_PREFIX": "polite:",
    "POLITE_REPORT": None,
    "POLITE_TIMELINE": None,
    **signing.DEFAULTS,
    **wishes.DEFAULTS,
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
    state: str | None
    redis_prefix: str
    report: str | None
    timeline: str | None
    slot_floors: dict[str, float]
    download_timeout: float
    signer: Signer | None
    wishes: wishes.Wishes


def read(settings: BaseSettings) -> Config:
    """Read all settings.

    Raises:
        ValueError: one sentence that names the setting and says what to write.
    """
    return Config(
        identity=read_identity(settings),
        rules=read_rules(settings),
        ages=_ages(settings),
        obey_robots=values.flag(settings, "ROBOTSTXT_OBEY", default=False),
        crawl_delay_max=_number(settings, "POLITE_CRAWL_DELAY_MAX"),
        robots_timeout=_number(settings, "POLITE_ROBOTS_TIMEOUT", least=0.1),
        robots_concurrency=count(settings, "POLITE_ROBOTS_CONCURRENCY"),
        robots_hold=_number(settings, "POLITE_ROBOTS_HOLD"),
        robots_forbidden=_choice(settings, "POLITE_ROBOTS_FORBIDDEN", "allow", "disallow"),
        backoff_statuses=_statuses(settings, "POLITE_BACKOFF_STATUSES"),
        ratelimit_headers=_flag(settings, "POLITE_RATELIMIT_HEADERS"),
        group_by=_choice(settings, "POLITE_GROUP_BY", "host", "domain", "ip"),
        state=_text(settings, "POLITE_STATE", "polite.db"),
        redis_prefix=_text(settings, "POLITE_REDIS_PREFIX", "polite:") or "",
        report=_text(settings, "POLITE_REPORT", "polite.html"),
        timeline=_text(settings, "POLITE_TIMELINE", "polite.events.jsonl"),
        slot_floors=values.slot_delays(settings),
        download_timeout=settings.getfloat("DOWNLOAD_TIMEOUT"),
        signer=signing.read(settings),
        wishes=wishes.read(settings),
    )


def read_rules(settings: BaseSettings) -> HostRules:
    """Read the numbers that decide a host's turns.

    Raises:
        ValueError: one sentence that names the setting and says what to write.
    """
    return HostRules(_delay_rules(settings), _backoff_rules(settings))


def read_identity(settings: BaseSettings) -> Identity:
    """Read who the crawl says it is.

    Raises:
        IdentityError: one sentence that names the setting and says what to write.
    """
    agent = settings.get("USER_AGENT")
    own_agent = agent if agent != scrapy_defaults.USER_AGENT else None
    # A spider's own contact outranks that in a USER_AGENT of the project; the product remains.
    said = [name for name in _IDENTITY if settings.get(name) is not None]
    said_at = max((_priority(settings, name) for name in said), default=0)
    if isinstance(own_agent, str) and said_at > _priority(settings, "USER_AGENT"):
        own_agent = own_product(own_agent) or product_token(own_agent) or own_agent
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
    set_at = _priority(settings, name)
    return settings.get(name) is not None and set_at > SETTINGS_PRIORITIES["default"]


def _delay_rules(settings: BaseSettings) -> DelayRules:
    delay = _scrapys(settings, "DOWNLOAD_DELAY", unset=0.0)
    return DelayRules(
        factor=_factor(settings),
        floor=max(_number(settings, "POLITE_MIN_DELAY"), delay),
        ceiling=_scrapys(settings, "AUTOTHROTTLE_MAX_DELAY", unset=MAX_DELAY),
        jitter=_number(settings, "POLITE_JITTER", kind="a fraction of the wait"),
        start_floor=_scrapys(settings, "AUTOTHROTTLE_START_DELAY", unset=0.0),
    )


def _factor(settings: BaseSettings) -> float:
    """Return how many times its duration a fetch is followed by a wait."""
    factor = _number(settings, "POLITE_DELAY_FACTOR", kind="a number")
    name, switch = "AUTOTHROTTLE_TARGET_CONCURRENCY", "AUTOTHROTTLE_ENABLED"
    target = _scrapys(settings, name, unset=1.0, least=0.001, kind="a number")
    if is_set(settings, switch) and not values.flag(settings, switch, default=True):
        return 0.0
    # A share of one connection is a longer wait; more than one connection there is not.
    return max(factor, 1.0 / target) if target < 1.0 else factor


def _backoff_rules(settings: BaseSettings) -> BackoffRules:
    minimum = _number(settings, "POLITE_BACKOFF_MIN")
    maximum = _number(settings, "POLITE_BACKOFF_MAX")
    if maximum < minimum:
        raise ValueError(
            f"POLITE_BACKOFF_MAX is {maximum:g} and POLITE_BACKOFF_MIN {minimum:g}: "
            "write a POLITE_BACKOFF_MAX that is at least as large."
        )
    return BackoffRules(
        minimum,
        maximum,
        _number(settings, "POLITE_RETRY_AFTER_MAX"),
        count(settings, "POLITE_BACKOFF_GIVE_UP"),
    )


def _ages(settings: BaseSettings) -> Ages:
    maximum = _number(settings, "POLITE_ROBOTS_MAX_AGE")
    minimum = _number(settings, "POLITE_ROBOTS_MIN_AGE")
    return Ages(maximum, min(minimum, maximum), _number(settings, "POLITE_ROBOTS_STALE_AGE"))


def _priority(settings: BaseSettings, name: str) -> int:
    return settings.getpriority(name) or 0


def _value(settings: BaseSettings, name: str) -> Any:
    value = settings.get(name)
    return DEFAULTS[name] if value is None else value


def _number(
    settings: BaseSettings, name: str, *, least: float = 0.0, kind: str = values.SECONDS
) -> float:
    value = _value(settings, name)
    return values.number(name, value, example=DEFAULTS[name], least=least, kind=kind)


def count(settings: BaseSettings, name: str) -> int:
    """Read one of our settings that is a number of things; raises ValueError as `read` does."""
    return values.count(name, _value(settings, name), example=DEFAULTS[name])


def _text(settings: BaseSettings, name: str, example: str) -> str | None:
    value = settings.get(name, DEFAULTS[name])
    return None if value is None else values.text(name, value, example=example)


def _choice(settings: BaseSettings, name: str, *choices: str) -> str:
    return values.choice(name, _value(settings, name), choices)


def _statuses(settings: BaseSettings, name: str) -> frozenset[int]:
    return values.statuses(name, _value(settings, name), example=DEFAULTS[name])


def _flag(settings: BaseSettings, name: str) -> bool:
    return values.flag(settings, name, default=DEFAULTS[name])


def _scrapys(
    settings: BaseSettings,
    name: str,
    *,
    unset: float,
    least: float = 0.0,
    kind: str = values.SECONDS,
) -> float:
    """Return a number that a setting of Scrapy's gives, *unset* when nobody set it."""
    value = settings.get(name) if is_set(settings, name) else unset
    return values.number(name, value, example=unset or 1.0, least=least, kind=kind)
