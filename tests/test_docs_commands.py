"""The commands of the README and docs/, typed as their reader types them.

Rules: RUNNERS says for each kind of command how a test runs it; a command that nobody runs fails.
Commands of `scrapy` run in a project of one spider, against a web on loopback that stands for
site.example and was crawled once before.  What takes minutes is only looked at; others run it.
"""

from __future__ import annotations

import argparse
import configparser
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple

import pytest
from scrapy.settings import Settings

from distributed.servers import RedisServer
from harness import POLITE, Site, Web, most_at_once, robots_fetches
from harness.child import environment
from harness.needing import need
from prose import ON_REDIS, ROOT, Command, page, pages
from scrapy_polite.commands import politeness, robots

RECIPE = page("docs/several-processes.md").section("One crawl on several machines: scrapy-redis")
SPIDER = """
import scrapy

class PriceSpider(scrapy.Spider):
    name = "prices"

    async def start(self):
        for url in {urls}:
            yield scrapy.Request(url)

    def parse(self, response):
        yield from response.follow_all(css="a")
"""


class Place(NamedTuple):
    """Where commands are typed: a folder with a project, and the site that it crawls."""

    folder: Path
    site: Site

    def type(self, line: str) -> subprocess.Popen[str]:
        """Start a command of the `scrapy` tool; site.example is our site."""
        line = line.replace("https://site.example", self.site.url(""))
        words = shlex.split(line.replace("site.example", self.site.host))
        assert words[0] == "scrapy"
        return subprocess.Popen(
            [sys.executable, "-m", *words],
            cwd=self.folder,
            env=environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def run(self, line: str) -> str:
        """Run a command to its end and return what it printed; it must not fail."""
        process = self.type(line)
        output, log = process.communicate(timeout=60)
        statuses = (0, 1) if "scrapy robots" in line else (0,)  # 1: a page is disallowed
        assert process.returncode in statuses, log
        assert "Traceback" not in log, log
        return output


def make_project(folder: Path, settings: str, urls: list[str]) -> None:
    """Write a project with these lines in its settings.py, and a spider that begins with *urls*."""
    package = folder / "shop"
    package.mkdir()
    (folder / "scrapy.cfg").write_text("[settings]\ndefault = shop.settings\n")
    (package / "__init__.py").touch()
    (package / "settings.py").write_text(f'SPIDER_MODULES = ["shop.spiders"]\n{settings}')
    (package / "spiders.py").write_text(SPIDER.format(urls=urls))


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    """A project that was crawled once, with a state, an event log and a robots.txt to look at."""
    folder = tmp_path_factory.mktemp("place")
    examples = [b for b in page("docs/robots.md").blocks if b.language == "robots"]
    [example] = [b for b in examples if "FooBot" in b.text]
    (folder / "robots.txt").write_text(example.text)
    with Web() as web:
        site = web.site({"/robots.txt": "User-agent: *\nDisallow: /private", "*": "page"})
        settings = "\n".join(f"{name} = {value!r}" for name, value in POLITE.items())
        make_project(folder, settings, [site.url("/page")])
        place = Place(folder, site)
        place.run(
            "scrapy crawl prices -s JOBDIR=jobs/prices -s POLITE_TIMELINE=polite.events.jsonl"
        )
        yield place


def _quietly(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(words, cwd=ROOT, check=False, capture_output=True, text=True)


def _in_project(place: Place, command: Command) -> None:
    if "--png" in command.line:
        pytest.importorskip("matplotlib")
    output = iter(place.run(command.line).splitlines())
    for line in command.prints:
        assert any(line in printed for printed in output), line


def _pip(command: Command) -> None:
    """Asks for this package, and for extras that it has."""
    [name] = shlex.split(command.line)[2:]
    packaging = configparser.ConfigParser()
    packaging.read(ROOT / "setup.cfg")
    project, _, extras = name.strip("]").partition("[")
    assert project == packaging["metadata"]["name"]
    assert set(filter(None, extras.split(","))) <= set(packaging["options.extras_require"])


def _make(command: Command) -> None:
    """Make knows the target, and the files in its recipe are there."""
    if shutil.which("make") is None:
        pytest.skip("make is not installed")
    words = shlex.split(command.line)
    done = _quietly(words[0], "-n", *words[1:])
    assert done.returncode == 0, done.stderr
    for file in re.findall(r"[\w./]+\.py\b", done.stdout):
        assert (ROOT / file).exists(), file


def _benchmark(command: Command) -> None:
    """The file is there and knows the options; `make bench` runs it."""
    _, file, *words = shlex.split(command.line)
    text = (ROOT / file).read_text()
    for option in (word for word in words if word.startswith("--")):
        assert f'"{option}"' in text, option


def _pytest(command: Command) -> None:
    """Pytest finds tests for these arguments."""
    words = [sys.executable, *shlex.split(command.line)[1:], "--collect-only", "-q"]
    done = _quietly(*words)
    assert done.returncode == 0, done.stdout + done.stderr


def _script(command: Command) -> None:
    """The script has no error of syntax; it is what runs these tests."""
    done = _quietly("bash", "-n", *shlex.split(command.line)[1:])
    assert done.returncode == 0


def _tox(command: Command) -> None:
    """Each part of a row's name is a Python, or stands in tox.ini."""
    [name] = shlex.split(command.line)[3:]
    _, *parts = name.split("-")
    told = (ROOT / "tox.ini").read_text()
    assert [part for part in parts if f"{part}:" not in told] == []


def _in_recipe(command: Command) -> None:
    """`test_the_recipe_for_scrapy_redis` runs it."""
    assert command in RECIPE.commands


RUNNERS: dict[str, Callable[[Command], None]] = {
    r"pip install \S+": _pip,
    r"make [\w-]+( PYTEST_ARGS=.*)?": _make,
    r"python benchmarks/\w+\.py.*": _benchmark,
    r"\.venv/bin/python -m pytest .*": _pytest,
    r"bash \.ci/run": _script,
    r"tox run -e py3\d\d(-\w+)+": _tox,
    r"redis-(server|cli) .*": _in_recipe,
}
COMMANDS = dict.fromkeys(command for each in pages() for command in each.commands)


@pytest.mark.slow
@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command.line)
def test_command(place: Place, command: Command) -> None:
    """Each command is run, in the project or by exactly one runner, and prints what it should."""
    if command.line.startswith("scrapy "):
        _in_project(place, command)
        return
    [run] = [run for kind, run in RUNNERS.items() if re.fullmatch(kind, command.line)]
    run(command)


def test_options_that_are_mentioned() -> None:
    """Each option in backticks is one of our commands."""
    parser = argparse.ArgumentParser(conflict_handler="resolve")
    for command in (robots.Command(), politeness.Command()):
        command.settings = Settings()
        command.add_options(parser)
    prose = "\n".join(each.prose for each in pages())
    mentioned = re.findall(r"`(?:scrapy (?:robots|politeness) [^`]*)?(--[\w-]+)", prose)
    assert mentioned
    assert set(mentioned) <= set(re.findall(r"--[\w-]+", parser.format_help()))


@pytest.mark.parametrize("line", sorted({
    line for each in pages() for line in re.findall(r"`(make [\w-]+|bash [^`]+)`", each.prose)
}))  # fmt: skip
def test_commands_that_are_mentioned(line: str) -> None:
    """A command of make or bash within a sentence is there."""
    (_make if line.startswith("make") else _script)(Command(line))


@pytest.mark.slow
def test_a_crawl_without_a_contact(place: Place) -> None:
    """It exits with 1, as the page of settings says, and names the setting."""
    process = place.type("scrapy crawl prices -s POLITE_CONTACT_EMAIL=you@example.com")
    _, log = process.communicate(timeout=60)
    assert process.returncode == 1
    assert "POLITE_CONTACT_EMAIL" in log


@pytest.mark.slow
def test_the_recipe_for_scrapy_redis(web: Web, tmp_path: Path) -> None:
    """Typed from top to bottom, with other addresses, it makes two workers one polite guest."""
    need("redis-cli", shutil.which("redis-cli"), "apt-get install redis-tools")
    pytest.importorskip("scrapy_redis")
    commands = [command.line for command in RECIPE.commands]
    server, cli = (
        next(c for c in commands if c.startswith(f"redis-{n} ")) for n in ("server", "cli")
    )
    crawls = [line for line in commands if line.startswith("scrapy ")]
    [block] = [block for block in RECIPE.blocks if "SCHEDULER" in block.text]
    front = {"body": "".join(f"<a href='/p{n}'></a>" for n in range(3)), "delay": 0.05}
    sites = [web.site({"/robots.txt": "", "/": front, "*": "page"}) for _ in range(4)]
    with ExitStack() as stack:
        redis = stack.enter_context(RedisServer(*shlex.split(server)[3:]))
        redis.settle("polite:")  # as if it had been up for longer than 30 s
        quick = "\nPOLITE_MIN_DELAY = 0.1\nTELNETCONSOLE_ENABLED = False\n"
        settings = block.text.replace(ON_REDIS, redis.url) + quick
        make_project(tmp_path, settings, [site.url("/") for site in sites])
        workers = [Place(tmp_path, sites[0]).type(line) for line in crawls]
        for worker in workers:
            stack.callback(worker.kill)
        logs = [worker.communicate(timeout=90)[1] for worker in workers]
        asked = [(seen.host, seen.path) for seen in web.arrivals()]
        cleared = subprocess.check_output(shlex.split(cli.replace("6379", str(redis.port))))
    assert len(workers) == 2
    assert ["finished" in log for log in logs] == [True, True], logs
    assert sorted(asked) == sorted(set(asked))
    assert len(asked) == len(sites) * 5  # robots.txt, the front page and three more of each
    assert len(robots_fetches(web.arrivals())) == len(sites)
    assert {most_at_once(web.arrivals(), site.host) for site in sites} == {1}
    assert cleared.strip() == b"1"
