"""The event log (POLITE_TIMELINE): what its lines mean.  Version 1.

A line is one JSON object in UTF-8.  Its key ``event`` names the kind, the other keys are the fields
of one class below; a field that has its default is left out::

    {"event": "fetch", "at": 2.4, "host": "site.example", "start_at": 2.1, "status": 200, ...}

- Each run begins with a line ``began``.  A resumed crawl (JOBDIR) appends its own to the same file.
- ``at`` and other instants are seconds since ``began_at`` of the run, by a clock that never jumps.
- Lines are in the order in which they were written: a fetch stands where it *ended*.
- A reader skips kinds and fields that it does not know, and a line that it cannot read.  Versions
  only add; what a name means does not change.
- ``host`` is a host key (POLITE_GROUP_BY): whose clock it is.  Long texts are cut (`TEXT_MAX`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

FORMAT = "scrapy-polite events"
VERSION = 1
TEXT_MAX = 2048  # characters of a URL or reason

PAGE, ROBOTS, MEDIA = "page", "robots", "media"  # what a fetch was for
ALLOWED, DISALLOWED = "allowed", "disallowed"  # verdicts of robots.txt
UNREACHABLE, PARKED, LEFT = "unreachable", "parked", "left"  # why else something was not fetched
PURPOSE, UNWANTED = (
    "purpose",
    "unwanted",
)  # a robots.txt, or a header, disallows the crawl's purpose
REASONS = (DISALLOWED, UNREACHABLE, PARKED, LEFT, PURPOSE, UNWANTED)


@dataclass(frozen=True, slots=True)
class Began:
    """``began``: a run began.

    Args:
        began_at: epoch seconds.
        user_agent: what the crawl calls itself; None when it has no name.
        from_address: its From header; None without one.
        factor: POLITE_DELAY_FACTOR.
        ceiling: AUTOTHROTTLE_MAX_DELAY in seconds.
        obeys: whether robots.txt is obeyed at all.
        resumes: whether the run goes on with an earlier one.
    """

    at: float
    began_at: float
    spider: str
    user_agent: str | None = None
    from_address: str | None = None
    factor: float = 10.0
    ceiling: float = 600.0
    obeys: bool = True
    resumes: bool = False
    format: str = ""
    version: int = 0


@dataclass(frozen=True, slots=True)
class Fetched:
    """``fetch``: a fetch ended, ``at`` being its last octet, error or timeout, and its host waits.

    Args:
        start_at: when the request was handed to the network.
        what: "page", "robots" or "media".
        status: the HTTP status; None when there was no answer.
        outcome: "answered", "refused" (a status of POLITE_BACKOFF_STATUSES) or "troubled".
        retry_after: what a refusal asked for in seconds; None without a usable Retry-After.
        verdict: what the robots.txt on hand says of the URL, "allowed" or "disallowed"; None when
            there was none to ask.
        user_agent: the User-Agent that was sent, when it was another than the run's; "" for none.
        from_address: the From that was sent, likewise.
        until_at: until when the host is left alone; None when nothing says so.
        reason: the part of the rule that decided: "duration" (ten times the fetch), "floor",
            "crawl-delay", "trouble" or "backoff".
        capped: whether the ceiling cut the wait that the fetch's duration asked for.
    """

    at: float
    host: str
    url: str
    start_at: float
    what: str = PAGE
    status: int | None = None
    outcome: str = "answered"
    retry_after: float | None = None
    verdict: str | None = None
    user_agent: str | None = None
    from_address: str | None = None
    until_at: float | None = None
    reason: str = ""
    capped: bool = False

    def __post_init__(self) -> None:
        if self.start_at > self.at:
            raise ValueError("a fetch ends before it starts")


@dataclass(frozen=True, slots=True)
class Blocked:
    """``blocked``: a host refused, or somebody asked to leave it alone, until an instant.

    Args:
        status: of the refusal; None when it was none.
    """

    at: float
    host: str
    until_at: float
    reason: str
    status: int | None = None


@dataclass(frozen=True, slots=True)
class Released:
    """``released``: a host that refused answered again."""

    at: float
    host: str


@dataclass(frozen=True, slots=True)
class Parked:
    """``parked``: a host is not asked again in this run; it may be after ``until_at``."""

    at: float
    host: str
    until_at: float
    reason: str


@dataclass(frozen=True, slots=True)
class RobotsRead:
    """``robots``: the last word on the robots.txt of an origin.

    Args:
        access: the last conclusive answer: "successful", "unavailable" or "forbidden"; else
            "unreachable".
        standing: what that means for pages now: "rules", "allowed", "disallowed", "unreachable".
        until_at: when it is asked for again.
        answered_at: when the last conclusive answer came; None before there was one.  Below 0: in
            an earlier run.
        status: of the last attempt; None when there was no answer.
        crawl_delay: the wait that the file asks of us, in seconds, as it is kept; 0 for none.
        asked_delay: the same before POLITE_CRAWL_DELAY_MAX.
        problems: the first things that the owner should put right, a sentence each.
        problem_count: how many there are.
    """

    at: float
    host: str
    origin: str
    access: str
    standing: str
    until_at: float
    answered_at: float | None = None
    status: int | None = None
    crawl_delay: float = 0.0
    asked_delay: float = 0.0
    problems: tuple[str, ...] = ()
    problem_count: int = 0


@dataclass(frozen=True, slots=True)
class Dropped:
    """``dropped``: a request will not be fetched; the reason is one of `REASONS`.

    With the reason "unwanted" it was fetched, and is kept from the spider.
    """

    at: float
    host: str
    url: str
    reason: str


@dataclass(frozen=True, slots=True)
class Remains:
    """``remains``: requests of a host that were still queued when the run ended."""

    at: float
    host: str
    count: int


@dataclass(frozen=True, slots=True)
class Full:
    """``full``: the log has reached its bound; of what follows only the end is written."""

    at: float


@dataclass(frozen=True, slots=True)
class Ended:
    """``ended``: the run ended, for Scrapy's reason."""

    at: float
    reason: str


Event: TypeAlias = (
    Began | Fetched | Blocked | Released | Parked | RobotsRead | Dropped | Remains | Full | Ended
)


def cut(text: str) -> str:
    """Return a text as the log has it, without its end when it is too long."""
    return text if len(text) <= TEXT_MAX else text[: TEXT_MAX - 1] + "…"
