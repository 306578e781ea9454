"""URLs to keys: the origin that owns a robots.txt, and the host that owns a clock.

Rules:

- An origin is scheme, host and port (RFC 6454 section 4); a default port is left out.
- A host is compared without case, userinfo or trailing dot, in punycode, and an address in its one
  canonical spelling (`127.1` is `127.0.0.1`): two spellings of one host never get two clocks.
- IDNA is that of the standard library, because that is the one Scrapy puts into a request's URL.
- `\\` separates like `/`; tabs and line ends inside a URL do not count (WHATWG URL, section 4.4).
- What is no valid host is folded to lower case and kept: it fails to resolve, but under a clock.
  Kept fit to print: what cannot be printed is escaped, what is longer than a name can be is cut.
- Only http and https have origins. No function here raises for any string.
"""

from __future__ import annotations

import ipaddress
import re
import unicodedata
from functools import lru_cache
from hashlib import sha256
from urllib.parse import quote, unquote

_AUTHORITY = re.compile(r"[\x00-\x20]*(https?):[/\\]{2}([^/\\?#]*)", re.IGNORECASE)
# Tabs and line ends do not count; three more dots part labels (RFC 3490 section 3.1).
_TIDY = dict.fromkeys(map(ord, "\t\r\n")) | dict.fromkeys(map(ord, "\u3002\uff0e\uff61"), ".")
_DELIMITER = re.compile(r"[\x00-\x20%/?#@:\\\[\]]")
_NUMERIC = re.compile(r"(?:0x[0-9a-f]+|[0-9]+)(?:\.(?:0x[0-9a-f]+|[0-9]+)){0,3}")
_DEFAULT_PORT = {"http": "80", "https": "443"}
_CACHE_SIZE = 16_384
_LONGEST = 512  # characters; a name has 253 octets (RFC 1035 section 2.3.4)
_PORT_MAX = 20  # characters
_DIGEST = 16  # characters
_UNUSUAL = re.compile(r"[^a-z0-9.-]")


def origin_of(url: str) -> str | None:
    """Return the origin of a URL, in the one spelling that keys its robots.txt.

    Args:
        url: any string.

    Returns:
        The origin, or None when the scheme is not http(s) or there is no host.

    Source: RFC 9309 section 2.3; RFC 6454 section 4.

    >>> origin_of("HTTPS://user@Site.Example.:443/a?b")
    'https://site.example'
    >>> origin_of("mailto:bot@site.example") is None
    True
    """
    known = _known(url)
    return known and known[1]


def host_of(url: str) -> str | None:
    """Return the host of a URL without its port, in the one spelling that keys its clock.

    Args:
        url: any string.

    Returns:
        A name, an IPv4 address or an IPv6 address without brackets, or None when the scheme is not
        http(s) or there is no host.

    >>> host_of("http://[0:0::1]:8080/")
    '::1'
    """
    known = _known(url)
    return known and known[0]


def robots_url(origin: str) -> str:
    """Return the URL of the robots.txt that rules an origin.

    Args:
        origin: as `origin_of` returns it.

    Source: RFC 9309 section 2.3.

    >>> robots_url("http://site.example:8080")
    'http://site.example:8080/robots.txt'
    """
    return f"{origin}/robots.txt"


def _known(url: str) -> tuple[str, str] | None:
    """The host and the origin of a URL."""
    found = _AUTHORITY.match(url) or _AUTHORITY.match(url.translate(_TIDY))
    if found is None:
        return None
    scheme, authority = found.groups()
    resolve = _resolve if len(authority) <= _LONGEST else _resolve.__wrapped__
    return resolve(scheme, authority)


@lru_cache(maxsize=_CACHE_SIZE)
def _resolve(scheme: str, authority: str) -> tuple[str, str] | None:
    """The host and the origin of an authority, cached: a crawl asks for few hosts, often."""
    scheme, authority = scheme.lower(), authority.translate(_TIDY).rpartition("@")[2]
    name, port = _split_port(authority)
    host = _fit(_canonical_host(name))
    if not host:
        return None
    shown = f"[{host}]" if ":" in host else host
    suffix = "" if port in ("", _DEFAULT_PORT[scheme]) else f":{port}"
    return host, f"{scheme}://{shown}{suffix}"


def _split_port(authority: str) -> tuple[str, str]:
    """The host as written and the port, "" when there is none."""
    name, colon, port = authority.rpartition(":")
    if not colon or "]" in port:
        return authority, ""
    if port.isascii() and port.isdigit():
        return name, port.lstrip("0")[:_PORT_MAX] or "0"
    return name, "".join(c if c.isprintable() else "-" for c in port.lower())[:_PORT_MAX]


def _canonical_host(name: str) -> str:
    """The one spelling of a host, "" when nothing is left of it."""
    host = _bare(_to_ascii(_bare(_percent_decoded(_bare(name)))).lower())
    if ":" in host:
        return _canonical_ipv6(host)
    return _canonical_ipv4(host) if _NUMERIC.fullmatch(host) else host


def _fit(host: str) -> str:
    """A host as it is, or what stands for one that is none, in one spelling too."""
    if not host.isprintable():
        host = "".join(c if c.isprintable() else _escaped(c) for c in host)
    if len(host) <= _LONGEST:
        return host
    digest = sha256(host.encode("utf-8", "surrogatepass")).hexdigest()[:_DIGEST]
    return f"{_UNUSUAL.sub('-', host)[: _LONGEST - _DIGEST]}{digest}"


def _escaped(char: str) -> str:
    return quote(char, errors="replace").lower()


def _bare(name: str) -> str:
    """The name without the brackets of an IPv6 address, outer blanks and a trailing dot."""
    return name.lstrip("[ ").rstrip("]. ")


def _percent_decoded(name: str) -> str:
    decoded = unquote(name) if "%" in name else name
    return name if _DELIMITER.search(decoded) else decoded


def _to_ascii(name: str) -> str:
    """The name in punycode, or merely folded where IDNA has no form for it."""
    if name.isascii():
        return name
    if len(name) > _LONGEST:
        return name.casefold()
    try:
        folded = name.encode("idna").decode("ascii")
    except UnicodeError:
        folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", name).casefold())
    # Compatibility forms can hide a delimiter (U+2100 is "a/c"): such a name stays as it is.
    return name.casefold() if _DELIMITER.search(folded) else folded


def _canonical_ipv4(name: str) -> str:
    """The dotted form of an address in any spelling that resolvers take (octal, hex, short).

    Source: WHATWG URL section 3.5 (IPv4 parser); POSIX inet_addr.
    """
    try:
        *heads, last = (int(part, _base(part)) for part in name.split("."))
    except ValueError:
        return name
    if max(heads, default=0) > 255 or last >= 256 ** (4 - len(heads)):
        return name
    number = last + sum(head << 8 * (3 - place) for place, head in enumerate(heads))
    return str(ipaddress.IPv4Address(number))


def _base(part: str) -> int:
    if part.startswith("0x"):
        return 16
    return 8 if part.startswith("0") else 10


def _canonical_ipv6(name: str) -> str:
    """The compressed form; an IPv4-mapped address is that IPv4 host."""
    address, percent, zone = name.partition("%")
    try:
        parsed = ipaddress.IPv6Address(address)
    except ValueError:
        return name
    return f"{parsed.ipv4_mapped or parsed}{percent}{zone}"
