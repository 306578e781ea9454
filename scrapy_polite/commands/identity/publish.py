"""Writes what one puts on the contact's site: the page, the card, the key directory.

Rules: a page that somebody has changed by hand is left alone; keys that a directory lists already
stay in it beside the new one, for requests that are signed with them may still be on their way.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from scrapy_polite.identity.about import DIRECTORY_PATH, DIRECTORY_TYPE, About
from scrapy_polite.identity.card import CARD_TYPE, as_text, card, directory
from scrapy_polite.identity.page import GENERATOR, page
from scrapy_polite.policy.origin import origin_of

_SECRET = {"d", "k", "p", "q"}  # members of a JWK that nobody else may see


def write(about: About, folder: Path) -> Iterator[str]:
    """Write the files, and yield one line for each: where it is, and where it has to be answered.

    Raises:
        ValueError: there is no contact page to write, or a file cannot be written.
    """
    if about.contact_url is None:
        raise ValueError("There is no page to write: set POLITE_CONTACT_URL to where it will be.")
    origin = origin_of(about.contact_url)
    yield f"For {origin}, from {folder}:"
    page_file = _below(folder, about.page_path)
    if page_file.exists() and GENERATOR not in page_file.read_text("utf-8", "replace"):
        yield f"  {page_file} was changed by hand and stays (take it away to have it written)"
    else:
        _put(page_file, page(about))
        yield f"  {page_file} at {about.contact_url}, as text/html"
    _put(_below(folder, about.card_path), as_text(card(about)))
    yield f"  {_below(folder, about.card_path)} at {about.card_url}, as {CARD_TYPE}"
    if about.key is None:
        yield "  no key directory: POLITE_SIGNATURE_KEY is not set"
        return
    file = _below(folder, DIRECTORY_PATH)
    others = [jwk for jwk in _listed(file) if jwk.get("kid") != about.key.thumbprint]
    _put(file, as_text(directory(about.key, others)))
    yield f"  {file} at {about.directory_url}, as {DIRECTORY_TYPE}, without a redirect"
    for jwk in others:
        yield f"    it still lists {jwk.get('kid')}: take that out when nothing is signed with it"


def _listed(file: Path) -> list[dict[str, Any]]:
    """Return the public keys that a directory lists already."""
    try:
        keys = json.loads(file.read_text("utf-8"))["keys"]
    except (OSError, ValueError, KeyError, TypeError):
        return []
    found = [jwk for jwk in keys if isinstance(jwk, dict)] if isinstance(keys, list) else []
    return [jwk for jwk in found if not _SECRET & jwk.keys()]


def _below(folder: Path, path: str) -> Path:
    return folder / path.lstrip("/")


def _put(file: Path, text: str) -> None:
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, "utf-8")
    except OSError as error:
        raise ValueError(f"{file} cannot be written: {error.strerror}.") from None
