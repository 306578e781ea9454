"""How the fetch of a robots.txt ended, and the record that it makes of the one known before."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from scrapy_polite.policy import robots_cache as cache
from scrapy_polite.policy.retry_after import retry_after
from scrapy_polite.policy.robots_access import Access
from scrapy_polite.policy.robots_cache import Ages, RobotsRecord
from scrapy_polite.robots.lines import RobotsFile

if TYPE_CHECKING:
    from scrapy.http import Response


@dataclass(frozen=True, slots=True)
class Answer:
    """How the fetch of one robots.txt ended.

    Args:
        access: SUCCESSFUL, UNAVAILABLE, UNREACHABLE, FORBIDDEN or NOT_MODIFIED.
        status: the last HTTP status; None when there was no answer.
        error: what went wrong when there was no answer.
        hops: redirects followed.
    """

    access: Access
    status: int | None = None
    response: Response | None = field(default=None, repr=False)
    error: BaseException | None = None
    hops: int = 0

    def header(self, name: str) -> str | None:
        """Return a header of the answer, None without it."""
        raw = self.response.headers.get(name) if self.response is not None else None
        return raw.decode("latin-1") if raw is not None else None

    def headers(self, name: str) -> list[bytes]:
        """Return all values of a header."""
        return self.response.headers.getlist(name) if self.response is not None else []


def record_of(
    answer: Answer,
    origin: str,
    known: RobotsRecord | None,
    *,
    now: float,
    wall: float,
    ages: Ages,
) -> RobotsRecord:
    """Return the record that an answer makes of the one known before.

    Args:
        now: the instant in the clock of records.
        wall: the same instant in epoch seconds, for dates in headers.
    """
    if answer.access is Access.UNREACHABLE:
        asked = retry_after(answer.headers("Retry-After"), date=answer.header("Date"), now=wall)
        return cache.unreachable(known, origin, now=now, status=answer.status, retry_after=asked)
    fresh_for = cache.fresh_for(answer.header("Cache-Control"), ages)
    if answer.access is Access.NOT_MODIFIED and known is not None:
        return cache.confirmed(known, now=now, fresh_for=fresh_for)
    return cache.answered(
        origin,
        answer.access,
        now=now,
        fresh_for=fresh_for,
        status=answer.status or 0,
        body=RobotsFile.read(answer.response.body).octets if answer.response is not None else b"",
        # A validator belongs to the resource that sent it, which after a hop is another one.
        etag=answer.header("ETag") if not answer.hops else None,
        last_modified=answer.header("Last-Modified") if not answer.hops else None,
    )
