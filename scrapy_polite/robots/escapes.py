"""One spelling for each path, so that equal octets compare equal.

Rules:

- An escape of an unreserved octet is undone; its hexadecimal digits are upper case otherwise.
- An octet that no URI may hold bare (a space, a quote, a control, one outside ASCII, a `%` that
  escapes nothing) is escaped.
- A reserved octet equals its escape, and counts as one octet; `:` is the same as `%3A`. Not so
  `/` and `?` in a path, where bare they divide it and escaped they do not, nor `#` anywhere.
- In a query `/` and `?` divide nothing, so there they do equal their escapes.

Source: RFC 9309 section 2.2.2 with Figure 4; RFC 3986 sections 2.2, 2.3, 3.4 and 6.2.2.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

_UNRESERVED = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~"
_RESERVED = ":/?[]@!$&'()*+,;="  # and "#", which is never bare in a path or a query
_BARE = _UNRESERVED + _RESERVED

# Whether a text is in its one spelling already, as nearly all are: it needs no escape and has none.
is_plain = re.compile(rf"[{re.escape(_BARE)}]*").fullmatch
_TO_SPELL = re.compile(rf"%[0-9A-Fa-f]{{2}}|[^{re.escape(_BARE)}]")
_URL = re.compile(r"(?:[A-Za-z][A-Za-z0-9+.-]*://[^/?#]*)?([^?#]*)(\?[^#]*)?").match


def canonical_path(text: str) -> str:
    """Return *text*, part of a path, in its one spelling.

    >>> canonical_path("/caf\u00e9/%7Eme/%3a/a%2fb c")
    '/caf%C3%A9/~me/:/a%2Fb%20c'
    """
    return text if is_plain(text) else _spell(text, _PATH)


def canonical_query(text: str) -> str:
    """Return *text*, part of a query, in its one spelling.

    >>> canonical_query("u=https%3A%2F%2Fo.example")
    'u=https://o.example'
    """
    return text if is_plain(text) else _spell(text, _QUERY)


def spellings(url: str) -> tuple[str, ...]:
    """Return path and query of *url*, in the one spelling that rules are compared with.

    A query that holds `/` or `?` comes in a second spelling, which escapes them: a rule such as
    `/*%2F` does not say whether it means a path or a query.

    Args:
        url: an absolute URL, or a path with or without a query.

    >>> spellings("https://site.example/a?u=b%2Fc#d")
    ('/a?u=b/c', '/a?u=b%2Fc')
    """
    match = _URL(url)
    path, query = match.groups("") if match else (url, "")
    if not path.startswith("/"):
        path = f"/{path}"
    path = canonical_path(path)
    if not query:
        return (path,)
    query = canonical_query(query[1:])
    main = f"{path}?{query}"
    if "/" not in query and "?" not in query:
        return (main,)
    return main, f"{path}?{query.replace('/', '%2F').replace('?', '%3F')}"


def _spell(text: str, table: dict[str, str]) -> str:
    return _TO_SPELL.sub(lambda match: table[match[0]], _octets(text))


def _octets(text: str) -> str:
    """Return the UTF-8 octets of *text* as characters, lone surrogates as the octets they hide."""
    if text.isascii():
        return text
    try:
        octets = text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:  # a surrogate that hides no octet: only a broken URL has one
        octets = text.encode("utf-8", "surrogatepass")
    return octets.decode("latin-1")


def _table(kept_escaped: str) -> dict[str, str]:
    """Map what `_TO_SPELL` finds, every escape and every octet, to its one spelling."""
    table = {}
    for char in map(chr, range(256)):
        escape = f"%{ord(char):02X}"
        spelled = char if char in _BARE and char not in kept_escaped else escape
        table[char] = escape
        table.update((variant, spelled) for variant in _variants(escape))
    return table


def _variants(escape: str) -> Iterator[str]:
    high, low = escape[1], escape[2]
    return (f"%{h}{lo}" for h in (high, high.lower()) for lo in (low, low.lower()))


_PATH = _table(kept_escaped="/?")
_QUERY = _table(kept_escaped="")
