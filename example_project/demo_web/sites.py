"""The sites of the demo web: one entry each, and nothing else to change when one is added.

An entry says what the site's owner wants. robots.txt is written from it, and the referee judges by
it, so the two cannot disagree.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Quota:
    """So many pages in so many seconds; the next request is answered 429 until the time is over."""

    pages: int
    seconds: float


@dataclass(frozen=True, slots=True)
class Site:
    """One host, and what its owner asks of visiting programs.

    Args:
        name: What the table calls it.
        address: Its loopback address.
        seconds: How long it takes over one answer.
        manner: What is special about its robots.txt, in a few words for the table.
        forbidden: Beginnings of the paths that no program may fetch.
        crawl_delay: Seconds that it wants between two requests; None if it does not ask.
        robots: "own" (a file), "none" (404), or the name of the site that a redirect leads to.
        opens_after: Seconds, from its first visitor on, during which robots.txt is answered 503.
        quota: The limit on its pages; None for no limit.
        has_pages: Whether there are texts, in `content/<name>.md`.
    """

    name: str
    address: str
    seconds: float
    manner: str
    forbidden: tuple[str, ...] = ()
    crawl_delay: float | None = None
    robots: str = "own"
    opens_after: float = 0.0
    quota: Quota | None = None
    has_pages: bool = True

    def robots_txt(self) -> str:
        """The owner's wishes in the words of robots.txt.

        >>> print(Site("a", "", 0, "", forbidden=("/x/",), crawl_delay=2).robots_txt(), end="")
        User-agent: *
        Crawl-delay: 2
        Disallow: /x/
        """
        lines = ["User-agent: *"]
        if self.crawl_delay is not None:
            lines.append(f"Crawl-delay: {self.crawl_delay:g}")
        lines += [f"Disallow: {path}" for path in self.forbidden] or ["Allow: /"]
        return "\n".join(lines) + "\n"

    def forbids(self, path: str) -> bool:
        """Whether the owner wants this path left alone."""
        return path.startswith(self.forbidden)


SITES = (
    Site("robots", "127.0.0.11", 0.03, "allows all"),
    Site("garden", "127.0.0.12", 0.12, "forbids a part", forbidden=("/drafts/",)),
    Site("tides", "127.0.0.13", 0.30, "404", robots="none"),
    Site(
        "lighthouses",
        "127.0.0.14",
        0.06,
        "503, later a part",
        forbidden=("/keepers/",),
        opens_after=6.0,
    ),
    Site(
        "clocks",
        "127.0.0.15",
        0.15,
        "a redirect",
        forbidden=("/workshop/",),
        robots="rulebook",
    ),
    Site("bread", "127.0.0.16", 0.04, "Crawl-delay: 2", crawl_delay=2.0),
    Site("stars", "127.0.0.17", 0.05, "allows all, 429s", quota=Quota(pages=6, seconds=12.0)),
    Site("rulebook", "127.0.0.18", 0.05, "has clocks' file", has_pages=False),
)
"""The demo web. `rulebook` only keeps the robots.txt of `clocks`; no spider is sent there."""
