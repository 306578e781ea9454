"""Mercator's heap of ready times: which host may go next, and when the next one may.

It counts demand and keeps instants; it holds no request, reads no clock and waits for nothing.

- A host is in one place at a time: waiting (for an instant), ready (for a capacity), or taken.
- What a ready host is ready for is decided in `demand`.
- Of the hosts that want the same, the one that has been ready longest goes first.
- A host without demand is forgotten as soon as its ready time is past.
- An origin's openness stands until an instant.  A waiting host is judged again then, a ready one
  before it is taken.
- A host that is ready at NEVER is parked: its demand is kept and nothing of it goes, not even what
  needs no turn.

Every operation costs O(log hosts + log origins of the host).

Source: A. Heydon, M. Najork, "Mercator: A scalable, extensible Web crawler" (1999), section 3.2.
"""

from __future__ import annotations

from collections.abc import Iterator

from scrapy_polite.frontier.demand import NEVER, Host, Judge, Openness, Want
from scrapy_polite.frontier.heap import HostHeap

__all__ = ["NEVER", "Frontier", "Judge", "Openness", "Want"]


class Frontier:
    """Hosts by readiness; see the rules above.

    Args:
        judge: tells the openness of an origin.
    """

    def __init__(self, judge: Judge) -> None:
        self._judge = judge
        self._hosts: dict[str, Host] = {}
        self._waiting = HostHeap()
        self._ready = {want: HostHeap() for want in Want}
        self._free: dict[str, str] = {}  # origin -> host key

    def __len__(self) -> int:
        return len(self._hosts)

    def __contains__(self, key: str) -> bool:
        return key in self._hosts

    # demand

    def push(self, key: str, origin: str, now: float, count: int = 1) -> None:
        """Pages of an origin were queued."""
        host = self._host(key, now)
        entry = host.origin(origin)
        entry.queued += count
        if entry.queued == count:
            self._place(host, now)

    def popped(self, key: str, origin: str, now: float) -> None:
        """A page of an origin left its queue."""
        host = self._hosts[key]
        host.origins[origin].queued -= 1
        if not host.origins[origin].queued:
            self._settle(host, origin)
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
        """Somebody waits for an origin's robots.txt; it is forgotten once none is needed."""
        host = self._host(key, now)
        host.origin(origin).asked = True
        self._rejudge(host, origin, now)
        self._place(host, now)

    def judged(self, key: str, origin: str, now: float) -> None:
        """The openness of an origin may have changed."""
        host = self._hosts.get(key)
        if host is None:
            return
        if origin in host.origins:
            self._rejudge(host, origin, now)
        self._place(host, now)

    # turns

    def take(self, want: Want, now: float) -> str | None:
        """Take the host that has been ready longest for this, None when there is none."""
        key = self.peek(want, now)
        if key is not None:
            host = self._hosts[key]
            host.taken, host.entry = want, None
        return key

    def peek(self, want: Want, now: float) -> str | None:
        """Return the host that `take` would take, and leave it where it is."""
        self._move_due(now)
        heap = self._ready[want]
        while (host := heap.first()) is not None:
            if self._want(host, now)[0] is want:
                return host.key
            self._place(host, now)
        return None

    def put_back(self, key: str, ready_at: float, now: float) -> None:
        """End the turn of a taken host; it is ready again at an instant, or later if postponed."""
        host = self._hosts.get(key)
        if host is None:  # a turn that was not taken here
            return
        host.for_others = host.taken in (Want.HOP, Want.ROBOTS)
        host.taken = None
        host.ready_at = max(host.ready_at, ready_at)
        self._place(host, now)

    def postpone(self, key: str, ready_at: float, now: float) -> None:
        """Leave a host alone until an instant, at the least; NEVER parks it."""
        host = self._host(key, now)
        host.ready_at = max(host.ready_at, ready_at)
        if ready_at == NEVER:
            for name in list(host.origins):
                self._settle(host, name)
        self._place(host, now)

    def want(self, key: str, now: float) -> tuple[Want | None, str]:
        """Return what a host would use a turn for, and the origin of a robots.txt."""
        return self._want(self._hosts[key], now)

    def closed_until_at(self, key: str) -> float:
        """Return when the first of a host's origins that may not go is judged again, or NEVER."""
        return self._hosts[key].closed_until_at()

    def open_origins(self, key: str) -> list[str]:
        """Return the origins of a host whose pages may go."""
        return list(self._hosts[key].opened)

    def free_origins(self) -> dict[str, str]:
        """Return the origins whose pages go without a turn, with their host keys."""
        return self._free

    def next_at(self, now: float) -> float:
        """Return the earliest instant at which a waiting host is due; NEVER when none waits."""
        self._move_due(now)
        return self._waiting.first_at()

    def has_ready(self, want: Want) -> bool:
        """Return whether some host may be ready for this; `take` judges it once more."""
        return self._ready[want].first() is not None

    def queued(self, key: str) -> int:
        """Return how many pages of a host are queued."""
        host = self._hosts.get(key)
        return sum(origin.queued for origin in host.origins.values()) if host is not None else 0

    def overview(self) -> Iterator[tuple[str, float, bool, int]]:
        """Yield (host key, ready_at, taken, pages queued) of each host with demand."""
        for host in self._hosts.values():
            yield host.key, host.ready_at, host.taken is not None, self.queued(host.key)

    # places

    def _host(self, key: str, now: float) -> Host:
        host = self._hosts.get(key)
        if host is None:
            host = self._hosts[key] = Host(key, now)
        return host

    def _rejudge(self, host: Host, name: str, now: float) -> None:
        host.judged(name, *self._judge(name, now))
        origin = host.origins[name]
        if origin.openness is not Openness.NEEDS_ROBOTS:
            origin.asked = False
        self._settle(host, name)

    def _settle(self, host: Host, name: str) -> None:
        """Forget an origin without demand; keep the list of free ones right."""
        origin = host.origins[name]
        if not origin.queued and not origin.asked:
            host.forget(name)
        if origin.queued and origin.openness is Openness.FREE and host.ready_at < NEVER:
            self._free[name] = host.key
        else:
            self._free.pop(name, None)

    def _want(self, host: Host, now: float) -> tuple[Want | None, str]:
        self._review(host, now)
        return host.want()

    def _review(self, host: Host, now: float) -> None:
        """Judge again what no longer stands.

        That a robots.txt is needed changes as soon as somebody fetches it; the next one counts.
        """
        for name in host.lapsed(now):
            self._rejudge(host, name, now)
        while (name := next(iter(host.needing), "")) and not self._needs(host, name, now):
            pass

    def _needs(self, host: Host, name: str, now: float) -> bool:
        self._rejudge(host, name, now)
        return name in host.needing

    def _place(self, host: Host, now: float) -> None:
        """Put a host where it belongs, unless it is taken."""
        if host.taken is not None:
            return
        host.entry = None
        self._review(host, now)
        want = host.want()[0]
        if host.ready_at > now:
            self._enter_waiting(host, min(host.ready_at, host.closed_until_at()))
        elif want is not None:
            self._ready[want].add(host, host.ready_at, len(self._hosts))
        elif host.origins:
            self._enter_waiting(host, host.closed_until_at())
        else:
            del self._hosts[host.key]

    def _enter_waiting(self, host: Host, until_at: float) -> None:
        if until_at < NEVER and host.ready_at < NEVER:
            self._waiting.add(host, until_at, len(self._hosts))

    def _move_due(self, now: float) -> None:
        while self._waiting.first_at() <= now:
            host = self._waiting.first()
            assert host is not None
            self._place(host, now)
