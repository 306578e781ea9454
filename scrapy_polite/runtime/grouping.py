"""Whose clock a URL is under (POLITE_GROUP_BY): that of its host, registrable domain or address.

Grouping by address needs the resolver, which takes a while: until a name is resolved its pages are
in no line at all.  A name that cannot be resolved is its own group; its fetch will say why.
"""

from __future__ import annotations

import ipaddress
import socket
from collections import OrderedDict
from collections.abc import Callable
from functools import lru_cache

from scrapy.utils.asyncio import run_in_thread

from scrapy_polite.policy.origin import host_of

_NAMES_KEPT = 100_000
Resolve = Callable[[str], str]


class Grouping:
    """By host: the host key is the host."""

    def key_of(self, url: str) -> str | None:
        """Return the host key of a URL, None when no clock is for it."""
        return host_of(url)

    def unresolved(self, url: str) -> str | None:
        """Return the name that has to be resolved before the key is known, None when it is."""
        return None

    async def resolve(self, name: str) -> None:
        """Find out a name's group."""


class DomainGrouping(Grouping):
    """By registrable domain, as the Public Suffix List has it.

    Source: https://publicsuffix.org/list/, in the snapshot that comes with tldextract.
    """

    def __init__(self) -> None:
        try:
            from tldextract import TLDExtract
        except ImportError:
            raise ValueError(
                "POLITE_GROUP_BY is 'domain', which needs tldextract: "
                "run pip install 'scrapy-polite[domain]', or write 'host'."
            ) from None
        # No request of our own for the list, and no cache file of its in the user's home.
        extract = TLDExtract(suffix_list_urls=(), cache_dir=None)

        @lru_cache(maxsize=65536)
        def domain_of(host: str) -> str:
            return extract(host).top_domain_under_public_suffix or host

        self._domain_of = domain_of

    def key_of(self, url: str) -> str | None:
        """Return the registrable domain of a URL; an address or a bare name is its own."""
        host = host_of(url)
        return None if host is None else self._domain_of(host)


class AddressGrouping(Grouping):
    """By the first address that a name resolves to, lowest first, so that all runs agree."""

    def __init__(self, resolve: Resolve | None = None) -> None:
        self._resolve = resolve or _lowest_address
        self._known: OrderedDict[str, str] = OrderedDict()

    def key_of(self, url: str) -> str | None:
        """Return the address of a URL's host, its name while that is not known."""
        host = host_of(url)
        return None if host is None else self._known.get(host, host)

    def unresolved(self, url: str) -> str | None:
        """Return the name of a URL's host while its address is not known."""
        host = host_of(url)
        if host is None or host in self._known or _is_address(host):
            return None
        return host

    async def resolve(self, name: str) -> None:
        """Ask the system's resolver, off the main thread."""
        try:
            address = await run_in_thread(self._resolve, name)
        except (OSError, UnicodeError):
            address = name
        self._known[name] = address
        if len(self._known) > _NAMES_KEPT:
            self._known.popitem(last=False)


def grouping(name: str) -> Grouping:
    """Return the grouping of that name: host, domain or ip.

    Raises:
        ValueError: what the choice needs is not installed.
    """
    return {"host": Grouping, "domain": DomainGrouping, "ip": AddressGrouping}[name]()


def _lowest_address(name: str) -> str:
    found = socket.getaddrinfo(name, None, type=socket.SOCK_STREAM)
    addresses = [ipaddress.ip_address(str(item[4][0]).split("%")[0]) for item in found]
    return str(min(addresses, key=lambda address: (address.version, int(address))))


@lru_cache(maxsize=4096)
def _is_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True
