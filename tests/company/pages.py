"""Page objects for scrapy-poet; who imports this needs the package."""

from __future__ import annotations

from company.needing import need_package

need_package("scrapy-poet", "scrapy_poet")

import attrs  # noqa: E402
from scrapy_poet.api import DummyResponse  # noqa: E402
from url_matcher import Patterns  # noqa: E402
from web_poet import (  # noqa: E402
    ApplyRule,
    HttpClient,
    HttpRequest,
    HttpResponse,
    PageParams,
    WebPage,
)
from web_poet.exceptions import Retry  # noqa: E402

__all__ = ["RULES", "DummyResponse", "Item", "Page", "Unhappy"]


@attrs.define
class Item:
    """What became of the requests that a page object made: statuses, or names of exceptions."""

    told: list[int | str]


@attrs.define
class Page(WebPage[Item]):
    """Fetches, all at once, a page and a forbidden page of its own host and of another."""

    http: HttpClient
    params: PageParams  # type: ignore[type-arg]

    async def to_item(self) -> Item:
        homes = (self.urljoin("/"), str(self.params["also"]))
        asked = [HttpRequest(home + path) for home in homes for path in ("more", "private/page")]
        answers = await self.http.batch_execute(*asked, return_exceptions=True)
        return Item([getattr(answer, "status", type(answer).__name__) for answer in answers])


@attrs.define
class Unhappy(WebPage[Item]):
    """Wants its page again, whatever it is."""

    response: HttpResponse

    async def to_item(self) -> Item:
        raise Retry


RULES = [ApplyRule(Patterns([]), use=Page, to_return=Item)]
