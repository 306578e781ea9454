"""Why a fetch came to nothing, in words for the person who asked for it."""

from __future__ import annotations

from scrapy.exceptions import (
    CannotResolveHostError,
    DownloadConnectionRefusedError,
    DownloadFailedError,
    DownloadTimeoutError,
    ResponseDataLossError,
)
from twisted.internet import error as network

from scrapy_polite.exceptions import CrawlStopping, HostParked
from scrapy_polite.robots.lines import printable

PATIENCE = 2.0  # a turn has to come within so many times POLITE_ROBOTS_TIMEOUT
_DETAIL_MAX = 200  # characters


class NoTurn(Exception):
    """The turn of the host did not come in time."""


_WORDS: tuple[tuple[tuple[type[BaseException], ...], str], ...] = (
    ((CannotResolveHostError, network.DNSLookupError), "its name does not resolve"),
    (
        (DownloadConnectionRefusedError, network.ConnectionRefusedError, ConnectionRefusedError),
        "it refuses connections",
    ),
    (
        (DownloadTimeoutError, network.TimeoutError, TimeoutError),
        "it did not answer within {timeout:g} s",
    ),
    ((ResponseDataLossError,), "its answer broke off"),
    (
        (NoTurn,),
        "its turn did not come within {wait:g} s: POLITE_STATE or a setting has it left alone for "
        "longer, or the state cannot be reached",
    ),
    ((HostParked,), "crawls that share POLITE_STATE were asked to leave it alone"),
    ((CrawlStopping,), "the visit was stopped"),
)


def what_went_wrong(error: BaseException, timeout: float) -> str:
    """Return what went wrong with a host's fetch, as a clause.

    Args:
        timeout: POLITE_ROBOTS_TIMEOUT in seconds.

    >>> what_went_wrong(DownloadTimeoutError(), 30.0)
    'it did not answer within 30 s'
    """
    for kinds, words in _WORDS:
        if isinstance(error, kinds):
            return words.format(timeout=timeout, wait=PATIENCE * timeout)
    reason = _reason(error)
    detail = printable(" ".join(str(reason).split())[:_DETAIL_MAX])
    if isinstance(reason, (network.ConnectionDone, network.ConnectionLost)):
        return "it broke the connection off"
    if isinstance(error, (DownloadFailedError, network.ConnectError)):
        return f"the connection failed ({detail})"
    return f"the fetch failed ({type(error).__name__}: {detail})"


def _reason(error: BaseException) -> BaseException:
    """Return the first of the errors that Twisted gathers in one."""
    reasons = getattr(error.__cause__ or error, "reasons", None)
    return reasons[0].value if reasons else error
