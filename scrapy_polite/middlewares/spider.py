"""nofollow and noindex, where POLITE_PAGE_DIRECTIVES says that they count.

- Of a page that says nofollow no request goes on but one for the page itself, as a repeat is.
- A link that says so, and no other link to the same address does not, is not followed, however the
  spider found it.
- Items of a page that says noindex are dropped, or marked in a field `noindex`.  One that cannot be
  marked is dropped.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from itemadapter import ItemAdapter
from scrapy.exceptions import NotConfigured
from scrapy.http import HtmlResponse, Request, Response
from scrapy.spidermiddlewares.base import BaseSpiderMiddleware
from w3lib.url import canonicalize_url, safe_url_string

from scrapy_polite import config, stats
from scrapy_polite.policy.page import NOFOLLOW, NOINDEX
from scrapy_polite.robots.page import unfollowed
from scrapy_polite.runtime.runtime import Runtime

if TYPE_CHECKING:
    from scrapy.crawler import Crawler

logger = logging.getLogger(__name__)
_FIELD = "noindex"


class PoliteSpiderMiddleware(BaseSpiderMiddleware):
    """Honours what pages ask of those who follow links and keep what they find."""

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        if not config.is_enabled(crawler.settings):
            raise NotConfigured
        self._wishes = Runtime.of(crawler).config.wishes
        if not self._wishes.nofollow and self._wishes.noindex is None:
            raise NotConfigured
        self._unfollowed: WeakKeyDictionary[Response, frozenset[str]] = WeakKeyDictionary()
        self._told = False

    def get_processed_request(self, request: Request, response: Response | None) -> Request | None:
        """Return a request, or None when it follows what is not to be followed."""
        if (
            response is None
            or not self._wishes.nofollow
            or not self._is_unwanted(request, response)
        ):
            return request
        self._count(stats.PAGE_REQUESTS)
        logger.debug(
            "Not followed, for %(page)s says nofollow: %(request)s",
            {"page": response, "request": request},
            extra={"spider": self.crawler.spider},
        )
        return None

    def get_processed_item(self, item: Any, response: Response | None) -> Any:
        """Return an item, marked where that is wanted, or None when it is dropped."""
        if response is None or self._wishes.noindex is None or not _says(response, NOINDEX):
            return item
        if self._wishes.noindex == config.wishes.MARK:
            try:
                ItemAdapter(item)[_FIELD] = True
            except (KeyError, TypeError, AttributeError):
                self._warn(item)
            else:
                self._count(stats.PAGE_ITEMS.format(fate="marked"))
                return item
        self._count(stats.PAGE_ITEMS.format(fate="dropped"))
        return None

    def _is_unwanted(self, request: Request, response: Response) -> bool:
        address = _address(request.url)
        if address == _address(response.url) or (
            response.request is not None and address == _address(response.request.url)
        ):
            return False
        return _says(response, NOFOLLOW) or address in self._links(response)

    def _links(self, response: Response) -> frozenset[str]:
        """Return the addresses that a page asks not to follow, looked for once."""
        found = self._unfollowed.get(response)
        if found is None:
            found = frozenset()
            if isinstance(response, HtmlResponse):
                page = response

                def absolute(link: str) -> str:
                    joined = page.urljoin(link.strip())
                    return _address(safe_url_string(joined, encoding=page.encoding))

                found = unfollowed(page.text, absolute)
            self._unfollowed[response] = found
        return found

    def _count(self, name: str) -> None:
        self.crawler.stats.inc_value(name)

    def _warn(self, item: Any) -> None:
        if not self._told:
            self._told = True
            logger.warning(
                "Items of %s have no field %r to mark them with, so those of noindex pages are "
                "dropped; give the class that field",
                type(item).__name__,
                _FIELD,
            )


def _says(response: Response, directive: str) -> bool:
    polite = response.meta.get("polite") if response.request is not None else None
    return directive in (polite or {}).get("page", ())


def _address(url: str) -> str:
    return canonicalize_url(url)
