"""The web of a soak: hosts whose answers are drawn from a seed, good and bad ones.

Rules: the same seed gives the same answer to the same request.  What was drawn is kept per host, in
the order of the requests, beside the server's own record.  A host that disallows pages does so in
every answer that can be read, so that a page of `PRIVATE` that goes out is a broken promise.
"""

from __future__ import annotations

import gzip
from collections import defaultdict
from dataclasses import dataclass
from random import Random
from typing import Any, NamedTuple, Protocol

from harness import Answer, Arrival, Asked, Site
from harness.pages import Pages

TIMEOUT = 3.0  # seconds until a crawl gives a request up; many, for the machine may be busy
CRAWL_DELAY = 0.7  # seconds
ROBOTS_MIN_AGE, ROBOTS_MAX_AGE, ROBOTS_HOLD = 5.0, 15.0, 5.0  # seconds
BACKOFF_MIN, BACKOFF_MAX = 1.0, 20.0  # seconds
PRIVATE = "/private/"  # in the path of pages that some hosts disallow
FILE = "/file.txt"  # where a robots.txt is that moved
ROBOTS_PATHS = ("/robots.txt", FILE)
_BODY = b"<html>page</html>" * 40
_RULES = f"User-agent: *\nDisallow: /*{PRIVATE}\n"
_LEAST = 0.01  # seconds that an answer takes
_TAG = '"one"'

PAGES = {
    "fine": 100,
    "gzip": 10,
    "slow body": 5,
    "missing": 4,
    "broken": 3,
    "refused": 4,
    "refused without a word": 1,
    "moved": 4,
    "moved away": 4,
    "dropped": 2,
    "cut": 2,
    "hung": 1,
}
"""What pages are like, and how often on hosts with bad weather; on others less of it."""

FILES = {"fine": 80, "busy": 8, "broken": 3, "moved": 6, "dropped": 2, "hung": 1}
"""What robots.txt files are like, and how often."""

DARK = "dark"  # how a request ended that found nobody at all
SILENT = ("dropped", "cut", "hung")  # no answer that could be read


class Drawn(NamedTuple):
    """What a request was answered with.

    Args:
        kind: a key of `PAGES` or `FILES`.
        retry_after: what a refusal asked for in seconds; None when it did not say.
    """

    path: str
    kind: str
    retry_after: int | None


@dataclass(frozen=True, slots=True)
class Seen:
    """A request as the server saw it, and what it was answered with."""

    arrival: Arrival
    drawn: Drawn

    @property
    def is_robots(self) -> bool:
        return self.arrival.path in ROBOTS_PATHS

    @property
    def status(self) -> int | None:
        """The status that a crawl could read; None when there was none to read."""
        return None if self.drawn.kind in SILENT else self.arrival.status

    @property
    def is_refused(self) -> bool:
        return self.status in (429, 503)

    @property
    def is_moved(self) -> bool:
        return self.status in (301, 302)

    @property
    def is_troubled(self) -> bool:
        return self.status is None or (self.status >= 500 and not self.is_refused)


class Hosting(Protocol):
    """What hosts sites and records who asks for them, a `Web` for instance."""

    def site(self, pages: Pages) -> Site:
        """Start a site."""

    def arrivals(self) -> list[Arrival]:
        """Return what was recorded so far, in order of start."""


class Weather:
    """The hosts of one crawl.

    Args:
        count: how many good hosts there are.
        seed: of all that is drawn.
        pace: answers, and all that the crawl's settings say of seconds, are so many times slower.
    """

    def __init__(self, web: Hosting, count: int, seed: int, pace: int = 1) -> None:
        self._web, self._seed, self.pace = web, seed, pace
        self._drawn: defaultdict[str, list[tuple[str, str, int | None]]] = defaultdict(list)
        self.good = [web.site({"/robots.txt": self._file, "*": self._page}) for _ in range(count)]
        self._number = {site.host: number for number, site in enumerate(self.good)}
        refusing = {"status": 429, "headers": {"Retry-After": "1"}}
        closing = {"status": 503, "headers": {"Retry-After": "500000"}}
        self.parked = [self._bad(web, 404, refusing), self._bad(web, 404, closing)]
        self.dead = [self._bad(web, 503, 200)]

    @property
    def sites(self) -> list[Site]:
        """All sites."""
        return [*self.good, *self.parked, *self.dead]

    @property
    def settings(self) -> dict[str, Any]:
        """Settings of the crawl."""
        return {
            "DOWNLOAD_TIMEOUT": self.pace * TIMEOUT,
            "POLITE_ROBOTS_TIMEOUT": self.pace * TIMEOUT,
            "POLITE_ROBOTS_MIN_AGE": self.pace * ROBOTS_MIN_AGE,
            "POLITE_ROBOTS_MAX_AGE": self.pace * ROBOTS_MAX_AGE,
            "POLITE_ROBOTS_HOLD": self.pace * ROBOTS_HOLD,
            "POLITE_BACKOFF_MIN": self.pace * BACKOFF_MIN,
            "POLITE_BACKOFF_MAX": self.pace * BACKOFF_MAX,
        }

    def disallows(self, host: str) -> bool:
        """Return whether a host's robots.txt disallows what is private."""
        return self._number.get(host, 0) % 3 > 0

    def crawl_delay(self, host: str) -> float:
        """Return what a host's robots.txt asks for in seconds."""
        return CRAWL_DELAY * self.pace if self._number.get(host, 0) % 3 == 2 else 0.0

    def seen(self) -> list[Seen]:
        """Return what the server saw of this crawl so far, in order of start."""
        hosts = {site.host for site in self.sites}
        arrivals = [arrival for arrival in self._web.arrivals() if arrival.host in hosts]
        drawn = {host: iter(list(self._drawn[host])) for host in hosts}
        seen = [Seen(arrival, Drawn(*next(drawn[arrival.host]))) for arrival in arrivals]
        assert all(item.arrival.path == item.drawn.path for item in seen)
        assert not any(list(rest) for rest in drawn.values()), "requests are missing in the record"
        return seen

    def _bad(self, web: Hosting, robots: int, page: Any) -> Site:
        """Return a site that always answers the same."""

        def answer(asked: Asked) -> Any:
            result = robots if asked.path == "/robots.txt" else page
            asks = int(result["headers"]["Retry-After"]) if isinstance(result, dict) else None
            answer = result if isinstance(result, dict) else {"status": result}
            return self._note(asked, "bad", {"delay": self.pace * _LEAST, **answer}, asks)

        return web.site({"*": answer})

    def _note(self, asked: Asked, kind: str, answer: Any, asks: int | None = None) -> Any:
        self._drawn[asked.host].append((asked.path, kind, asks))
        return answer

    def _draw(self, asked: Asked, kinds: dict[str, int]) -> tuple[Random, str, float]:
        """Return random numbers, a kind, and how many seconds the answer takes."""
        number = self._number[asked.host]
        random = Random(f"{self._seed} {number} {asked.path} {asked.count}")
        storms = 1 if number % 4 == 0 else 4  # where the weather is bad now and then only
        weights = [count * storms if kind == "fine" else count for kind, count in kinds.items()]
        [kind] = random.choices(list(kinds), weights)
        slowest = (0.05, 0.1, 0.25)[number % 7 % 3]
        return random, kind, self.pace * random.uniform(_LEAST, slowest)

    def _page(self, asked: Asked) -> Any:
        if asked.path == FILE:
            answer = {"delay": self.pace * _LEAST, **self._rules(asked.host)}
            return self._note(asked, "fine", answer)
        random, kind, seconds = self._draw(asked, PAGES)
        asks = self.pace * random.randint(1, 2) if kind == "refused" else None
        away = random.choice(self.good)
        answers: dict[str, dict[str, Any]] = {
            "fine": {"body": _BODY},
            "gzip": {"body": gzip.compress(_BODY), "headers": {"Content-Encoding": "gzip"}},
            "slow body": {"body": _BODY, "body_delay": seconds, "size_bytes": 100_000},
            "missing": {"status": 404},
            "broken": {"status": random.choice((500, 502, 504))},
            "refused": {"status": random.choice((429, 503)), "headers": {"Retry-After": f"{asks}"}},
            "refused without a word": {"status": random.choice((429, 503))},
            "moved": {"status": 302, "headers": {"Location": f"{asked.path}/on"}},
            "moved away": {"status": 301, "headers": {"Location": away.url(f"{asked.path}/off")}},
            "dropped": {"drop": True},
            "cut": {"body": _BODY, "headers": {"Content-Length": "99999", "Connection": "close"}},
            "hung": {"hang": True},
        }
        return self._note(asked, kind, Answer(**{"delay": seconds, **answers[kind]}), asks)

    def _file(self, asked: Asked) -> Any:
        random, kind, seconds = self._draw(asked, FILES)
        asks = self.pace * random.randint(1, 2) if kind == "busy" else None
        elsewhere = random.choice(self.good[self._number[asked.host] % 3 :: 3])
        answers: dict[str, dict[str, Any]] = {
            "busy": {"status": random.choice((429, 503)), "headers": {"Retry-After": f"{asks}"}},
            "broken": {"status": 500},
            "moved": {"status": 301, "headers": {"Location": elsewhere.url(FILE)}},
            "dropped": {"drop": True},
            "hung": {"hang": True},
        }
        answer = answers.get(kind) or self._fresh(asked, random)
        return self._note(asked, kind, Answer(**{"delay": seconds, **answer}), asks)

    def _fresh(self, asked: Asked, random: Random) -> dict[str, Any]:
        headers = {"ETag": _TAG, "Cache-Control": f"max-age={self.pace * random.randint(1, 60)}"}
        if asked.headers.get("if-none-match") == _TAG:
            return {"status": 304, "headers": headers}
        return {**self._rules(asked.host), "headers": headers}

    def _rules(self, host: str) -> dict[str, Any]:
        if not self.disallows(host):
            return {"status": 404}
        delay = self.crawl_delay(host)
        return {"body": _RULES + (f"Crawl-delay: {delay}\n" if delay else "")}
