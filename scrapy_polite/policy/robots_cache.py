"""How long an answer to /robots.txt stands, and what stands while there is none.

A conclusive answer (2xx, 3xx that leads nowhere, 4xx) is fresh for 24 hours at most; its max-age is
heard between one hour and 24 hours.  While a file is unreachable its last good copy serves until it
is 30 days old, without one everything is disallowed; errors are asked again after 60 s, doubling to
one hour, or when Retry-After says, within 30 days.  A file unreachable for more than 30 days is
unavailable.

Source: RFC 9309 sections 2.3.1.4 and 2.4.
"""

from __future__ import annotations

import enum
import re
from dataclasses import dataclass, field, replace

from scrapy_polite.policy.robots_access import Access

RETRY_FIRST = 60.0  # seconds
RETRY_MAX = 3600.0  # seconds
VALIDATOR_MAX = 512  # characters; a longer ETag or Last-Modified is not kept
_READ = 4000  # characters of a Cache-Control
_SECONDS = re.compile(r"[0-9]+")
_SENDABLE = re.compile(r"[!-~\x80-\xff](?:[ -~\x80-\xff]*[!-~\x80-\xff])?")


class Standing(enum.Enum):
    """What the record of an origin says right now."""

    RULES = "rules"  # the body decides
    ALLOWED = "allowed"  # unavailable: everything is allowed
    DISALLOWED = "disallowed"  # complete disallow, conclusive
    UNREACHABLE = "unreachable"  # complete disallow until the file can be read
    UNKNOWN = "unknown"  # never asked


@dataclass(frozen=True, slots=True)
class Ages:
    """Bounds of freshness in seconds."""

    max_age: float = 86400.0
    min_age: float = 3600.0
    stale_age: float = 2592000.0


@dataclass(frozen=True, slots=True)
class RobotsRecord:
    """The last word of one origin on its robots.txt; instants are in the store's clock.

    Args:
        access: SUCCESSFUL, UNAVAILABLE or FORBIDDEN: the last conclusive answer; UNREACHABLE before
            there was one.
        body: the octets of the last good copy.
        answered_at: when the last conclusive answer came.
        fresh_until_at: until when nobody is asked again.
        unreachable_since_at: when the file became unreachable; None while it can be reached.
        failures: failed attempts in a row.
        status: the last HTTP status; None when there was no answer.
    """

    origin: str
    access: Access = Access.UNREACHABLE
    body: bytes = field(default=b"", repr=False)
    answered_at: float | None = None
    fresh_until_at: float = 0.0
    etag: str | None = None
    last_modified: str | None = None
    unreachable_since_at: float | None = None
    failures: int = 0
    status: int | None = None


def answered(
    origin: str,
    access: Access,
    *,
    now: float,
    fresh_for: float,
    status: int,
    body: bytes = b"",
    etag: str | None = None,
    last_modified: str | None = None,
) -> RobotsRecord:
    """Return the record of a conclusive answer; *fresh_for* is in seconds."""
    good = access is Access.SUCCESSFUL
    return RobotsRecord(
        origin,
        access,
        body if good else b"",
        answered_at=now,
        fresh_until_at=now + fresh_for,
        etag=_validator(etag) if good else None,
        last_modified=_validator(last_modified) if good else None,
        status=status,
    )


def _validator(value: str | None) -> str | None:
    """Return a validator that can be sent back, None for one that is none: it is kept and sent.

    Source: RFC 9110 sections 5.5 (what a field may hold), 8.8.2 and 8.8.3.
    """
    fits = value is not None and len(value) <= VALIDATOR_MAX and _SENDABLE.fullmatch(value)
    return value if fits else None


def confirmed(record: RobotsRecord, *, now: float, fresh_for: float) -> RobotsRecord:
    """Return the record after a 304: the copy we have is good again."""
    return replace(
        record,
        answered_at=now,
        fresh_until_at=now + fresh_for,
        unreachable_since_at=None,
        failures=0,
        status=304,
    )


def unreachable(
    record: RobotsRecord | None,
    origin: str,
    *,
    now: float,
    status: int | None,
    retry_after: float | None = None,
) -> RobotsRecord:
    """Return the record after a failed attempt.

    Args:
        status: the HTTP status; None when there was no answer.
        retry_after: when to ask again as the answer says, in seconds; None: the doubling says it.

    >>> r = unreachable(None, "http://h", now=0.0, status=503)
    >>> r = unreachable(r, "http://h", now=60.0, status=503)
    >>> (r.failures, r.fresh_until_at, r.unreachable_since_at)
    (2, 180.0, 0.0)
    """
    record = record or RobotsRecord(origin)
    wait = min(RETRY_FIRST * 2.0 ** min(record.failures, 16), RETRY_MAX)
    if retry_after is not None:
        wait = retry_after
    since = record.unreachable_since_at
    return replace(
        record,
        fresh_until_at=now + wait,
        unreachable_since_at=now if since is None else since,
        failures=record.failures + 1,
        status=status,
    )


def bounded(record: RobotsRecord, now: float, ages: Ages) -> RobotsRecord:
    """Return the record with its instants where they can be.

    Nobody's word keeps us from asking for longer than what stands meanwhile may stand: 30 days for
    a file that cannot be reached, a day for one that was read.  Nothing is answered in the future.

    >>> bounded(RobotsRecord("http://h", fresh_until_at=1e10), 0.0, Ages()).fresh_until_at
    86400.0
    """
    answered_at, since = record.answered_at, record.unreachable_since_at
    longest = ages.max_age if since is None else ages.stale_age
    if record.fresh_until_at <= now + longest and max(answered_at or now, since or now) <= now:
        return record
    return replace(
        record,
        fresh_until_at=min(record.fresh_until_at, now + longest),
        answered_at=None if answered_at is None else min(answered_at, now),
        unreachable_since_at=None if since is None else min(since, now),
    )


def standing(record: RobotsRecord | None, now: float, ages: Ages) -> Standing:
    """Return what stands for an origin at an instant, whether or not it is fresh.

    Source: RFC 9309 section 2.3.1.4: complete disallow; after 30 days unavailable or a cached copy.
    """
    if record is None:
        return Standing.UNKNOWN
    if record.unreachable_since_at is None:
        return _CONCLUSIVE[record.access]
    binds = record.access in (Access.SUCCESSFUL, Access.FORBIDDEN)
    if binds and record.answered_at is not None and now - record.answered_at <= ages.stale_age:
        return _CONCLUSIVE[record.access]
    if now - record.unreachable_since_at > ages.stale_age:
        return Standing.ALLOWED
    return Standing.UNREACHABLE


def is_due(record: RobotsRecord | None, now: float) -> bool:
    """Return whether robots.txt is to be asked for (again) before the next page."""
    return record is None or now >= record.fresh_until_at


def fresh_for(cache_control: str | None, ages: Ages) -> float:
    """Return for how many seconds an answer is fresh, its max-age heard within bounds.

    Of several max-age the first counts; one that is no number means: stale at once.

    Source: RFC 9309 section 2.4; RFC 9111 sections 4.2.1 and 5.2.2.

    >>> fresh_for("public, max-age=7200", Ages()), fresh_for("max-age=1", Ages())
    (7200.0, 3600.0)
    >>> fresh_for(None, Ages()), fresh_for("no-store", Ages())
    (86400.0, 3600.0)
    """
    said = _directives((cache_control or "")[:_READ])
    asked = ages.max_age
    if "no-cache" in said or "no-store" in said:
        asked = 0.0
    elif "max-age" in said:
        seconds = said["max-age"].strip("\"' \t")
        asked = float(seconds) if _SECONDS.fullmatch(seconds) else 0.0
    return min(max(asked, ages.min_age), ages.max_age)


def _directives(cache_control: str) -> dict[str, str]:
    """Return the directives and their values, the first of a kind each."""
    said: dict[str, str] = {}
    for item in re.split(r"[,;]", cache_control.lower()):
        name, _, value = item.partition("=")
        said.setdefault(name.strip(), value)
    return said


_CONCLUSIVE = {
    Access.SUCCESSFUL: Standing.RULES,
    Access.UNAVAILABLE: Standing.ALLOWED,
    Access.FORBIDDEN: Standing.DISALLOWED,
    Access.UNREACHABLE: Standing.UNREACHABLE,
}
