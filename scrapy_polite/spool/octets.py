"""A request as octets and back."""

from __future__ import annotations

import pickle
from typing import TYPE_CHECKING

from scrapy.utils.request import request_from_dict

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.crawler import Crawler


def dump(request: Request, crawler: Crawler) -> bytes:
    """Return a request as octets.

    Raises:
        ValueError: it cannot be serialised.
    """
    try:
        return pickle.dumps(request.to_dict(spider=crawler.spider), protocol=4)
    # What pickle raises depends on what it meets; Scrapy's own queues do the same.
    except (pickle.PicklingError, AttributeError, TypeError, RecursionError) as error:
        raise ValueError(str(error)) from error


def load(octets: bytes, crawler: Crawler) -> Request:
    """Return the request that octets were made of.

    Raises:
        ValueError: they are of none, or the spider does not have its callback any more.
    """
    try:
        return request_from_dict(pickle.loads(octets), spider=crawler.spider)
    except Exception as error:  # pickle raises whatever it meets
        raise ValueError(f"{type(error).__name__}: {error}") from error
