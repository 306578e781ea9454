"""The frontier, host by host: order, openness, postponement, forgetting, next ready time.

Time is a number, verdicts are a table; nothing here waits.
"""

from __future__ import annotations

import pytest

from scrapy_polite.frontier.demand import Host
from scrapy_polite.frontier.heap import HostHeap
from scrapy_polite.frontier.hosts import NEVER, Frontier, Openness, Want

A, B = "http://a", "http://b"
A_TLS = "https://a"


class Desk:
    """A frontier and the verdicts it asks for: origins are open unless the table says otherwise."""

    def __init__(self) -> None:
        self.verdicts: dict[str, tuple[Openness, float]] = {}
        self.asked: list[str] = []
        self.frontier = Frontier(self.judge)

    def judge(self, origin: str, now: float) -> tuple[Openness, float]:
        self.asked.append(origin)
        openness, until_at = self.verdicts.get(origin, (Openness.OPEN, NEVER))
        return (openness, until_at) if now < until_at else (Openness.NEEDS_ROBOTS, NEVER)

    def say(self, origin: str, openness: Openness, until_at: float = NEVER) -> None:
        self.verdicts[origin] = openness, until_at


@pytest.fixture
def desk() -> Desk:
    return Desk()


@pytest.fixture
def frontier(desk: Desk) -> Frontier:
    return desk.frontier


def turn(frontier: Frontier, now: float, ready_at: float, want: Want = Want.PAGE) -> str | None:
    """Take a host and put it back, ready again at an instant."""
    key = frontier.take(want, now)
    if key is not None:
        frontier.put_back(key, ready_at, now)
    return key


# order


def test_longest_overdue_first(frontier: Frontier) -> None:
    """Hosts go in the order in which they became ready, not in that of their pages."""
    for key, ready_at in (("c", 3.0), ("a", 1.0), ("b", 2.0)):
        frontier.push(key, f"http://{key}", 0.0)
        frontier.postpone(key, ready_at, 0.0)
    assert [frontier.take(Want.PAGE, 10.0) for _ in range(4)] == ["a", "b", "c", None]


def test_new_host_does_not_overtake(frontier: Frontier) -> None:
    """A host is ready from when its first page came, not before those that wait for a place."""
    frontier.push("old", "http://old", 0.0)
    frontier.postpone("old", 1.0, 0.0)
    frontier.push("new", "http://new", 2.0)
    assert [frontier.take(Want.PAGE, 3.0) for _ in range(2)] == ["old", "new"]


def test_ready_time_counts_not_when_it_was_noticed(frontier: Frontier) -> None:
    """Of two hosts, the one that became ready first goes first, though it was looked at later."""
    for key, ready_at in (("late", 2.0), ("early", 1.0)):
        frontier.push(key, f"http://{key}", 0.0)
        frontier.postpone(key, ready_at, 0.0)
    frontier.next_at(3.0)
    frontier.postpone("early", 1.5, 4.0)
    assert frontier.take(Want.PAGE, 5.0) == "early"


def test_equally_overdue_first_come_first_served(frontier: Frontier) -> None:
    """Of hosts that became ready at one instant, each goes once before any goes twice."""
    for key in "abc":
        frontier.push(key, f"http://{key}", 0.0, count=2)
    assert [turn(frontier, 0.0, ready_at=0.0) for _ in range(6)] == list("abcabc")


@pytest.mark.parametrize("without", range(5))
def test_hop_robots_gate_page(desk: Desk, frontier: Frontier, without: int) -> None:
    """A turn is for a redirect hop, else a robots.txt, else the gate, else a page, else nothing."""
    wants = list(Want)[without:]
    desk.say(A_TLS, Openness.NEEDS_ROBOTS)
    demand = {
        Want.HOP: lambda: frontier.wait("a", 0.0, hop=True),
        Want.ROBOTS: lambda: frontier.push("a", A_TLS, 0.0),
        Want.GATE: lambda: frontier.wait("a", 0.0),
        Want.PAGE: lambda: frontier.push("a", A, 0.0),
    }
    frontier.postpone("a", 1.0, 0.0)
    for want in wants:
        demand[want]()
    assert frontier.want("a", 0.0)[0] is (wants[0] if wants else None)
    assert [want for want in Want if frontier.take(want, 1.0)] == wants[:1]


def test_robots_turn_names_the_origin(desk: Desk, frontier: Frontier) -> None:
    """Each origin of a host needs its own file."""
    desk.say(A_TLS, Openness.NEEDS_ROBOTS)
    frontier.push("a", A, 0.0)
    frontier.push("a", A_TLS, 0.0)
    assert frontier.want("a", 0.0) == (Want.ROBOTS, A_TLS)


def test_kinds_do_not_wait_for_one_another(desk: Desk, frontier: Frontier) -> None:
    """Hosts that need robots.txt do not stand in the way of hosts with pages to fetch."""
    desk.say(A, Openness.NEEDS_ROBOTS)
    frontier.push("a", A, 0.0)
    frontier.push("b", B, 1.0)
    assert frontier.take(Want.PAGE, 2.0) == "b"
    assert frontier.take(Want.ROBOTS, 2.0) == "a"


# openness


def test_held_pages_wait(desk: Desk, frontier: Frontier) -> None:
    """A held origin wants nothing until its time, and then its robots.txt."""
    desk.say(A, Openness.HELD, 5.0)
    frontier.push("a", A, 0.0)
    assert [frontier.take(want, 4.9) for want in Want] == [None] * 4
    assert frontier.next_at(4.9) == 5.0
    assert frontier.take(Want.ROBOTS, 5.0) == "a"


def test_held_origin_does_not_hold_its_neighbour(desk: Desk, frontier: Frontier) -> None:
    """Pages of an open origin go while another origin of the host is held."""
    desk.say(A_TLS, Openness.HELD, 5.0)
    frontier.push("a", A_TLS, 0.0)
    frontier.push("a", A, 0.0)
    assert frontier.take(Want.PAGE, 0.0) == "a"
    assert frontier.open_origins("a") == [A]


def test_free_pages_need_no_turn(desk: Desk, frontier: Frontier) -> None:
    """Free origins are listed while they have pages, and no turn is spent on them."""
    desk.say(A, Openness.FREE)
    frontier.push("a", A, 0.0, count=2)
    assert (frontier.free_origins(), frontier.take(Want.PAGE, 0.0)) == ({A: "a"}, None)
    frontier.popped("a", A, 0.0)
    assert frontier.free_origins() == {A: "a"}
    frontier.popped("a", A, 0.0)
    assert (frontier.free_origins(), len(frontier)) == ({}, 0)


def test_held_origin_becomes_free_before_its_host_is_ready(desk: Desk, frontier: Frontier) -> None:
    """What goes without a turn does not wait for one."""
    desk.say(A, Openness.HELD, 5.0)
    frontier.postpone("a", 100.0, 0.0)
    frontier.push("a", A, 0.0)
    assert frontier.next_at(0.0) == 5.0
    desk.say(A, Openness.FREE, 50.0)
    assert frontier.next_at(5.0) == 50.0
    assert frontier.free_origins() == {A: "a"}


def test_verdict_opens_a_host(desk: Desk, frontier: Frontier) -> None:
    """A host is ready for a page as soon as its origin is judged."""
    desk.say(A, Openness.HELD)
    frontier.push("a", A, 0.0)
    assert (frontier.take(Want.PAGE, 1.0), frontier.next_at(1.0)) == (None, NEVER)
    desk.say(A, Openness.OPEN)
    frontier.judged("a", A, 2.0)
    assert frontier.take(Want.PAGE, 2.0) == "a"


def test_verdict_of_a_forgotten_host_is_ignored(frontier: Frontier) -> None:
    """A verdict may come when nobody wants it any more."""
    frontier.judged("a", A, 0.0)
    assert len(frontier) == 0


def test_robots_is_not_wanted_twice(desk: Desk, frontier: Frontier) -> None:
    """A host whose turn ends before its verdict is there asks for no second robots.txt."""
    desk.say(A, Openness.NEEDS_ROBOTS)
    frontier.push("a", A, 0.0)
    assert frontier.take(Want.ROBOTS, 0.0) == "a"
    desk.say(A, Openness.HELD)  # somebody fetches it
    frontier.put_back("a", 1.0, 1.0)
    assert frontier.take(Want.ROBOTS, 1.0) is None


def test_verdict_expires(desk: Desk, frontier: Frontier) -> None:
    """RFC 9309 section 2.4: a page does not go on a robots.txt that is no longer fresh."""
    desk.say(A, Openness.OPEN, 5.0)
    frontier.push("a", A, 0.0)
    assert frontier.peek(Want.PAGE, 4.9) == "a"
    assert frontier.take(Want.PAGE, 5.0) is None
    assert frontier.take(Want.ROBOTS, 5.0) == "a"


def test_verdict_that_stands_is_not_asked_again(desk: Desk, frontier: Frontier) -> None:
    """Judging costs nothing while the last answer stands."""
    frontier.push("a", A, 0.0, count=9)
    for now in range(9):
        turn(frontier, float(now), ready_at=now + 1.0)
    assert desk.asked == [A]


def test_asked_robots_is_demand_until_it_is_known(desk: Desk, frontier: Frontier) -> None:
    """Who waits for a verdict outside the queues gets the host's turn spent on robots.txt, once."""
    desk.say(A, Openness.NEEDS_ROBOTS)
    frontier.ask("a", A, 0.0)
    assert frontier.take(Want.ROBOTS, 0.0) == "a"
    desk.say(A, Openness.OPEN)
    frontier.put_back("a", 1.0, 0.0)
    assert (len(frontier), frontier.next_at(1.0), len(frontier)) == (1, NEVER, 0)


def test_asked_robots_that_is_known_is_no_demand(frontier: Frontier) -> None:
    """Nothing is left of a question that had its answer already."""
    frontier.ask("a", A, 0.0)
    assert len(frontier) == 0


def test_asked_origin_keeps_its_pages(desk: Desk, frontier: Frontier) -> None:
    """An origin with pages stays when the question for its robots.txt is answered."""
    desk.say(A, Openness.NEEDS_ROBOTS)
    frontier.push("a", A, 0.0)
    frontier.ask("a", A, 0.0)
    desk.say(A, Openness.OPEN)
    frontier.judged("a", A, 0.0)
    assert frontier.take(Want.PAGE, 0.0) == "a"


def test_question_outlives_the_pages(desk: Desk, frontier: Frontier) -> None:
    """The last page of an origin may leave while somebody still waits for its verdict."""
    desk.say(A, Openness.NEEDS_ROBOTS)
    frontier.ask("a", A, 0.0)
    frontier.push("a", A, 0.0)
    frontier.popped("a", A, 0.0)
    assert frontier.take(Want.ROBOTS, 0.0) == "a"


# turns and instants


def test_taken_host_is_not_taken_again(frontier: Frontier) -> None:
    """One turn of a host at a time, whatever is asked of it meanwhile."""
    frontier.push("a", A, 0.0, count=5)
    assert frontier.take(Want.PAGE, 0.0) == "a"
    frontier.wait("a", 1.0)
    frontier.push("a", A_TLS, 1.0)
    frontier.postpone("a", 2.0, 1.0)
    frontier.judged("a", A, 3.0)
    assert [frontier.take(want, 3.0) for want in Want] == [None] * 4
    assert frontier.next_at(3.0) == NEVER


@pytest.mark.parametrize(("put_back", "postponed"), [(4.0, 9.0), (9.0, 4.0)])
def test_postponed_while_taken(frontier: Frontier, put_back: float, postponed: float) -> None:
    """The later of the rule's wait and the postponement counts, whichever came first."""
    frontier.push("a", A, 0.0)
    frontier.take(Want.PAGE, 0.0)
    frontier.postpone("a", postponed, 1.0)
    frontier.put_back("a", put_back, 2.0)
    assert (frontier.take(Want.PAGE, 8.9), frontier.take(Want.PAGE, 9.0)) == (None, "a")


def test_postponing_never_shortens(frontier: Frontier) -> None:
    """A host's ready time only moves back."""
    frontier.push("a", A, 0.0)
    frontier.postpone("a", 9.0, 0.0)
    frontier.postpone("a", 4.0, 0.0)
    assert frontier.next_at(0.0) == 9.0


def test_ready_host_can_be_postponed(frontier: Frontier) -> None:
    """A block reaches a host that stands ready for a place."""
    frontier.push("a", A, 0.0)
    assert frontier.peek(Want.PAGE, 1.0) == "a"
    frontier.postpone("a", 9.0, 1.0)
    assert (frontier.take(Want.PAGE, 1.0), frontier.has_ready(Want.PAGE)) == (None, False)


def test_unknown_host_can_be_postponed(frontier: Frontier) -> None:
    """A block stands for a host of which nothing is queued yet."""
    frontier.postpone("a", 9.0, 0.0)
    frontier.push("a", A, 1.0)
    assert (frontier.take(Want.PAGE, 8.9), frontier.take(Want.PAGE, 9.0)) == (None, "a")


def test_parked_host_stays_with_its_pages(desk: Desk, frontier: Frontier) -> None:
    """A host that is ready at NEVER keeps its pages, and none of them goes, free or not."""
    desk.say(A_TLS, Openness.FREE)
    frontier.push("a", A, 0.0)
    frontier.push("a", A_TLS, 0.0)
    frontier.postpone("a", NEVER, 0.0)
    frontier.judged("a", A_TLS, 1.0)
    assert (frontier.free_origins(), frontier.queued("a")) == ({}, 2)
    assert [frontier.take(want, 1e9) for want in Want] == [None] * 4
    assert frontier.next_at(1e9) == NEVER


def test_next_at_is_the_earliest(desk: Desk, frontier: Frontier) -> None:
    """The next instant is the earliest of ready times and ends of verdicts, of hosts that wait."""
    assert frontier.next_at(0.0) == NEVER
    desk.say(B, Openness.HELD, 6.0)
    for key, ready_at in (("a", 7.0), ("b", 0.0), ("c", 8.0), ("d", 0.0)):
        frontier.push(key, f"http://{key}", 0.0)
        frontier.postpone(key, ready_at, 0.0)
    assert [frontier.next_at(now) for now in (0.0, 6.0, 7.0, 8.0)] == [6.0, 7.0, 8.0, NEVER]


def test_peek_changes_nothing(frontier: Frontier) -> None:
    """What was peeked is what is taken, also among hosts that are equally overdue."""
    for key in "ab":
        frontier.push(key, f"http://{key}", 0.0)
    assert [frontier.peek(Want.PAGE, 0.0) for _ in range(3)] == ["a"] * 3
    assert [frontier.take(Want.PAGE, 0.0) for _ in range(3)] == ["a", "b", None]
    assert frontier.peek(Want.PAGE, 0.0) is None


# what is kept


def test_nothing_is_left_behind(frontier: Frontier) -> None:
    """A host whose last page left is known until its ready time is past, and not longer."""
    frontier.push("a", A, 0.0)
    frontier.take(Want.PAGE, 0.0)
    frontier.popped("a", A, 0.0)
    assert "a" in frontier
    frontier.put_back("a", 5.0, 0.5)
    frontier.next_at(4.9)
    assert len(frontier) == 1
    frontier.next_at(5.0)
    assert len(frontier) == 0
    assert "a" not in frontier


def test_new_pages_do_not_shorten_the_wait(frontier: Frontier) -> None:
    """A host that comes back before its ready time is past is not asked early."""
    frontier.push("a", A, 0.0)
    frontier.take(Want.PAGE, 0.0)
    frontier.popped("a", A, 0.0)
    frontier.put_back("a", 5.0, 0.5)
    frontier.push("a", A, 1.0)
    assert (frontier.take(Want.PAGE, 4.9), frontier.take(Want.PAGE, 5.0)) == (None, "a")


def test_gate_makes_a_host_ready(desk: Desk, frontier: Frontier) -> None:
    """A request at the gate does not wait for the verdict that the host's pages wait for."""
    desk.say(A, Openness.HELD)
    frontier.push("a", A, 0.0)
    frontier.wait("a", 1.0)
    assert frontier.take(Want.GATE, 1.0) == "a"


def test_gate_demand_ends(frontier: Frontier) -> None:
    """A request that leaves the gate without its turn leaves nothing behind."""
    for hop in (False, True):
        frontier.wait("a", 0.0, hop=hop)
        frontier.waited("a", 1.0, hop=hop)
    assert len(frontier) == 0


def test_counts(frontier: Frontier) -> None:
    """Pages are counted by host, hosts by demand."""
    frontier.push("a", A, 0.0, count=3)
    frontier.push("a", A_TLS, 0.0)
    frontier.push("b", B, 0.0)
    frontier.popped("a", A, 0.0)
    assert (len(frontier), frontier.queued("a"), frontier.queued("?")) == (2, 3, 0)
    assert list(frontier.overview()) == [("a", 0.0, False, 3), ("b", 0.0, False, 1)]


def test_heap_keeps_few_entries_that_do_not_count() -> None:
    """Hosts that move ten thousand times do not fill the memory, and are found where they are."""
    heap, hosts = HostHeap(), [Host(str(number), 0.0) for number in range(100)]
    for step in range(10_000):
        heap.add(hosts[step % 100], float(step), hosts=100)
    assert (len(heap) <= 200, heap.first(), heap.first_at()) == (True, hosts[0], 9900.0)


def test_heap_skips_who_left() -> None:
    """A host that left is not found; the next one is."""
    heap, gone, left = HostHeap(), Host("gone", 0.0), Host("left", 0.0)
    assert (heap.first(), heap.first_at()) == (None, NEVER)
    heap.add(gone, 1.0, hosts=2)
    heap.add(left, 2.0, hosts=2)
    gone.entry = None
    assert (heap.first(), heap.first_at()) == (left, 2.0)
