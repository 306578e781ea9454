"""What the pack costs: an unthrottled crawl with and without it, in turns.

All waits are switched off (factor, floor and jitter 0) and the pages are tiny, so what is left is
the work per page.  robots.txt is obeyed by both.  Of each side the best round counts, for other
work on the machine only ever slows a round down.  Two crawls are made: one finds its pages by the
links of each host's first page, the other has all pages as start requests, which come one by one as
long as places are free.  Prints pages per second of CPU and of wall time, and the pack's share of
stock Scrapy's; the aim is 0.8 at the least.

    python benchmarks/overhead.py [--hosts 200] [--pages 15] [--rounds 4]
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from metering import CPU, WALL, hosts, metered, name_of
from scrapy import Request

from harness.apart import WebApart

if TYPE_CHECKING:
    from scrapy.http import TextResponse

ROBOTS = "User-agent: *\nDisallow: /private/\n"
UNTHROTTLED = {"POLITE_DELAY_FACTOR": 0}
FOLLOWING = {"SPIDER_MIDDLEWARES": {"overhead.Following": 0}}


class Following:
    """A spider middleware that follows the links of each page."""

    def process_spider_output(
        self, response: TextResponse, result: Iterable[Any]
    ) -> Iterator[Request]:
        """Yield a request for each link."""
        yield from result
        assert response.request is not None
        for link in response.xpath("//a/@href").getall():
            url = response.urljoin(link)
            yield response.request.replace(url=url, cb_kwargs={"asked_url": url})

    async def process_spider_output_async(self, response: TextResponse, result: Any) -> Any:
        """Do the same for an asynchronous result."""
        async for item in result:
            yield item
        for request in self.process_spider_output(response, ()):
            yield request


def main() -> None:
    """Crawl in turns and print the ratios."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--hosts", type=int, default=200)
    parser.add_argument("--pages", type=int, default=15, help="pages of each host")
    parser.add_argument("--rounds", type=int, default=4)
    asked = parser.parse_args()
    home = "".join(f'<a href="/p{page}">x</a>' for page in range(1, asked.pages))
    pages: dict[str, Any] = {
        "/robots.txt": ROBOTS,
        "/p0": f"<html>{home}</html>",
        "*": "<html>x</html>",
    }
    with WebApart(dict.fromkeys(hosts(asked.hosts), pages)) as web:
        first = [site.url("/p0") for site in web.sites]
        every = [site.url(f"/p{page}") for page in range(asked.pages) for site in web.sites]
        compare(web, "links", first, FOLLOWING, len(every), asked.rounds)
        compare(web, "start requests", every, {}, len(every), asked.rounds)


def compare(
    web: WebApart, what: str, urls: Sequence[str], settings: dict[str, Any], due: int, rounds: int
) -> None:
    """Crawl from these URLs in turns, *due* pages each time, and print both sides and the ratio."""
    rates: dict[bool, list[tuple[float, float]]] = {False: [], True: []}
    for turn in range(rounds * 2):
        polite = bool(turn % 2)
        mine = settings | (UNTHROTTLED if polite else {})
        stats, arrivals = metered(web, urls, mine, polite=polite)
        got = sum(arrival.path != "/robots.txt" for arrival in arrivals)
        assert got == due, f"{got} pages were fetched, not {due}"
        by_cpu, by_wall = got / stats[CPU], got / stats[WALL]
        rates[polite].append((by_cpu, by_wall))
        print(f"{what}: {name_of(polite):13} {by_cpu:5.0f} pages/CPU s {by_wall:5.0f} pages/s")
    for column, unit in enumerate(("CPU", "wall")):
        ours, stock = (max(rate[column] for rate in rates[polite]) for polite in (True, False))
        print(f"{what}: scrapy_polite / stock by {unit}: {ours / stock:.2f}")


if __name__ == "__main__":
    main()
