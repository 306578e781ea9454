"""A log that breaks a promise fails that promise, and no polite log fails any."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.record import Arrival
from harness.record import most_at_once as most_at_once_of_server
from report.logs import BEGAN_AT, HOST, began, broken, fetch, report_of, robots, whole, write
from scrapy_polite.report.load import from_log
from scrapy_polite.report.schema import DISALLOWED, Event, Parked
from scrapy_polite.report.spans import gaps, most_at_once, share

OTHER = "other.example"
ONE_AT_A_TIME = {"one-at-a-time", "ten-times", "share"}  # what is broken by fetches in parallel

IMPOLITE: dict[str, tuple[Sequence[Event], set[str]]] = {
    "two at once": ([fetch(0, 2), fetch(1, 3)], ONE_AT_A_TIME),
    "two at the same instant": ([fetch(0, 2), fetch(0, 2)], {"one-at-a-time", "ten-times"}),
    "a short one within a long one": (
        [fetch(0, 9), fetch(1, 1.1), fetch(200, 201)],
        {"one-at-a-time", "ten-times"},
    ),
    "at once with its robots.txt": (
        [fetch(0, 2, what="robots", verdict=None), fetch(1, 3)],
        ONE_AT_A_TIME,
    ),
    "nine times": ([fetch(0, 1), fetch(10, 11)], {"ten-times", "share"}),
    "nine times, once": ([fetch(0, 1), fetch(10, 10.1), fetch(90, 91)], {"ten-times"}),
    "nothing after a failure": (
        [fetch(0, 1, status=None, outcome="troubled"), fetch(1.5, 2)],
        {"ten-times", "share"},
    ),
    "Crawl-delay cut short": (
        [robots(0, 30.0), fetch(0.1, 0.2), fetch(20, 20.1)],
        {"crawl-delay"},
    ),
    "Crawl-delay of its other origin": (
        [
            robots(0, 30.0),
            robots(0, 5.0, origin=f"http://{HOST}"),
            fetch(0.1, 0.2),
            fetch(20, 20.1),
        ],
        {"crawl-delay"},
    ),
    "Crawl-delay heard on the way": (
        [fetch(0, 0.1), robots(1, 30.0), fetch(20, 20.1)],
        {"crawl-delay"},
    ),
    "Retry-After cut short": (
        [fetch(0, 0.1, outcome="refused", status=429, retry_after=60.0), fetch(30, 30.1)],
        {"retry-after"},
    ),
    "Retry-After cut short by the second to come": (
        [
            fetch(0, 0.1, outcome="refused", status=429, retry_after=60.0),
            fetch(30, 30.1),
            fetch(99, 99.1),
        ],
        {"retry-after"},
    ),
    "disallowed page": ([fetch(0, 1, verdict=DISALLOWED)], {"disallowed"}),
    "no name": ([fetch(0, 1, user_agent="")], {"identity"}),
    "no contact": ([fetch(0, 1, user_agent="LogBot/1.0")], {"identity"}),
    "a browser's name": (
        [fetch(0, 1, user_agent="Mozilla/5.0 (X11; Linux x86_64) Firefox/140.0")],
        {"identity"},
    ),
    "everything at once": (
        [
            robots(0, 30.0),
            fetch(0, 2, outcome="refused", status=503, retry_after=60.0),
            fetch(1, 3, verdict=DISALLOWED, user_agent=""),
            fetch(4, 5),
        ],
        {*ONE_AT_A_TIME, "crawl-delay", "retry-after", "disallowed", "identity"},
    ),
}

POLITE: dict[str, Sequence[Event]] = {
    "ten times to the point": [fetch(0, 1), fetch(11, 12), fetch(22, 23)],
    "ten times, but for a rounding": [fetch(0, 1), fetch(10.9995, 11)],
    "one fetch": [fetch(0, 5)],
    "two hosts at once": [fetch(0, 1), fetch(0, 1, OTHER), fetch(11, 12), fetch(11, 12, OTHER)],
    "a fetch in no time": [fetch(0, 0), fetch(0.001, 0.002)],
    "Crawl-delay to the point": [robots(0, 30.0), fetch(0, 0.1), fetch(30.1, 31)],
    "Crawl-delay taken back": [
        robots(0, 30.0),
        fetch(0, 0.1),
        fetch(30.1, 30.2, what="robots", verdict=None),
        robots(30.3, 0.0),
        fetch(40, 41),
    ],
    "Crawl-delay of another host": [robots(0, 30.0, host=OTHER), fetch(0, 1), fetch(11, 12)],
    "Retry-After to the point": [
        fetch(0, 0.1, outcome="refused", status=503, retry_after=60.0),
        fetch(60.1, 60.2),
    ],
    "Retry-After of an answer in no time": [
        fetch(0, 0, outcome="refused", status=503, retry_after=60.0),
        fetch(60, 61),
    ],
    "Retry-After of a host that was parked": [
        fetch(0, 0.1, outcome="refused", status=503, retry_after=1e6),
        Parked(0.1, HOST, 1e6, "asked"),
    ],
    "a name of its own with a contact": [
        fetch(0, 1, user_agent="OtherBot/2.0 (ops@otherbot.test)")
    ],
    "a contact in From": [fetch(0, 1, user_agent="LogBot/1.0", from_address="ops@logbot.test")],
}


@pytest.mark.parametrize(("events", "expected"), IMPOLITE.values(), ids=IMPOLITE)
def test_impolite(events: Sequence[Event], expected: set[str]) -> None:
    """The promises that a log breaks are those that the report says are broken."""
    report = report_of(whole(*events))
    assert broken(report) == expected
    assert report.verdict == "broken"


@pytest.mark.parametrize("events", POLITE.values(), ids=POLITE)
def test_polite(events: Sequence[Event]) -> None:
    """A polite log keeps all promises."""
    report = report_of(whole(*events))
    assert [promise.verdict for promise in report.promises] == ["kept"] * 7
    assert report.verdict == "kept"


def test_broken_promise_is_told_in_full() -> None:
    """A broken promise has its count, its hosts, and the first case of each host in words."""
    events = [
        *(fetch(3 * n, 3 * n + 1) for n in range(4)),
        *(fetch(5 * n, 5 * n + 1, OTHER) for n in range(2)),
    ]
    report = report_of(whole(*events))
    [promise] = [item for item in report.promises if item.key == "ten-times"]
    assert (promise.count, promise.hosts) == (4, 2)
    assert promise.examples == (
        "site.example at 0:00:03.000: 2 s after a fetch of 1 s, not 10 s",
        "other.example at 0:00:05.000: 4 s after a fetch of 1 s, not 10 s",
    )


def test_nothing_fetched_tells_nothing() -> None:
    """A log without a fetch keeps no promise and breaks none: nobody can tell."""
    report = report_of(whole())
    assert {promise.verdict for promise in report.promises} == {"unknown"}
    assert report.verdict == "unknown"


def test_unjudged_pages_tell_nothing_of_robots() -> None:
    """Of pages that went out without a robots.txt to ask nobody can tell; the rest is judged."""
    report = report_of(whole(fetch(0, 1, verdict=None), fetch(11, 12, verdict=None)))
    told = {promise.key: promise.verdict for promise in report.promises}
    assert told == {**dict.fromkeys(told, "kept"), "disallowed": "unknown"}
    assert report.verdict == "unknown"


@pytest.mark.parametrize(("wait", "expected"), [(9.8, set()), (8, {"ten-times", "share"})])
def test_resumed_run(tmp_path: Path, wait: float, expected: set[str]) -> None:
    """What a run owes a host its successor owes it too, by the wall clock and within a second."""
    events = [began(), fetch(0, 1), began(BEGAN_AT + 1 + wait - 0.5), fetch(0.5, 1)]
    assert broken(from_log(write(tmp_path / "log.jsonl", events))) == expected


def test_refusals_at_one_instant() -> None:
    """100,000 refusals that took no time are judged in a moment: each finds what came after it."""
    refusals = [fetch(5, 5, outcome="refused", retry_after=1.0)] * 100_000
    assert broken(report_of(whole(*refusals, fetch(6, 6.1)))) == set()
    assert broken(report_of(whole(*refusals, fetch(5.5, 5.6)))) == {"retry-after"}


def test_delays_of_many_origins() -> None:
    """60,000 ports of a host, each with a Crawl-delay, are judged in a moment, by the longest."""
    ports = [
        robots(0, crawl_delay=1 + port / 1e4, origin=f"https://{HOST}:{port}")
        for port in range(60_000)
    ]
    assert broken(report_of(whole(*ports, fetch(1, 1.1), fetch(8.2, 8.3)))) == set()
    assert broken(report_of(whole(*ports, fetch(1, 1.1), fetch(8, 8.1)))) == {"crawl-delay"}


def test_longest_delay_is_taken_back() -> None:
    """Of a host with two origins the longer Crawl-delay counts, until its file says less."""
    ours, other = (f"https://{HOST}:{port}" for port in (1, 2))
    delays = [robots(0, 9.0, origin=ours), robots(0, 4.0, origin=other)]
    taken_back = robots(20, 2.0, origin=ours)
    fetches = [fetch(at, at + 0.1) for at in (10, 19.2, 23.5)]
    assert broken(report_of(whole(*delays, *fetches[:2], taken_back, fetches[2]))) == set()
    assert broken(report_of(whole(*delays, *fetches))) == {"crawl-delay"}


def test_cut_promises_are_told() -> None:
    """Where a ceiling cut a wait or a Crawl-delay the report says so."""
    cut = fetch(0, 100, until_at=700.0, capped=True)
    events = [cut, robots(100, 300.0, asked_delay=5000.0), fetch(700, 701)]
    report = report_of(whole(*events))
    details = {promise.key: promise.detail for promise in report.promises}
    assert "1 longer one (up to 1 h 23 min) cut by POLITE_CRAWL_DELAY_MAX" in details["crawl-delay"]
    assert "1 wait cut by AUTOTHROTTLE_MAX_DELAY = 600" in details["ten-times"]


spans = st.lists(
    st.tuples(st.integers(0, 60), st.integers(1, 20)).map(lambda x: (x[0], x[0] + x[1])),
    min_size=1,
    max_size=12,
)


@given(spans)
def test_most_at_once_is_what_a_server_would_count(fetches: list[tuple[int, int]]) -> None:
    """Of any fetches, as many are in flight at once as the test server's own count says."""
    arrivals = [
        Arrival(HOST, 80, "/", "GET", start, end, 200, "answered", {}, 1) for start, end in fetches
    ]
    assert most_at_once(fetches) == most_at_once_of_server(arrivals)


@given(st.lists(st.tuples(st.floats(0.001, 30), st.floats(10, 30)), min_size=2, max_size=20))
def test_a_polite_crawl_is_never_blamed(turns: list[tuple[float, float]]) -> None:
    """Fetches each followed by ten times their duration keep every promise."""
    at, events = 0.0, []
    for duration, factor in turns:
        events.append(fetch(at, at + duration))
        at += duration * (1 + factor)
    report = report_of(whole(*events))
    assert report.verdict == "kept"
    [host] = report.hosts
    assert host.share is not None and host.share <= 1 / 11 + 1e-6
    assert host.least_ratio is not None and host.least_ratio >= 10 - 1e-6


@given(spans)
def test_gaps_never_overlook_a_fetch(fetches: list[tuple[int, int]]) -> None:
    """A wait counts from the last end of all fetches before, whatever their order."""
    fetches.sort()
    found = list(gaps(fetches))
    for number, gap in enumerate(found, 1):
        assert gap.ended_at == max(end for _, end in fetches[:number])
        assert gap.next_at == fetches[number][0]
    part = share(fetches)
    assert part is None or part > 0
