"""Errors that say: no server is there, so no robots.txt will come of waiting for it.

That is a name without an address and a connection that is refused or cannot be made, TLS and
tunnels through proxies included.  A server that keeps silent or breaks off is there.
"""

from __future__ import annotations

from socket import gaierror

from OpenSSL.SSL import Error as TlsError
from scrapy.core.downloader.handlers.http11 import TunnelError
from scrapy.exceptions import CannotResolveHostError, DownloadConnectionRefusedError
from twisted.internet.error import ConnectError, DNSLookupError

_NAMELESS = (CannotResolveHostError, DNSLookupError, gaierror)
_ABSENT = (
    *_NAMELESS,
    DownloadConnectionRefusedError,
    ConnectError,
    ConnectionRefusedError,
    TunnelError,
    TlsError,
)
_CHAIN = 20  # causes of an error that are looked at


def is_nameless(error: BaseException) -> bool:
    """Return whether an error says that a name has no address, so that nobody was asked."""
    return isinstance(error, _NAMELESS)


def is_absent(error: BaseException | None) -> bool:
    """Return whether an error says that no server is there.

    >>> is_absent(ConnectionRefusedError()), is_absent(TimeoutError())
    (True, False)
    """
    for _ in range(_CHAIN):
        if error is None or isinstance(error, _ABSENT):
            break
        reasons = getattr(error, "reasons", None)  # of Twisted's ResponseFailed
        if reasons and isinstance(getattr(reasons[0], "value", None), TlsError):
            return True
        error = error.__cause__
    return error is not None


def bare(error: Exception) -> Exception:
    """Return an error like this one, without what it was raised in: that would be kept with it.

    >>> str(bare(OSError(111, "refused"))), bare(ConnectError(string="no")).args
    ('[Errno 111] refused', ('no',))
    """
    kind = type(error)
    like: Exception = kind.__new__(kind, *error.args)
    like.args = error.args
    like.__dict__.update(vars(error))
    return like
