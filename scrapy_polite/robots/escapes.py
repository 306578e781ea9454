"""One spelling for each path, so that equal octets compare equal.

Rules:

- An escape of an unreserved octet is undone; its hexadecimal digits are upper case otherwise.
- An octet that no URI may hold bare (a space, a quote, a control, one outside ASCII) is escaped.
- A `%` that begins no escape is stray.  In a URL it is escaped too.  In a rule it is an octet that
  stands for itself, and so for the `%` of any escape: owners write `/*%` against encoded addresses.
  Such a rule is compared with two other spellings, in which a stray `%` is left as it is: one that
  is else the usual one, and one with all escapes left as they are sent.
- A reserved octet equals its escape, and counts as one octet; `:` is the same as `%3A`. Not so
  `/` and `?` in a path, where bare they divide it and escaped they do not, nor `#` anywhere.
- In a query `/` and `?` divide nothing, so there they do equal their escapes.

Source: RFC 9309 section 2.2.2 with Figure 4; RFC 3986 sections 2.2, 2.3, 3.4 and 6.2.2.  It says
nothing of stray `%`: Google's parser reads them as sent, Protego in the usual spelling.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

_UNRESERVED = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~"
_RESERVED = ":/?[]@!$&'()*+,;="  # and "#", which is never bare in a path or a query
_BARE = _UNRESERVED + _RESERVED

# Whether a text is in its one spelling already, as nearly all are: it needs no escape and has none.
is_plain = re.compile(rf"[{re.escape(_BARE)}]*").fullmatch
_STRAY = "%(?![0-9A-Fa-f]{2})"
has_stray = re.compile(_STRAY).search
_TO_SPELL = re.compile(rf"%[0-9A-Fa-f]{{2}}|[^{re.escape(_BARE)}]")
_TO_SPELL_BARE = re.compile(rf"%[0-9A-Fa-f]{{2}}|[^%{re.escape(_BARE)}]")
_TO_SEND = re.compile(rf"%[0-9A-Fa-f]{{1,2}}|[^%{re.escape(_BARE)}]")
_URL = re.compile(r"(?:[A-Za-z][A-Za-z0-9+.-]*://[^/?#]*)?([^?#]*)(\?[^#]*)?").match


class Spelled(NamedTuple):
    """Path and query of a URL, in the spellings that rules are compared with.

    Attributes:
        one: the one spelling.
        escaped: the same with `/` and `?` of the query escaped: a rule such as `/*%2F` does not say
            whether it means a path or a query.
        bare: the one spelling, but for stray `%`.
        sent: the escapes as they are sent, but for the case of their digits.
    """

    one: str
    escaped: str
    bare: str
    sent: str


def canonical_path(text: str, *, bare: bool = False) -> str:
    """Return *text*, part of a path, in its one spelling; *bare* leaves stray `%` in it.

    >>> canonical_path("/caf\u00e9/%7Eme/%3a/a%2fb c")
    '/caf%C3%A9/~me/:/a%2Fb%20c'
    """
    return text if is_plain(text) else _spell(text, _PATH, bare)


def canonical_query(text: str, *, bare: bool = False) -> str:
    """Return *text*, part of a query, in its one spelling; *bare* leaves stray `%` in it.

    >>> canonical_query("u=https%3A%2F%2Fo.example")
    'u=https://o.example'
    """
    return text if is_plain(text) else _spell(text, _QUERY, bare)


def as_sent(text: str) -> str:
    """Return *text* with its escapes as they are, their digits in upper case.

    >>> as_sent("/%7ea b/%c")
    '/%7Ea%20b/%C'
    """
    return text if is_plain(text) else _TO_SEND.sub(_sent, _octets(text))


def spellings(url: str) -> Spelled:
    """Return path and query of *url*, in the spellings that rules are compared with.

    Args:
        url: an absolute URL, or a path with or without a query.

    >>> spellings("https://site.example/~a?u=b%2Fc#d")[:2]
    ('/~a?u=b/c', '/~a?u=b%2Fc')
    >>> spellings("/%7Ea%?%20")[2:]
    ('/~a%?%20', '/%7Ea%?%20')
    """
    match = _URL(url)
    path, query = match.groups("") if match else (url, "")
    if not path.startswith("/"):
        path = f"/{path}"
    one = canonical_path(path)
    if not query:
        escaped = one
    else:
        spelled = canonical_query(query[1:])
        asked = spelled.replace("/", "%2F").replace("?", "%3F")
        escaped = f"{one}?{asked}"
        one = f"{one}?{spelled}"
    whole = path + query
    if "%" not in whole:
        return Spelled(one, escaped, one, one)
    bare = one
    if has_stray(whole):
        bare = canonical_path(path, bare=True)
        bare += query and "?" + canonical_query(query[1:], bare=True)
    return Spelled(one, escaped, bare, as_sent(whole))


def _spell(text: str, table: dict[str, str], bare: bool) -> str:
    found = _TO_SPELL_BARE if bare else _TO_SPELL
    return found.sub(lambda match: table[match[0]], _octets(text))


def _sent(match: re.Match[str]) -> str:
    """Return an escape, or the beginning of one, in upper case, and an octet escaped."""
    text = match[0]
    return text.upper() if len(text) > 1 else _PATH[text]


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
