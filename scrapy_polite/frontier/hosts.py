"""Mercator's heap of ready times: which host may go next, and when the next one may.

It counts demand and keeps instants; it holds no request, reads no clock and waits for nothing.

- A host has demand from pages queued by origin, from requests that wait at the gate, and from
  robots.txt files that somebody asked for.
- A host is in one place at a time: waiting (for an instant), ready (for a capacity), or taken.
- What a ready host wants is decided by `want`, in this order: a redirect hop of a robots fetch, a
  robots.txt, a request at the gate, a page.  A page is wanted only of an open origin.
- Of the hosts that want the same, the one that has been ready longest goes first.
- A host without demand is forgotten as soon as its ready time is past.
- An origin's openness stands until an instant; then it is judged again, ready host or not.

Every operation costs O(log hosts); heap entries that no longer count are skipped when met.

Source: A. Heydon, M. Najork, "Mercator: A scalable, extensible Web crawler" (1999), section 3.2.
"""

from __future__ import annotations

import enum
import math
from collections.abc import Callable, Iterator
from heapq import heapify, heappop, heappush

NEVER = math.inf


class Want(enum.Enum):
    """What a host would use its turn for; each kind has a capacity of its own."""

    HOP = "hop"
    ROBOTS = "robots"
    GATE = "gate"
    PAGE = "page"


class Openness(enum.Enum):
    """Whether pages of an origin may go."""

    OPEN = "open"  # a verdict is known
    NEEDS_ROBOTS = "needs robots"
    HELD = "held"  # robots.txt is unreachable: wait for the next attempt
    FREE = "free"  # goes without a turn: dropped, or nothing that a clock is for


Judge = Callable[[str, float], tuple[Openness, float]]
"""(origin, now) -> openness, and until when that answer stands."""


class _Origin:
    __slots__ = ("openness", "queued", "until_at")

    def __init__(self) -> None:
        self.queued = 0
        self.openness = Openness.OPEN
        self.until_at = -NEVER


class Host:
    """One host's demand and its place among the heaps."""

    __slots__ = ("asked", "gate", "hops", "key", "origins", "ready_at", "stamp", "taken")

    def __init__(self, key: str) -> None:
        self.key = key
        self.ready_at = -NEVER
        self.stamp = 0  # a heap entry counts while it carries this number
        self.taken = False
        self.hops = 0
        self.gate = 0
        self.asked: dict[str, None] | None = None  # origins whose robots.txt somebody waits for
        self.origins: dict[str, _Origin] = {}


_Entry = tuple[float, int, Host, int]


class Frontier:
    """Hosts by readiness; see the rules above.

    Args:
        judge: tells the openness of an origin.
    """

    def __init__(self, judge: Judge) -> None:
        self._judge = judge
        self._hosts: dict[str, Host] = {}
        self._waiting: list[_Entry] = []
        self._ready: dict[Want, list[_Entry]] = {want: [] for want in Want}
        self._free: dict[str, str] = {}  # origin -> host key
        self._seq = 0

    def __len__(self) -> int:
        return len(self._hosts)

    def __contains__(self, key: str) -> bool:
        return key in self._hosts

    # demand

    def push(self, key: str, origin: str, now: float, count: int = 1) -> None:
        """Pages of an origin were queued."""
        host = self._host(key, now)
        entry = host.origins.get(origin)
        if entry is None:
            entry = host.origins[origin] = _Origin()
        entry.queued += count
        if entry.queued == count:
            self._rejudge(host, origin, entry, now)
            self._place(host, now)

    def popped(self, key: str, origin: str, now: float) -> None:
        """A page of an origin left its queue."""
        host = self._hosts[key]
        entry = host.origins[origin]
        entry.queued -= 1
        if not entry.queued:
            del host.origins[origin]
            self._free.pop(origin, None)
            self._place(host, now)

    def wait(self, key: str, now: float, *, hop: bool = False) -> None:
        """A request came to the gate."""
        host = self._host(key, now)
        host.hops += hop
        host.gate += not hop
        self._place(host, now)

    def waited(self, key: str, now: float, *, hop: bool = False) -> None:
        """A request left the gate, with or without its turn."""
        host = self._hosts[key]
        host.hops -= hop
        host.gate -= not hop
        self._place(host, now)

    def ask(self, key: str, origin: str, now: float) -> None:
        """Somebody waits for an origin's robots.txt."""
        host = self._host(key, now)
        if host.asked is None:
            host.asked = {}
        host.asked[origin] = None
        self._place(host, now)

    def judged(self, key: str, origin: str, now: float) -> None:
        """The openness of an origin may have changed."""
        host = self._hosts.get(key)
        if host is None:
            return
        entry = host.origins.get(origin)
        if entry is not None:
            self._rejudge(host, origin, entry, now)
        self._place(host, now)

    # turns

    def take(self, want: Want, now: float) -> str | None:
        """Take the host that has been ready longest for this, None when there is none."""
        self._move_due(now)
        heap = self._ready[want]
        while heap:
            _, _, host, stamp = heappop(heap)
            if stamp != host.stamp:
                continue
            if self.want(host.key, now)[0] is not want:
                self._place(host, now)
                continue
            host.taken = True
            host.stamp += 1
            return host.key
        return None

    def peek(self, want: Want, now: float) -> str | None:
        """Return the host that `take` would take, and leave it where it is."""
        key = self.take(want, now)
        if key is not None:
            self.put_back(key, -NEVER, now)
        return key

    def put_back(self, key: str, ready_at: float, now: float) -> None:
        """End the turn of a taken host; it is ready again at an instant, or later if postponed."""
        host = self._hosts[key]
        host.taken = False
        host.ready_at = max(host.ready_at, ready_at)
        self._place(host, now)

    def postpone(self, key: str, ready_at: float, now: float) -> None:
        """Leave a host alone until an instant, at the least."""
        host = self._host(key, now)
        host.ready_at = max(host.ready_at, ready_at)
        self._place(host, now)

    def want(self, key: str, now: float) -> tuple[Want | None, str]:
        """Return what a host would use a turn for, and the origin of a robots.txt."""
        host = self._hosts[key]
        if host.hops:
            return Want.HOP, ""
        for origin in list(host.asked or ()):
            if self._judge(origin, now)[0] is Openness.NEEDS_ROBOTS:
                return Want.ROBOTS, origin
            self._unask(host, origin)
        self._review(host, now)
        pages = False
        for origin, entry in host.origins.items():
            if entry.openness is Openness.NEEDS_ROBOTS:
                return Want.ROBOTS, origin
            pages = pages or entry.openness is Openness.OPEN
        if host.gate:
            return Want.GATE, ""
        return (Want.PAGE, "") if pages else (None, "")

    def open_origins(self, key: str) -> list[str]:
        """Return the origins of a host whose pages may go."""
        origins = self._hosts[key].origins
        return [name for name, entry in origins.items() if entry.openness is Openness.OPEN]

    def free_origins(self) -> dict[str, str]:
        """Return the origins whose pages go without a turn, with their host keys."""
        return self._free

    def next_at(self, now: float) -> float:
        """Return the earliest instant at which a waiting host is due; NEVER when none waits."""
        self._move_due(now)
        return self._waiting[0][0] if self._waiting else NEVER

    def has_ready(self, want: Want) -> bool:
        """Return whether some host may be ready for this."""
        return bool(self._ready[want])

    def queued(self, key: str) -> int:
        """Return how many pages of a host are queued."""
        host = self._hosts.get(key)
        return sum(entry.queued for entry in host.origins.values()) if host is not None else 0

    def overview(self) -> Iterator[tuple[str, float, bool, int]]:
        """Yield (host key, ready_at, taken, pages queued) of each host with demand."""
        for host in self._hosts.values():
            yield host.key, host.ready_at, host.taken, sum(o.queued for o in host.origins.values())

    # places

    def _host(self, key: str, now: float) -> Host:
        host = self._hosts.get(key)
        if host is None:
            host = self._hosts[key] = Host(key)
            host.ready_at = now
        return host

    def _rejudge(self, host: Host, origin: str, entry: _Origin, now: float) -> None:
        entry.openness, entry.until_at = self._judge(origin, now)
        if entry.openness is Openness.FREE:
            self._free[origin] = host.key
        else:
            self._free.pop(origin, None)

    def _unask(self, host: Host, origin: str) -> None:
        if host.asked is not None:
            host.asked.pop(origin, None)
            host.asked = host.asked or None

    def _review(self, host: Host, now: float) -> float:
        """Judge again what no longer stands; return until when the closed origins are judged."""
        until_at = NEVER
        for origin, entry in host.origins.items():
            if entry.until_at <= now:
                self._rejudge(host, origin, entry, now)
            if entry.openness is not Openness.OPEN:
                until_at = min(until_at, entry.until_at)
        return until_at

    def _place(self, host: Host, now: float) -> None:
        if host.taken:
            return
        host.stamp += 1
        judged_until_at = self._review(host, now)
        if host.ready_at > now:
            self._enter(self._waiting, min(host.ready_at, judged_until_at), host)
            return
        want, _ = self.want(host.key, now)
        if want is not None:
            self._enter(self._ready[want], host.ready_at, host)
        elif host.origins:
            if judged_until_at < NEVER:
                self._enter(self._waiting, judged_until_at, host)
        else:
            del self._hosts[host.key]

    def _enter(self, heap: list[_Entry], at: float, host: Host) -> None:
        self._seq += 1
        heappush(heap, (at, self._seq, host, host.stamp))
        if len(heap) > 64 and len(heap) > 4 * len(self._hosts):
            heap[:] = [entry for entry in heap if entry[3] == entry[2].stamp]
            heapify(heap)

    def _move_due(self, now: float) -> None:
        waiting = self._waiting
        while waiting and (waiting[0][0] <= now or waiting[0][3] != waiting[0][2].stamp):
            _, _, host, stamp = heappop(waiting)
            if stamp == host.stamp:
                self._place(host, now)
