"""The README and docs/ as their reader uses them: links followed, Python blocks pasted.

Rules: a Python block that only assigns settings becomes the settings of a crawl; any other one is
executed, and spiders in it crawl.  A web on loopback stands for site.example.  Commands are in
`test_docs_commands`.
"""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import Any

import pytest
from scrapy import Spider

from crawls.running import run_spider
from distributed.servers import shared_server
from harness import BARE, POLITE, Answer, CrawlFailed, Web, crawl_here
from prose import ON_REDIS, ROOT, Block, Page, page, pages

LANGUAGES = {"console", "python", "robots", "sh", "text"}
TOP = {path.name for path in ROOT.iterdir()}


# what is written


@pytest.mark.parametrize("each", pages(), ids=lambda each: each.name)
def test_links_lead_somewhere(each: Page) -> None:
    """Files that are linked are there, and headings in them."""
    texts = {other.path: other for other in pages()}
    for target in re.findall(r"\]\(([^)]+)\)", each.prose):
        name, _, anchor = target.partition("#")
        path = (each.path.parent / name).resolve() if name else each.path
        assert path.exists(), target
        assert not anchor or anchor in texts[path].anchors, target


@pytest.mark.parametrize("each", pages(), ids=lambda each: each.name)
def test_files_that_are_named_are_there(each: Page) -> None:
    """A path in backticks is one of this project; what it is said to hold, it holds."""
    for name in re.findall(r"`([\w.-]+/[\w./-]*)[` ]", each.prose):
        assert name.split("/")[0] not in TOP or (ROOT / name).exists(), name
    for name, path in re.findall(r"`(\w+)`\s+in\s+`([\w/]+\.\w+)`", each.prose):
        assert re.search(rf"\b{name}", (ROOT / path).read_text()), f"{name} in {path}"


@pytest.mark.parametrize("each", pages(), ids=lambda each: each.name)
def test_a_page_can_be_read_anywhere(each: Page) -> None:
    """Fences name a language that tests know; lines are short where nothing forbids it."""
    assert {block.language for block in each.blocks} <= LANGUAGES
    lines = [line for line in each.text.splitlines() if not line.startswith("|")]
    assert [line for line in lines if len(line) > 115] == []


def test_the_index_has_each_page() -> None:
    """docs/README.md and the README link to every page."""
    for index in ("README.md", "docs/README.md"):
        here = page(index)
        linked = {(here.path.parent / t).resolve() for t in re.findall(r"\]\((.*?)\)", here.prose)}
        wanted = {each.path for each in pages() if each.path.name != "README.md"}
        assert wanted - linked == set()


# Python


def _blocks(*, settings: bool) -> list[Any]:
    """Return the Python blocks that are settings, or those that are not."""
    return [
        pytest.param(block, id=f"{each.name}-{number}")
        for each in pages()
        for number, block in enumerate(each.blocks)
        if block.language == "python" and _is_settings(block) == settings
    ]


def _is_settings(block: Block) -> bool:
    return all(
        isinstance(statement, ast.Assign)
        and all(ast.unparse(t).isupper() for t in statement.targets)
        for statement in ast.parse(block.text).body
    )


def _run_python(text: str) -> dict[str, Any]:
    values: dict[str, Any] = {"__name__": "docs"}
    exec(text, values)
    return values


@pytest.mark.filterwarnings("ignore::scrapy.exceptions.ScrapyDeprecationWarning")  # scrapy-redis
@pytest.mark.parametrize("block", _blocks(settings=True))
async def test_settings_that_are_pasted(
    web: Web, block: Block, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A crawl starts with them: robots.txt is read and obeyed."""
    monkeypatch.chdir(tmp_path)
    text = block.text.replace("/var/lib/acme", str(tmp_path))
    if "scrapy_redis" in text:
        pytest.importorskip("scrapy_redis")
    if ON_REDIS in text:
        shared_server().settle("polite:")
        text = text.replace(ON_REDIS, shared_server().url)
    values = {name: v for name, v in _run_python(text).items() if name.isupper()}
    site = web.site({"/robots.txt": "User-agent: *\nDisallow: /private", "*": "page"})
    contact = {"POLITE_CONTACT_EMAIL": POLITE["POLITE_CONTACT_EMAIL"]}
    start = {**BARE, **contact} if block.words == "alone" else POLITE
    asked, settings = [site.url("/page"), site.url("/private")], {**start, **values}
    if block.words == "placeholder":
        with pytest.raises(CrawlFailed, match="is a placeholder: write"):
            await crawl_here(web, asked, settings, polite=False)
        return
    run = await crawl_here(web, asked, settings, polite=False)
    assert [seen.path for seen in run.arrivals] == ["/robots.txt", "/page"]
    assert run.outcome[site.url("/page")] == [200]
    assert "ERROR" not in run.log


@pytest.mark.parametrize("block", _blocks(settings=False))
async def test_code_that_is_pasted(web: Web, block: Block) -> None:
    """It runs; a spider in it crawls a site that refuses once, and no callback raises."""
    busy = Answer(429, {"Retry-After": "1"})
    site = web.site({"/robots.txt": 404, "*": [busy, "page"]})
    for value in _run_python(block.text.replace("https://site.example", site.url(""))).values():
        if isinstance(value, type) and issubclass(value, Spider):
            spider = type(value.__name__, (value,), {"start_urls": [site.url("/captcha")]})
            run = await run_spider(web, spider, {"LOG_LEVEL": "WARNING"})
            assert [seen.status for seen in run.arrivals] == [404, 429, 200]
            assert "log_count/ERROR" not in run.stats
