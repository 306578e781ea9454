"""`scrapy robots` as a person starts it: processes, streams, projects, signals."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from scrapy.exceptions import CannotResolveHostError, DownloadFailedError, IgnoreRequest

from harness import Answer, Web
from scrapy_polite.commands.robots.trouble import what_went_wrong
from scrapy_polite.exceptions import CrawlStopping, HostParked

RULES = b"User-agent: *\nDisallow: /private\n"
SCRAPY = [sys.executable, "-m", "scrapy"]
PROJECT = {
    "scrapy.cfg": "[settings]\ndefault = shop.settings\n",
    "shop/__init__.py": "",
    "shop/spiders/__init__.py": "raise RuntimeError('a spider that does not load')\n",
    "shop/parts.py": "from pathlib import Path\n"
    "def from_crawler(crawler): Path('started').touch(); return object()\n",
    "shop/settings.py": """
from scrapy_polite import Addon
BOT_NAME = "shop"
SPIDER_MODULES = ["shop.spiders"]
ADDONS = {Addon: None}
EXTENSIONS = {"shop.parts.from_crawler": 1}
ITEM_PIPELINES = {"shop.parts.from_crawler": 1}
SPIDER_MIDDLEWARES = {"shop.parts.from_crawler": 1}
POLITE_CONTACT_URL = "https://shop.test/bot"
POLITE_MIN_DELAY = 0
JOBDIR = "job"
FEEDS = {"items.json": {"format": "json"}}
HTTPCACHE_ENABLED = True
HTTPCACHE_DIR = "cache"
LOG_ENABLED, LOG_STDOUT, LOG_FILE = True, True, "crawl.log"
POLITE_REPORT, POLITE_TIMELINE = "report.json", "timeline.jsonl"
""",
}


def run(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run `scrapy robots` in a folder."""
    command = [*SCRAPY, "robots", *arguments]
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}
    return subprocess.run(
        command,
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def lay(folder: Path, files: dict[str, str]) -> None:
    """Write files, with their folders."""
    for name, text in files.items():
        (folder / name).parent.mkdir(exist_ok=True, parents=True)
        (folder / name).write_text(text)


def test_a_newcomer(web: Web, tmp_path: Path) -> None:
    """The URL alone will do, in an empty folder; nothing is on standard error."""
    site = web.site({"/robots.txt": RULES})
    done = run(tmp_path, site.url())
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith(f"{site.url('/robots.txt')}, as Scrapy reads it")
    assert [seen.path for seen in web.arrivals()] == ["/robots.txt"]
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "reactor",
    [
        "TWISTED_REACTOR_ENABLED=True",
        "TWISTED_REACTOR_ENABLED=False",
        "TWISTED_REACTOR=twisted.internet.selectreactor.SelectReactor",
    ],
)
def test_a_project(web: Web, tmp_path: Path, reactor: str) -> None:
    """A project lends its identity; its jobs, feeds, parts, caches, reports and log are left alone.

    It does so under any reactor and without one.
    """
    lay(tmp_path, PROJECT)
    site = web.site({"/robots.txt": RULES, "*": ""})
    done = run(tmp_path, site.url("/ok"), "--path", "/private", "-s", reactor)
    assert (done.returncode, done.stderr) == (1, "")
    assert "looked at, status 200" in done.stdout
    log = web.arrivals()
    assert [seen.path for seen in log] == ["/robots.txt", "/ok"]
    assert {seen.headers["user-agent"] for seen in log} == {"shop/1.0 (+https://shop.test/bot)"}
    assert {path.name for path in tmp_path.iterdir()} == {"scrapy.cfg", "shop"}


def test_the_contact_on_the_command_line(web: Web, tmp_path: Path) -> None:
    """--contact-url and --contact-email are the settings of that name."""
    site = web.site({"/robots.txt": RULES})
    options = ["--contact-url", "https://me.test/", "--contact-email", "me@me.test"]
    run(tmp_path, site.url(), *options)
    [seen] = web.arrivals()
    assert seen.headers["user-agent"] == "scrapybot/1.0 (+https://me.test/; me@me.test)"
    assert seen.headers["from"] == "me@me.test"


SPIDERS = {
    "its own contact": ("prices", 0, "PriceBot/2.1 (+https://shop.test/prices)"),
    "the project's": ("plain", 0, "shop/1.0 (+https://shop.test/bot)"),
    "unknown": ("price", 2, "There is no spider 'price' here: see `scrapy list`."),
    "wrong contact": ("wrong", 2, "POLITE_CONTACT_URL 'https://example.com' is a placeholder"),
}
SPIDER_MODULE = """
import scrapy
class Plain(scrapy.Spider):
    name = "plain"
class Prices(scrapy.Spider):
    name = "prices"
    custom_settings = {
        "POLITE_PRODUCT": "PriceBot/2.1",
        "POLITE_CONTACT_URL": "https://shop.test/prices",
        "LOG_FILE": "spider.log",
    }
class Wrong(scrapy.Spider):
    name = "wrong"
    custom_settings = {"POLITE_CONTACT_URL": "https://example.com"}
"""


@pytest.mark.parametrize("case", SPIDERS)
def test_the_identity_of_a_spider(web: Web, tmp_path: Path, case: str) -> None:
    """--spider asks as that spider, whose custom_settings count; a wrong one is one sentence."""
    name, status, said = SPIDERS[case]
    lay(tmp_path, {**PROJECT, "shop/spiders/__init__.py": SPIDER_MODULE})
    site = web.site({"/robots.txt": RULES})
    done = run(tmp_path, site.url(), "--spider", name)
    assert done.returncode == status
    assert [seen.headers["user-agent"] for seen in web.arrivals()] == ([said] if not status else [])
    assert (said in done.stderr and done.stderr.count("\n") == 1) == bool(status)
    assert {path.name for path in tmp_path.iterdir()} == {"scrapy.cfg", "shop"}


def test_a_spider_that_does_not_load(tmp_path: Path) -> None:
    """With --spider the spiders are loaded; an error in their modules is one sentence."""
    lay(tmp_path, {**PROJECT, "robots.txt": RULES.decode()})
    done = run(tmp_path, "robots.txt", "--spider", "prices")
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "cannot be loaded: RuntimeError: a spider that does not load." in done.stderr


def test_the_token_of_a_spider(tmp_path: Path) -> None:
    """The rules of a file are read for the product of the spider."""
    rules = "User-agent: pricebot\nDisallow: /\n"
    spiders = {"shop/spiders/__init__.py": SPIDER_MODULE, "robots.txt": rules}
    lay(tmp_path, {**PROJECT, **spiders})
    assert run(tmp_path, "robots.txt", "--spider", "prices").returncode == 1
    assert run(tmp_path, "robots.txt", "--spider", "plain").returncode == 0


def test_no_pages(web: Web, tmp_path: Path) -> None:
    """--no-pages asks for robots.txt only."""
    site = web.site({"/robots.txt": RULES, "*": ""})
    run(tmp_path, site.url("/ok"), "--contact-email", "me@me.test", "--no-pages")
    assert [seen.path for seen in web.arrivals()] == ["/robots.txt"]


@pytest.mark.parametrize("form", [[], ["--json"]], ids=["text", "json"])
def test_a_site_that_does_not_answer(web: Web, tmp_path: Path, form: list[str]) -> None:
    """One sentence on standard error, no traceback; JSON has its report beside it."""
    url = web.deserted().url("/robots.txt")
    done = run(tmp_path, url, *form)
    assert done.returncode == 2
    assert done.stderr == f"scrapy robots: {url} could not be fetched: it refuses connections.\n"
    assert ('"error": "it refuses connections"' in done.stdout) == bool(form)
    assert bool(done.stdout) == bool(form)


def test_a_part_that_cannot_start(web: Web, tmp_path: Path) -> None:
    """A middleware of the project's that does not load is told in one sentence."""
    site = web.site({"/robots.txt": RULES})
    done = run(tmp_path, site.url(), "-s", 'DOWNLOADER_MIDDLEWARES={"no.such.Part": 1}')
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert "could not start: ModuleNotFoundError: No module named 'no'" in done.stderr


@pytest.mark.skipif(sys.platform == "win32", reason="signals differ")
def test_interrupted(web: Web, tmp_path: Path) -> None:
    """Ctrl-C ends it with one sentence."""
    site = web.site({"/robots.txt": Answer(delay=30)})
    command = [*SCRAPY, "robots", site.url(), "-s", "POLITE_ROBOTS_TIMEOUT=40"]
    asked: list[object] = []
    process = subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE, text=True)
    for _ in range(200):
        asked = list(site.counts)
        if asked:
            break
        time.sleep(0.05)
    assert asked
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=30)
    assert process.returncode == 2
    assert (
        err == f"scrapy robots: The visit to {site.url('')} was broken off (-L ERROR shows more).\n"
    )


def test_a_reader_that_leaves(tmp_path: Path) -> None:
    """Into a pipe that nobody reads (`| head`) it prints no traceback."""
    (tmp_path / "robots.txt").write_bytes(RULES)
    read, write = os.pipe()
    os.close(read)
    command = [*SCRAPY, "robots", "robots.txt"]
    done = subprocess.run(
        command, cwd=tmp_path, stdout=write, stderr=subprocess.PIPE, timeout=60, check=False
    )
    os.close(write)
    assert (done.returncode, done.stderr) == (0, b"")


def test_other_commands_start_as_fast(tmp_path: Path) -> None:
    """Scrapy loads the command for its list; what a visit needs is not loaded with it."""
    code = (
        "import sys, scrapy_polite.commands.robots\n"
        "print([m for m in sys.modules if m.startswith(('scrapy_polite.r', 'scrapy_polite.p'))])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert done.stdout == "[]\n"


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (CannotResolveHostError("x"), "its name does not resolve"),
        (HostParked("x"), "crawls that share POLITE_STATE were asked to leave it alone"),
        (CrawlStopping("x"), "the visit was stopped"),
        (DownloadFailedError("bad\nline\x1b"), r"the connection failed (bad line\x1b)"),
        (IgnoreRequest("not today"), "the fetch failed (IgnoreRequest: not today)"),
    ],
    ids=lambda value: value if isinstance(value, str) else type(value).__name__,
)
def test_words_for_errors(error: Exception, words: str) -> None:
    """Each kind of error has words that a person understands."""
    assert what_went_wrong(error, 30.0) == words
