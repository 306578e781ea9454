"""The way a request takes to the network: through which proxy, from which of our addresses.

A robots.txt takes the way of the page that needs it.  Whoever gives a page a proxy does not want
the site to see another address first, and may not reach the site without it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from scrapy import Request

_LOGIN = "Proxy-Authorization"
_META = ("bindaddress", "proxy", "_auth_proxy")  # the last one is what the login is for


class Way(NamedTuple):
    """What of a request says how it reaches the network."""

    meta: Mapping[str, Any]
    headers: Mapping[str, Any]


def way_of(page: Request | None) -> Way:
    """Return the way of a page; what Scrapy takes from the environment, it will take again.

    >>> from scrapy import Request
    >>> way_of(Request("http://site.example/", meta={"proxy": "http://proxy.example", "depth": 1}))
    Way(meta={'proxy': 'http://proxy.example'}, headers={})
    """
    if page is None:
        return Way({}, {})
    names = ("bindaddress",) if page.meta.get("_scheme_proxy") else _META
    meta = {name: page.meta[name] for name in names if name in page.meta}
    login = page.headers.get(_LOGIN) if meta.get("proxy") else None
    return Way(meta, {_LOGIN: login} if login else {})
