"""What owners want done with their pages: told to callbacks, and heeded where a setting says so."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from scrapy import Field, Item, Request, Spider
from scrapy.http import Response
from scrapy.linkextractors import LinkExtractor

from crawls.judging import MANY
from harness import Answer, Web, crawl_here
from scrapy_polite.report.load import load
from scrapy_polite.report.text import to_text

pytestmark = [pytest.mark.crawl, pytest.mark.usefixtures("in_process")]

RULES = (
    "User-agent: *\nDisallow: /never\nContent-Usage: train-ai=n\nContent-Usage: /ok/ train-ai=y\n"
)


def seen_by_spider(told: dict[str, Any]) -> dict[str, Any]:
    """Return attributes of a spider that notes each page's wishes by path."""

    def parse(self: Spider, response: Response, asked_url: str) -> None:
        told["/" + response.url.split("/", 3)[3]] = response.meta["polite"]

    return {"parse": parse}


async def test_callbacks_are_told(web: Web) -> None:
    """A callback reads of each use what file and headers say together, and who says it."""
    site = web.site(
        {
            "/robots.txt": RULES,
            "/ok/header": Answer(headers={"Content-Usage": "train-ai=n, search=y"}),
            "/signal": Answer(headers={"Content-Signal": "ai-input=no"}),
            "*": "page",
        }
    )
    told: dict[str, Any] = {}
    paths = ["/a", "/ok/a", "/ok/header", "/signal"]
    run = await crawl_here(web, [*map(site.url, paths)], MANY, seen_by_spider(told))
    assert told["/a"]["usage"] == {
        "train-ai": {
            "says": "disallow",
            "by": "robots.txt",
            "line": 3,
            "text": "Content-Usage: train-ai=n",
        },
        "search": {"says": "unknown"},
        "ai-input": {"says": "unknown"},
    }
    assert told["/ok/a"]["usage"]["train-ai"]["says"] == "allow"
    header = {"by": "Content-Usage", "text": "train-ai=n, search=y"}
    assert told["/ok/header"]["usage"]["train-ai"] == {"says": "disallow", **header}
    assert told["/ok/header"]["usage"]["search"] == {"says": "allow", **header}
    assert told["/signal"]["usage"]["ai-input"]["by"] == "Content-Signal"
    assert told["/a"]["robots"] == "allowed"
    assert {name: run.stats[name] for name in run.stats if name.startswith("polite/usage/")} == {
        "polite/usage/train-ai/disallow": 3,
        "polite/usage/train-ai/allow": 1,
        "polite/usage/search/allow": 1,
        "polite/usage/ai-input/disallow": 1,
    }


async def test_purpose_in_robots_txt(web: Web, tmp_path: Path) -> None:
    """What robots.txt disallows the crawl's purpose is not fetched, counted and in the report."""
    site = web.site({"/robots.txt": RULES, "*": "page"})
    log = tmp_path / "events.jsonl"
    settings = {**MANY, "POLITE_PURPOSE": ["train-ai"], "POLITE_TIMELINE": str(log)}
    asked = [site.url(path) for path in ("/a", "/ok/a", "/never")]
    run = await crawl_here(web, asked, settings)
    assert {seen.path for seen in run.arrivals} == {"/robots.txt", "/ok/a"}
    assert run.outcome == {
        asked[0]: ["PurposeDisallowed"],
        asked[1]: [200],
        asked[2]: ["IgnoreRequest"],
    }
    assert run.stats["polite/purpose/dropped/robots"] == 1
    report = load(log)
    assert {(each.reason, each.count) for each in report.not_fetched} == {
        ("purpose", 1),
        ("disallowed", 1),
    }
    assert "robots.txt disallows what the crawl is for: 1" in to_text(report)


async def test_purpose_after_a_redirect(web: Web) -> None:
    """A redirect leads to no page whose owner disallows the purpose."""
    other = web.site({"/robots.txt": RULES, "*": "page"})
    home = web.site(
        {
            "/robots.txt": 404,
            "/go": Answer(302, {"Location": other.url("/a")}),
            "/open": Answer(302, {"Location": other.url("/ok/a")}),
        }
    )
    asked = [home.url("/go"), home.url("/open")]
    run = await crawl_here(web, asked, {**MANY, "POLITE_PURPOSE": "train-ai"})
    assert run.outcome == {asked[0]: ["PurposeDisallowed"], asked[1]: [200]}
    assert "/a" not in {seen.path for seen in run.arrivals}


async def test_purpose_in_headers(web: Web, tmp_path: Path) -> None:
    """A page whose header alone disallows the purpose is kept from the spider, and counted."""
    site = web.site(
        {
            "/robots.txt": "User-agent: *\nContent-Usage: search=y\n",
            "/usage": Answer(headers={"Content-Usage": "search=n"}),
            "/signal": Answer(headers={"Content-Signal": "search=no"}),
            "/other": Answer(headers={"Content-Usage": "train-ai=n"}),
        }
    )
    log = tmp_path / "events.jsonl"
    settings = {**MANY, "POLITE_PURPOSE": ["search"], "POLITE_TIMELINE": str(log)}
    asked = [site.url(path) for path in ("/usage", "/signal", "/other")]
    run = await crawl_here(web, asked, settings)
    dropped = ["PurposeDisallowed"]
    assert run.outcome == {asked[0]: dropped, asked[1]: dropped, asked[2]: [200]}
    assert run.stats["polite/purpose/dropped/header"] == 2
    assert [(each.reason, each.count) for each in load(log).not_fetched] == [("unwanted", 2)]


async def test_without_a_purpose_all_is_fetched(web: Web) -> None:
    """Preferences alone keep no page away."""
    site = web.site({"/robots.txt": RULES, "*": Answer(headers={"Content-Usage": "search=n"})})
    run = await crawl_here(web, [site.url("/a")], MANY)
    assert run.outcome == {site.url("/a"): [200]}


async def test_what_pages_say_of_themselves(web: Web) -> None:
    """A callback reads the directives for everyone and for our own name, of header and page."""
    page = (
        "<meta name=ROBOTS content='NoArchive, follow'><meta name=harnessbot content=none>"
        "<meta name=otherbot content=nosnippet><!-- <meta name=robots content=noai> -->"
    )
    late = "unavailable_after: Wed, 25 Jun 2031 15:00:00 GMT, noai"
    site = web.site(
        {
            "/robots.txt": 404,
            "/html": page,
            "/header": Answer(
                headers=[
                    ("X-Robots-Tag", late),
                    ("X-Robots-Tag", "otherbot: noindex"),
                    ("X-Robots-Tag", "HarnessBot: noimageindex"),
                ]
            ),
            "/text": Answer(headers={"Content-Type": "text/plain"}, body=page),
            "*": "plain",
        }
    )
    told: dict[str, Any] = {}
    paths = ["/html", "/header", "/text", "/plain"]
    run = await crawl_here(web, [*map(site.url, paths)], MANY, seen_by_spider(told))
    assert told["/html"]["page"] == {
        "noarchive": {"by": "meta", "text": "NoArchive, follow"},
        "noindex": {"by": "meta", "text": "none"},
        "nofollow": {"by": "meta", "text": "none"},
    }
    assert told["/header"]["page"] == {
        "unavailable_after": {
            "by": "X-Robots-Tag",
            "text": late,
            "value": "Wed, 25 Jun 2031 15:00:00 GMT",
        },
        "noai": {"by": "X-Robots-Tag", "text": late},
        "noimageindex": {"by": "X-Robots-Tag", "text": "HarnessBot: noimageindex"},
    }
    assert told["/text"]["page"] == told["/plain"]["page"] == {}
    assert run.stats["polite/page/directive/noindex"] == 1


LINKS = (
    "<a href=/free>1</a> <a href=/both rel=nofollow>2</a> <a href='/both'>3</a>"
    "<a href='/asked#x' rel='external NOFOLLOW'>4</a> <a rel=ugc href=/ugc>5</a>"
    "<area href=/sponsored rel=sponsored>"
)


def following(extracts: bool) -> dict[str, Any]:
    """Return attributes of a spider that follows each link, by LinkExtractor or its own way."""

    def follow(self: Spider, response: Response, asked_url: str) -> Any:
        if extracts:
            links = LinkExtractor(tags=("a", "area")).extract_links(response)
            targets = [link.url for link in links]
        else:
            targets = response.xpath("//@href").getall()
        for target in targets:
            yield response.follow(target, callback=passed)
        yield Request(response.url, callback=passed, dont_filter=True)

    def passed(response: Response) -> None:
        """Want nothing."""

    return {"parse": follow}


@pytest.mark.parametrize("extracts", [True, False], ids=["link extractor", "xpath"])
@pytest.mark.parametrize(
    ("directives", "page", "followed"),
    [
        ([], LINKS, {"/free", "/both", "/asked", "/ugc", "/sponsored"}),
        (["nofollow"], LINKS, {"/free", "/both"}),
        (["noindex"], LINKS, {"/free", "/both", "/asked", "/ugc", "/sponsored"}),
        (["nofollow"], "<meta name=robots content=nofollow>" + LINKS, set()),
        (["nofollow"], "<meta name=otherbot content=nofollow><a href=/free>1</a>", {"/free"}),
        ([], "<meta name=robots content=nofollow><a href=/free>1</a>", {"/free"}),
    ],
)
async def test_nofollow(
    web: Web, directives: list[str], page: str, followed: set[str], extracts: bool
) -> None:
    """With nofollow set, no such link is followed, nor any of a nofollow page; repeats are."""
    site = web.site({"/robots.txt": 404, "/start": page, "*": "page"})
    settings = {**MANY, "POLITE_PAGE_DIRECTIVES": directives}
    run = await crawl_here(web, [site.url("/start")], settings, following(extracts))
    paths = [seen.path for seen in run.arrivals]
    assert set(paths) - {"/robots.txt", "/start"} == followed
    assert paths.count("/start") == 2
    dropped = run.stats.get("polite/page/nofollow_requests", 0)
    assert bool(dropped) == (directives == ["nofollow"] and len(followed) != 1)


class Plain(Item):
    """An item without a field to mark."""

    at = Field()


@pytest.mark.parametrize(
    ("directives", "items", "fates"),
    [
        ([], 3, {}),
        (["noindex"], 1, {"dropped": 2}),
        (["noindex=mark"], 2, {"dropped": 1, "marked": 1}),
        (["noindex=mark", "noindex"], 1, {"dropped": 2}),
    ],
)
async def test_noindex(web: Web, directives: list[str], items: int, fates: dict[str, int]) -> None:
    """Items of noindex pages are dropped or marked as set, and counted; others stay."""
    site = web.site(
        {
            "/robots.txt": 404,
            "/hidden": Answer(headers={"X-Robots-Tag": "noindex"}),
            "*": "page",
        }
    )
    kept: list[Any] = []

    def parse(self: Spider, response: Response, asked_url: str) -> Any:
        yield {"at": response.url}
        if response.url.endswith("/hidden"):
            yield Plain(at=response.url)

    class Keep:
        def process_item(self, item: Any) -> Any:
            kept.append(item)
            return item

    settings = {**MANY, "POLITE_PAGE_DIRECTIVES": directives, "ITEM_PIPELINES": {Keep: 1}}
    asked = [site.url("/hidden"), site.url("/open")]
    run = await crawl_here(web, asked, settings, {"parse": parse})
    assert len(kept) == items
    for fate in ("dropped", "marked"):
        assert run.stats.get(f"polite/page/noindex_items/{fate}", 0) == fates.get(fate, 0)
    marked = [item for item in kept if dict(item).get("noindex")]
    assert [item["at"] for item in marked] == [asked[0]] * fates.get("marked", 0)


async def test_media_have_owners_too(web: Web) -> None:
    """What goes past the spider, a direct download, is for the crawl's purpose as well."""
    site = web.site({"/robots.txt": RULES, "*": "page"})
    failed: list[str] = []

    async def parse(self: Spider, response: Response, asked_url: str) -> None:
        try:
            await self.crawler.engine.download_async(Request(site.url("/direct")))
        except Exception as error:
            failed.append(type(error).__name__)

    settings = {**MANY, "POLITE_PURPOSE": ["train-ai"]}
    run = await crawl_here(web, [site.url("/ok/a")], settings, {"parse": parse})
    assert failed == ["PurposeDisallowed"]
    assert {seen.path for seen in run.arrivals} == {"/robots.txt", "/ok/a"}


@pytest.mark.parametrize("obeys", [True, False])
async def test_meta_that_is_handed_on_says_nothing_of_the_next_page(web: Web, obeys: bool) -> None:
    """A request made with the meta of a page's response is judged by its own page alone."""
    site = web.site(
        {
            "/robots.txt": 404,
            "/first": Answer(headers={"Content-Usage": "search=n", "X-Robots-Tag": "noai"}),
            "*": "page",
        }
    )
    told: list[dict[str, Any]] = []

    def parse(self: Spider, response: Response, asked_url: str) -> Any:
        yield response.follow("/second", callback=told_of, meta=response.meta)

    def told_of(response: Response) -> None:
        told.append(response.meta["polite"])

    settings = {**MANY, "ROBOTSTXT_OBEY": obeys}
    await crawl_here(web, [site.url("/first")], settings, {"parse": parse})
    assert [(each["usage"]["search"], each["page"]) for each in told] == [({"says": "unknown"}, {})]
