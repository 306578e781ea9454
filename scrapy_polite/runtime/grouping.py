"""Whose clock a URL is under (POLITE_GROUP_BY): its host's, or its registrable domain's."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

from scrapy_polite.policy.origin import host_of


def group_by(name: str) -> Callable[[str], str | None]:
    """Return the function from URL to host key.

    Raises:
        ValueError: what the choice needs is not installed.
    """
    if name == "host":
        return host_of
    if name == "domain":
        return _by_domain()
    raise ValueError(f"POLITE_GROUP_BY is {name!r}: write 'host' or 'domain'.")


def _by_domain() -> Callable[[str], str | None]:
    try:
        from tldextract import TLDExtract
    except ImportError:
        raise ValueError(
            "POLITE_GROUP_BY is 'domain', which needs tldextract: "
            "run pip install 'scrapy-polite[domain]' or write 'host'."
        ) from None
    # The snapshot that comes with it: no request of our own for the list of suffixes.
    extract = TLDExtract(suffix_list_urls=(), cache_dir=None)

    @lru_cache(maxsize=65536)
    def domain_of(host: str) -> str:
        return extract(host).top_domain_under_public_suffix or host

    def group(url: str) -> str | None:
        host = host_of(url)
        return None if host is None else domain_of(host)

    return group
