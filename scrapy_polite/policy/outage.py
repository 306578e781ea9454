"""Telling our own trouble from theirs.

When hosts that had answered before give no answer, one after the other, and nobody answers
between, the fault is ours: the line, the resolver, the proxy.  Then nothing goes out but a probe
at growing intervals, until anyone answers.  Hosts that never answered prove nothing.
"""

from __future__ import annotations

from collections import OrderedDict

ENOUGH = 3  # known hosts in a row without an answer
PROBE_FIRST = 5.0  # seconds
PROBE_MAX = 60.0  # seconds
_KNOWN_MAX = 10_000  # hosts remembered to have answered


class OutageWatch:
    """Watches how fetches end; pure but for what it remembers.

    >>> watch = OutageWatch()
    >>> for host in "abc": _ = watch.answered(host)
    >>> [watch.failed(host, 0.0) for host in "aabc"]
    [False, False, False, True]
    >>> watch.probe_at
    5.0
    >>> watch.answered("b"), watch.is_outage
    (True, False)
    """

    def __init__(self) -> None:
        self._known: OrderedDict[str, None] = OrderedDict()
        self._streak: set[str] = set()
        self._probes = 0
        self.is_outage = False
        self.probe_at = 0.0

    @property
    def streak(self) -> frozenset[str]:
        """Hosts that got no answer since anyone answered."""
        return frozenset(self._streak)

    def answered(self, host: str) -> bool:
        """A host answered, whatever it said; True when that ends an outage."""
        self._known[host] = None
        self._known.move_to_end(host)
        if len(self._known) > _KNOWN_MAX:
            self._known.popitem(last=False)
        ended, self.is_outage = self.is_outage, False
        self._streak.clear()
        self._probes = 0
        return ended

    def failed(self, host: str, now: float) -> bool:
        """A host gave no answer; True when that begins an outage."""
        if self.is_outage:
            self._probes += 1
            self.probe_at = now + min(PROBE_FIRST * 2.0**self._probes, PROBE_MAX)
            return False
        if host in self._known:
            self._streak.add(host)
        if len(self._streak) < ENOUGH:
            return False
        self.is_outage = True
        self.probe_at = now + PROBE_FIRST
        return True
