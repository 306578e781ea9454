"""The spider of the harness: it fetches what it is told and notes what became of each request."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any, TypeAlias

from scrapy import Request, Spider
from scrapy.http import Response
from scrapy.spidermiddlewares.httperror import HttpError
from twisted.python.failure import Failure

Asking: TypeAlias = str | Mapping[str, Any]
"""A URL, or the arguments of a `Request` as a dict."""

Outcome: TypeAlias = dict[str, list[int | str]]
"""Per URL asked for: the status of each response, or the name of the exception instead of one."""


def spider_class(
    asked: Sequence[Asking], outcome: Outcome, attributes: Mapping[str, Any]
) -> type[Spider]:
    """Return a spider class that makes these requests and writes into `outcome`.

    Args:
        asked: The requests, queued in this order.
        outcome: Filled while the crawl runs; URLs are those asked for, also after redirects.
        attributes: Class attributes, `custom_settings` for instance.
    """

    class HarnessSpider(Spider):
        name = "harness"

        async def start(self) -> AsyncIterator[Any]:
            for asking in asked:
                arguments = {"url": asking} if isinstance(asking, str) else dict(asking)
                yield Request(
                    **arguments,
                    callback=self.parse,
                    errback=self.failed,
                    cb_kwargs={"asked_url": arguments["url"]},
                )

        def parse(self, response: Response, asked_url: str) -> None:
            outcome.setdefault(asked_url, []).append(response.status)

        def failed(self, failure: Failure) -> None:
            error = failure.value
            result = error.response.status if isinstance(error, HttpError) else type(error).__name__
            asked_url = failure.request.cb_kwargs["asked_url"]  # type: ignore[attr-defined]
            outcome.setdefault(asked_url, []).append(result)

    for name, value in attributes.items():
        setattr(HarnessSpider, name, value)
    return HarnessSpider
