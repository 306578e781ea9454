"""A heap of hosts by an instant, from which a host may leave at any time.

A host is in one heap at most.  Its entry counts while the host points at it; entries that no longer
count are skipped when met, and swept out when there are too many of them.
"""

from __future__ import annotations

from heapq import heapify, heappop, heappush

from scrapy_polite.frontier.demand import NEVER, Entry, Host

_FEW = 64  # entries not worth a sweep


class HostHeap:
    """Hosts by an instant; equal instants go first come, first served."""

    __slots__ = ("_entered", "_entries")

    def __init__(self) -> None:
        self._entries: list[Entry] = []
        self._entered = 0

    def __len__(self) -> int:
        """Return how many entries are kept, with those that no longer count."""
        return len(self._entries)

    def add(self, host: Host, at: float, hosts: int) -> None:
        """Move a host here; *hosts* is how many there are, which bounds what can be of use."""
        self._entered += 1
        host.entry = entry = (at, self._entered, host)
        entries = self._entries
        heappush(entries, entry)
        if len(entries) > max(_FEW, 2 * hosts):
            entries[:] = [entry for entry in entries if entry[2].entry is entry]
            heapify(entries)

    def first(self) -> Host | None:
        """Return the host with the earliest instant, None when there is none."""
        entries = self._entries
        while entries:
            entry = entries[0]
            host = entry[2]
            if host.entry is entry:
                return host
            heappop(entries)
        return None

    def first_at(self) -> float:
        """Return the earliest instant, NEVER when there is none."""
        return self._entries[0][0] if self.first() is not None else NEVER
