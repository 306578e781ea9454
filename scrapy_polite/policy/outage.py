"""Telling our own trouble from theirs.

When hosts that had answered before give no answer, one after the other, and nobody answers
between, the fault is ours: the line, the resolver, the proxy.  Then nothing goes out but a probe
at growing intervals, until anyone answers.  Hosts that never answered prove nothing, and those of
one site prove as much as one: nobody stops a crawl with names of his own that fall silent.

As long as that may still happen a failure is in doubt: until somebody answers (it was theirs), an
outage begins (it was ours) or `DOUBT` seconds are over.
"""

from __future__ import annotations

from collections import OrderedDict
from ipaddress import ip_address

ENOUGH = 3  # sites of known hosts in a row without an answer
_SHORT = 3  # letters; a label before the last one that has no more is taken for a public one
DOUBT = 10.0  # seconds; a retry waits no longer for a verdict
PROBE_FIRST = 5.0  # seconds from the beginning to the first probe; then twice as long each time
PROBE_MAX = 60.0  # seconds between two probes
GIVE_UP = 3600.0  # seconds; hosts that are silent for longer may be gone
_KNOWN_MAX = 10_000  # hosts remembered to have answered


class OutageWatch:
    """Watches how fetches end; pure but for what it remembers.

    >>> watch = OutageWatch()
    >>> for host in "abc": _ = watch.answered(host, 0.0)
    >>> [watch.failed(host, 1.0) for host in "aabc"]
    [False, False, False, True]
    >>> watch.probe_at
    6.0
    >>> watch.answered("b", 7.0), watch.is_outage
    (True, False)
    """

    def __init__(self) -> None:
        self._known: OrderedDict[str, None] = OrderedDict()
        self._streak: set[str] = set()
        self._silent: set[str] = set()  # their sites
        self._interval = PROBE_FIRST
        self.is_outage = False
        self.began_at = 0.0
        self.ended_at = 0.0
        self.probe_at = 0.0

    @property
    def streak(self) -> frozenset[str]:
        """Known hosts that got no answer since anyone answered."""
        return frozenset(self._streak)

    @property
    def is_in_doubt(self) -> bool:
        """Whether the failures of late may turn out to be the beginning of an outage."""
        return bool(self._streak) and len(self._known) >= ENOUGH

    def answered(self, host: str, now: float) -> bool:
        """A host answered, whatever it said; True when that ends an outage."""
        self._known[host] = None
        self._known.move_to_end(host)
        if len(self._known) > _KNOWN_MAX:
            self._known.popitem(last=False)
        self._streak.clear()
        self._silent.clear()
        ended, self.is_outage = self.is_outage, False
        if ended:
            self.ended_at = now
        return ended

    def failed(self, host: str, now: float) -> bool:
        """A host gave no answer; True when that begins an outage."""
        if host in self._known:
            self._streak.add(host)
            self._silent.add(site_of(host))
        if self.is_outage or len(self._silent) < ENOUGH:
            return False
        self.is_outage = True
        self.began_at, self._interval = now, PROBE_FIRST
        self.probe_at = now + PROBE_FIRST
        return True

    def probed(self, now: float) -> float:
        """A probe goes out; return when the next one is due.

        >>> watch = OutageWatch()
        >>> [watch.probed(0.0) for _ in range(5)]
        [10.0, 20.0, 40.0, 60.0, 60.0]
        """
        self._interval = min(2.0 * self._interval, PROBE_MAX)
        self.probe_at = now + self._interval
        return self.probe_at

    def is_hopeless(self, now: float) -> bool:
        """Return whether nobody has answered for so long that it is no use to wait."""
        return self.is_outage and now - self.began_at > GIVE_UP


def site_of(host: str) -> str:
    """Return the part of a host's name that somebody registered, as near as can be told.

    >>> [site_of(host) for host in ("a.b.site.test", "www.site.co.uk", "localhost", "127.0.0.1")]
    ['site.test', 'site.co.uk', 'localhost', '127.0.0.1']
    """
    try:
        return str(ip_address(host.partition("%")[0]))
    except ValueError:
        labels = host.split(".")
        many = 3 if len(labels[-1]) == 2 and len(labels[-2:][0]) <= _SHORT else 2
        return ".".join(labels[-many:])
