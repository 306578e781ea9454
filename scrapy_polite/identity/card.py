"""The card of a crawler, and the directory of its keys: what verifiers read, as JSON.

Source: draft-meunier-webbotauth-registry (card); draft-meunier-webbotauth-httpsig-protocol-02
(directory); RFC 7517 (JWK).
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from scrapy_polite.identity.about import About
from scrapy_polite.identity.keys import SigningKey

CARD_TYPE = "application/json"


def card(about: About) -> dict[str, Any]:
    """Return the card of a crawler that has a page; it says nothing that nobody has set."""
    origins = {
        "client_id": about.card_url,
        "client_name": about.user_agent.partition(" ")[0].partition("/")[0],
        "client_uri": about.contact_url,
        "contacts": [f"mailto:{about.contact_email}"] if about.contact_email else None,
        "jwks_uri": about.directory_url if about.key else None,
    }
    conduct = {
        "expected-user-agent": about.user_agent,
        "rfc9309-product-token": about.product_token,
        "rfc9309-compliance": about.obeys_robots,
        "trigger": "crawler",
        "purpose": ", ".join(about.purpose) or None,
        "rate-control": rate_control(about),
        "rate-expectation": rate_expectation(about),
        "known-urls": ["/robots.txt"],
    }
    return {**_set(origins), "web_bot_auth": _set(conduct)}


def rate_control(about: About) -> str:
    """Return what slows the crawler down."""
    delay = ["Crawl-delay"] if about.obeys_robots else []
    return ", ".join([*map(str, sorted(about.refusals)), "Retry-After", *delay])


def rate_expectation(about: About) -> str:
    """Return how fast the crawler is at most."""
    parts = ["one request of a host at a time"]
    if about.factor > 0:
        parts.append(f"at most 1/{about.factor + 1:g} of its time")
    if about.floor > 0:
        parts.append(f"at least {about.floor:g} s between two requests")
    return ", ".join(parts)


def directory(key: SigningKey, others: Iterable[Mapping[str, Any]] = ()) -> dict[str, Any]:
    """Return the directory of keys.

    Args:
        others: public keys that stay beside this one, while verifiers may still need them.
    """
    return {"keys": [public_jwk(key), *others]}


def public_jwk(key: SigningKey) -> dict[str, str]:
    """Return a key as others may see it."""
    return {"kty": "OKP", "crv": "Ed25519", "x": key.x, "kid": key.thumbprint, "use": "sig"}


def as_text(document: Mapping[str, Any]) -> str:
    """Return a document as the text of its file."""
    return json.dumps(document, indent=2) + "\n"


def _set(members: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in members.items() if value is not None}
