"""With which key requests are signed, and where that key is published."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scrapy_polite.config import values
from scrapy_polite.identity.keys import SETTING, load
from scrapy_polite.identity.signature import Signer
from scrapy_polite.policy.contact import URL, fault_of
from scrapy_polite.policy.origin import origin_of

if TYPE_CHECKING:
    from scrapy.settings import BaseSettings

AGENT = "POLITE_SIGNATURE_AGENT"
DEFAULTS: dict[str, Any] = {SETTING: None, AGENT: None}
_ADVICE = "write the https origin that publishes the key, for example 'https://acme.test'"
_BARE = re.compile(r"https://[^/?#]+/?", re.IGNORECASE)


def read(settings: BaseSettings) -> Signer | None:
    """Return who signs the requests, None when no key is set.

    Raises:
        ValueError: one sentence that names the setting and says what to write.
    """
    agent, path = _agent(settings), settings.get(SETTING)
    if path is None:
        return None
    key = load(Path(values.text(SETTING, path, example="key.pem")).expanduser())
    return Signer(key, agent or _of_contact(settings))


def agent_of(settings: BaseSettings) -> str | None:
    """Return the origin that publishes the key, None when neither of its settings names one.

    Raises:
        ValueError: one sentence that names the setting and says what to write.
    """
    return _agent(settings) or _secure_contact(settings)


def _agent(settings: BaseSettings) -> str | None:
    value = settings.get(AGENT)
    if value is None:
        return None
    text = values.text(AGENT, value, example="https://acme.test")
    origin = origin_of(text) if _BARE.fullmatch(text) and URL.fullmatch(text) else None
    if origin is None or fault_of(text):
        raise ValueError(f"{AGENT} is {text!r}: {_ADVICE}.")
    return origin


def _of_contact(settings: BaseSettings) -> str:
    origin = _secure_contact(settings)
    if origin is None:
        raise ValueError(f"{AGENT} is not set, and POLITE_CONTACT_URL is no https URL: {_ADVICE}.")
    return origin


def _secure_contact(settings: BaseSettings) -> str | None:
    origin = origin_of(str(settings.get("POLITE_CONTACT_URL") or ""))
    return origin if origin is not None and origin.startswith("https://") else None
