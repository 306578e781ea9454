"""What the answer to a robots.txt fetch means, before anyone looks at its body.

Rules:

- The status decides. A body counts only after a 2xx.
- 4xx is unavailable: everything is allowed. 429 is not: like 5xx and no answer at all it is
  unreachable, and nothing is allowed.
- At most five redirects are followed, to any host, over http(s) only. A chain that is longer, loops
  or leads nowhere ends as unavailable.

Source: RFC 9309 section 2.3.1 (access results). It counts 429 among the 4xx; here a server that
asks for air is taken to be in trouble.
"""

from __future__ import annotations

import enum
import re
from collections.abc import Collection
from urllib.parse import quote, urljoin, urlsplit

from scrapy_polite.policy.origin import origin_of

MAX_HOPS = 5
"""How many redirects in a row are followed. Source: RFC 9309 section 2.3.1.2."""

_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_USABLE_ORIGIN = re.compile(r"https?://(?:[!-$&-~]+|\[[!-~]+\](?::[0-9]+)?)")  # % in zones only
_PATH = "%/:@!$&'()*+,;="  # what stays bare in a path (RFC 3986 section 3.3), and escapes there are
_QUERY = _PATH + "?"


class Access(enum.Enum):
    """The outcome of one step of a robots.txt fetch."""

    SUCCESSFUL = "successful"  # read the body
    UNAVAILABLE = "unavailable"  # everything is allowed
    UNREACHABLE = "unreachable"  # a copy on hand, else complete disallow
    FORBIDDEN = "forbidden"  # complete disallow, by the user's wish
    REDIRECTED = "redirected"  # ask `next_hop`
    NOT_MODIFIED = "not_modified"  # the copy on hand is good again


def access_of(
    status: int | None, *, forbidden: str = "allow", revalidating: bool = False
) -> Access:
    """Return what the status of a robots.txt answer means.

    Args:
        status: the HTTP status, or None when there was no answer: no DNS record, connection refused
            or reset, a timeout, a transfer that cannot be decoded.
        forbidden: "disallow" to read 401 and 403 as a ban on the whole origin, else "allow".
        revalidating: whether the request was conditional, so that 304 has a copy to confirm.

    Source: RFC 9309 sections 2.3.1.1 to 2.3.1.4.

    >>> access_of(404)
    <Access.UNAVAILABLE: 'unavailable'>
    >>> access_of(503)
    <Access.UNREACHABLE: 'unreachable'>
    """
    if status is None or status == 429 or not 200 <= status <= 499:
        return Access.UNREACHABLE
    if status <= 299:
        return Access.SUCCESSFUL
    if status in _REDIRECTS:
        return Access.REDIRECTED
    if status == 304 and revalidating:
        return Access.NOT_MODIFIED
    if status in (401, 403) and forbidden == "disallow":
        return Access.FORBIDDEN
    return Access.UNAVAILABLE


def next_hop(
    url: str, location: str | bytes | None, *, hops: int, seen: Collection[str]
) -> str | None:
    """Return the URL that a redirected robots.txt fetch goes to next.

    Args:
        url: the URL that answered with the redirect.
        location: its Location header, or None when it has none.
        hops: how many redirects were followed to get to `url`; 0 for the first answer.
        seen: the URLs that were fetched already.

    Returns:
        An absolute http(s) URL without userinfo and fragment, or None when the chain ends here: the
        robots.txt is then unavailable.

    Source: RFC 9309 section 2.3.1.2; RFC 9110 section 10.2.2 (Location).

    >>> next_hop("http://site.example/robots.txt", "//www.site.example/r.txt#x", hops=0, seen=())
    'http://www.site.example/r.txt'
    """
    if location is None or hops >= MAX_HOPS:
        return None
    here, target = _absolute(url, ""), _absolute(url, _text(location))
    return None if target is None or target == here or target in seen else target


def _text(location: str | bytes) -> str:
    """The header as text, with `\\` read as `/` before the query as clients do."""
    text = location if isinstance(location, str) else location.decode("utf-8", "surrogateescape")
    path, mark, query = text.strip().partition("?")
    return path.replace("\\", "/") + mark + query


def _absolute(base: str, reference: str) -> str | None:
    """The reference resolved, in one spelling; None when no http(s) server can be asked for it."""
    try:
        parts = urlsplit(urljoin(base, reference))
        origin = origin_of(f"{parts.scheme}://{parts.netloc}")
        path, query = _quoted(parts.path or "/", _PATH), _quoted(parts.query, _QUERY)
        if origin is None or parts.port == 0 or not _USABLE_ORIGIN.fullmatch(origin):
            return None
    except ValueError:  # brackets that do not pair, a port out of range
        return None
    return f"{origin}{path}?{query}" if query else f"{origin}{path}"


def _quoted(text: str, safe: str) -> str:
    """The text with its octets outside ASCII escaped, also those that are no UTF-8."""
    return quote(text, safe=safe, errors="surrogateescape")
