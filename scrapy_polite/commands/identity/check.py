"""What an owner would find wrong with what is published about a crawler.

Source: draft-meunier-webbotauth-httpsig-protocol-02 (directory); draft-meunier-webbotauth-registry
(card); draft-illyes-aipref-cbcp-04 (page).
"""

from __future__ import annotations

import enum
import json
import time
from dataclasses import dataclass
from html import unescape
from typing import Any

from scrapy_polite.identity.about import DIRECTORY_TYPE, About
from scrapy_polite.identity.card import public_jwk
from scrapy_polite.robots.lines import printable

_SHOWN = 120  # characters of what a site sent


class Kind(enum.Enum):
    """What is published."""

    PAGE = "page"
    CARD = "card"
    DIRECTORY = "key directory"


@dataclass(frozen=True, slots=True)
class Wanted:
    """One published thing."""

    kind: Kind
    url: str

    @property
    def what(self) -> str:
        """Its name in a report."""
        return self.kind.value.capitalize()


@dataclass(frozen=True, slots=True)
class Seen:
    """What became of a request.

    Attributes:
        status: None without an answer.
        why_not: why there is no answer, as a clause.
        media_type: in lower case, without parameters.
        location: where a redirect leads.
    """

    status: int | None = None
    why_not: str = ""
    media_type: str = ""
    location: str = ""
    body: bytes = b""


def wanted(about: About) -> list[Wanted]:
    """Return what should be published about a crawler.

    Raises:
        ValueError: there is nothing to look at.
    """
    if about.contact_url is None:
        raise ValueError("There is nothing to check: set POLITE_CONTACT_URL to a page of yours.")
    found = [Wanted(Kind.PAGE, about.contact_url)]
    if about.card_url:
        found.append(Wanted(Kind.CARD, about.card_url))
    if about.key and about.directory_url:
        found.append(Wanted(Kind.DIRECTORY, about.directory_url))
    return found


def faults(asked: Wanted, seen: Seen, about: About) -> list[str]:
    """Return what is wrong with one thing, a sentence each."""
    if seen.status is None:
        return [f"It could not be fetched: {seen.why_not}."]
    if 300 <= seen.status <= 399:
        return [f"It is a redirect ({seen.status}) to {_shown(seen.location)}: answer it there."]
    if seen.status != 200:
        return [f"It is not there: the status is {seen.status}."]
    judge = {Kind.PAGE: _page, Kind.CARD: _card, Kind.DIRECTORY: _directory}[asked.kind]
    return judge(asked, seen, about)


def _page(_: Wanted, seen: Seen, about: About) -> list[str]:
    text = unescape(seen.body.decode("utf-8", "replace")).lower()
    found = []
    if seen.media_type not in ("text/html", "application/xhtml+xml"):
        found.append(f"{_media_type(seen)}; people need text/html.")
    if about.product_token.lower() not in text:
        found.append(f"It does not name {about.product_token}, which is what owners saw.")
    if "robots.txt" not in text:
        found.append("It has no word on how to stop the crawler: robots.txt is not mentioned.")
    return found


def _card(asked: Wanted, seen: Seen, about: About) -> list[str]:
    found = []
    if seen.media_type != "application/json" and not seen.media_type.endswith("+json"):
        found.append(f"{_media_type(seen)}; programs need application/json.")
    card = _object(seen)
    if card is None:
        return [*found, "It is no JSON object."]
    conduct = card.get("web_bot_auth")
    conduct = conduct if isinstance(conduct, dict) else {}
    expected = {
        "client_id": (card, asked.url),
        "jwks_uri": (card, about.directory_url if about.key else None),
        "expected-user-agent": (conduct, about.user_agent),
        "rfc9309-product-token": (conduct, about.product_token),
    }
    for name, (said, value) in expected.items():
        if said.get(name) != value:
            found.append(f"Its {name} is {_shown(said.get(name))}, and should be {_shown(value)}.")
    if "jwks" in card and "jwks_uri" in card:
        found.append("It has both jwks and jwks_uri; one of them has to go.")
    return found


def _directory(asked: Wanted, seen: Seen, about: About) -> list[str]:
    assert about.key is not None
    found = []
    if not asked.url.startswith("https://"):
        found.append("It is not on https.")
    if seen.media_type != DIRECTORY_TYPE:
        found.append(f"{_media_type(seen)}; verifiers need {DIRECTORY_TYPE}.")
    directory = _object(seen) or {}
    keys = directory.get("keys")
    if not isinstance(keys, list):
        return [*found, "It is no list of keys."]
    listed = [jwk for jwk in keys if isinstance(jwk, dict)]
    if any("d" in jwk for jwk in listed):
        found.append("It shows a private key to everybody: make a new one and take that one out.")
    ours = [jwk for jwk in listed if jwk.get("x") == about.key.x]
    if not ours:
        return [*found, f"It does not list our key {about.key.thumbprint}."]
    return found + _key_faults(ours[0], public_jwk(about.key), time.time())


def _key_faults(jwk: dict[str, Any], public: dict[str, str], now: float) -> list[str]:
    """Return what is wrong with the entry of our key."""
    found = [
        f"The {name} of our key is {_shown(jwk.get(name))}, and should be {public[name]}."
        for name in ("kty", "crv", "kid")
        if jwk.get(name, public[name] if name == "kid" else None) != public[name]
    ]
    begins, ends = (jwk.get(name) for name in ("nbf", "exp"))
    if isinstance(begins, (int, float)) and begins > now:
        found.append("Our key is not valid yet (nbf).")
    if isinstance(ends, (int, float)) and ends <= now:
        found.append("Our key is no longer valid (exp).")
    return found


def _object(seen: Seen) -> dict[str, Any] | None:
    try:
        found = json.loads(seen.body)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def _media_type(seen: Seen) -> str:
    return f"Its media type is {_shown(seen.media_type or 'not said')}"


def _shown(value: object) -> str:
    return "missing" if value is None else printable(str(value)[:_SHOWN])
