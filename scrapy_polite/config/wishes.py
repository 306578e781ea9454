"""What the crawl makes of the wishes of sites' owners."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from scrapy_polite.config import values
from scrapy_polite.policy.page import NOFOLLOW, NOINDEX
from scrapy_polite.policy.usage import LABELS

if TYPE_CHECKING:
    from scrapy.settings import BaseSettings

DEFAULTS: dict[str, Any] = {"POLITE_PURPOSE": [], "POLITE_PAGE_DIRECTIVES": []}
MARK = f"{NOINDEX}=mark"
_DIRECTIVES = (NOFOLLOW, NOINDEX, MARK)


@dataclass(frozen=True, slots=True)
class Wishes:
    """Which wishes count.

    Attributes:
        purpose: the uses that the crawl is for, as labels of preferences; empty: nobody has said.
        nofollow: whether links that are not to be followed are not.
        noindex: what becomes of the items of pages that are not to be listed: `noindex`, they are
            dropped; `noindex=mark`, they are marked; None, nothing.
    """

    purpose: tuple[str, ...]
    nofollow: bool
    noindex: str | None


def read(settings: BaseSettings) -> Wishes:
    """Read the settings.

    Raises:
        ValueError: one sentence that names the setting and says what to write.
    """
    directives = _words(settings, "POLITE_PAGE_DIRECTIVES", _DIRECTIVES)
    # Of both, the restrictive one.
    noindex = next((name for name in (NOINDEX, MARK) if name in directives), None)
    return Wishes(_words(settings, "POLITE_PURPOSE", LABELS), NOFOLLOW in directives, noindex)


def _words(settings: BaseSettings, name: str, choices: tuple[str, ...]) -> tuple[str, ...]:
    value = settings.get(name)
    return values.words(name, DEFAULTS[name] if value is None else value, choices)
