"""Scrapy's commands in a project that has the add-on: they work, and they are polite."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from crawls.judging import DISALLOW
from harness import POLITE, Web
from harness.child import environment
from harness.pages import Page

SPIDER = '''
import scrapy

class GuestSpider(scrapy.Spider):
    name = "guest"
    custom_settings = {settings}
    start_urls = ["{url}/start", "{url}/private/page"]
    more = None

    def parse(self, response):
        """
        @url {url}/checked
        @returns items 1 1
        """
        yield {{"found": response.url}}
        if self.more:
            yield response.follow(self.more, self.parse_more)

    def parse_more(self, response):
        yield {{"more": response.url}}
'''
COMMANDS = {
    "crawl": (["crawl", "guest"], ["/robots.txt", "/start"], "/start'}}"),
    "crawl -a -s -O": (
        ["crawl", "guest", "-a", "more=/2", "-s", "POLITE_PRODUCT=OtherBot", "-O", "-:jsonlines"],
        ["/robots.txt", "/start", "/2"],
        '{{"more": "{url}/2"}}',
    ),
    "runspider": (["runspider", "project/guest.py"], ["/robots.txt", "/start"], "/start'}}"),
    "check": (["check", "guest"], ["/robots.txt", "/checked"], "OK"),
    "fetch": (["fetch", "--nolog", "{url}/page"], ["/robots.txt", "/page"], "a page"),
    "fetch, forbidden": (["fetch", "--nolog", "{url}/private/page"], ["/robots.txt"], ""),
    "parse": (["parse", "--spider=guest", "{url}/page"], ["/robots.txt", "/page"], "/page'}}"),
    "parse, deeper": (
        ["parse", "--spider=guest", "-a", "more=/2", "--depth=2", "{url}/page"],
        ["/robots.txt", "/page", "/2"],
        "{{'more': '{url}/2'}}",
    ),
    "shell": (
        ["shell", "--nolog", "{url}/page", "-c", "fetch('{url}/2') or response.url + '!'"],
        ["/robots.txt", "/page", "/2"],
        "/2!",
    ),
    "shell, forbidden": (
        ["shell", "--nolog", "{url}/private/page", "-c", "response"],
        ["/robots.txt"],
        "None",
    ),
}
"""Arguments, the paths that are to be asked for, and what is to be printed."""


def project(folder: Path, url: str) -> None:
    """Write a Scrapy project with the add-on and one spider."""
    (folder / "project").mkdir(parents=True)
    settings = {**POLITE, "SPIDER_MODULES": ["project"], "LOG_LEVEL": "DEBUG"}
    (folder / "scrapy.cfg").write_text("[settings]\ndefault = project.settings\n")
    (folder / "project" / "__init__.py").touch()
    (folder / "project" / "settings.py").write_text(
        "\n".join(f"{name} = {value!r}" for name, value in settings.items())
    )
    (folder / "project" / "guest.py").write_text(SPIDER.format(url=url, settings={}))


def start(folder: Path, arguments: list[str]) -> subprocess.Popen[str]:
    """Start `scrapy` in a folder."""
    return subprocess.Popen(
        [sys.executable, "-m", "scrapy", *arguments],
        cwd=folder,
        env=environment(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


FAILING = {
    "fetch": ["fetch", "{url}/page"],
    "shell": ["shell", "{url}/page", "-c", "'the response: ' + str(response)"],
    "parse": ["parse", "--spider=guest", "{url}/page"],
    "crawl": ["crawl", "guest", "-s", "POLITE_ROBOTS_HOLD=0"],
}
"""Commands that nobody answers; who types one of the first three waits for no robots.txt."""


@pytest.mark.slow
def test_commands_that_fail_say_why_at_once(web: Web, tmp_path: Path) -> None:
    """Nothing is held for a misspelt host, and by fetch and shell nothing for a 503 either."""
    down = web.site({"/robots.txt": 503}).url("")
    started = {}
    for url in ("http://nobody.invalid", down):
        for name, arguments in FAILING.items():
            folder = tmp_path / f"{name}{url == down}"
            project(folder, url)
            words = [part.format(url=url) for part in arguments]
            started[name, url == down] = start(folder, [*words, "-s", "POLITE_MIN_DELAY=1"])
    outputs = {key: process.communicate(timeout=90)[0] for key, process in started.items()}
    for (name, is_down), output in outputs.items():
        if is_down:
            assert "could not be read (status 503)" in output, output
        else:
            assert "Gave up retrying <GET http://nobody.invalid/" in output, output
            assert "WARNING: http://nobody.invalid: no server is there" in output, output
            assert "polite/wait/seconds" not in output, output  # nobody was asked
        status = 1 if (name, is_down) == ("shell", False) else 0  # as without the add-on
        assert started[name, is_down].returncode == status, output
    assert "the response: None" in outputs["shell", True]


@pytest.mark.slow
def test_commands(web: Web, tmp_path: Path) -> None:
    """crawl, runspider, check, fetch, parse and shell fetch what they should and nothing else.

    They run side by side, each in a project and on a host of its own.
    """
    pages: dict[str, Page] = {"/robots.txt": DISALLOW, "*": "<p>a page</p>"}
    sites = {name: web.site(pages) for name in COMMANDS}
    started = {}
    for name, (arguments, _, _) in COMMANDS.items():
        url = sites[name].url("")
        project(tmp_path / name, url)
        started[name] = start(tmp_path / name, [part.format(url=url) for part in arguments])
    outputs = {name: process.communicate(timeout=90)[0] for name, process in started.items()}
    for name in COMMANDS:
        _, asked, said = COMMANDS[name]
        output, arrivals = outputs[name], web.arrivals(sites[name].host)
        assert [seen.path for seen in arrivals] == asked, output
        assert said.format(url=sites[name].url("")) in output, output
        bot = "OtherBot" if "-s" in name else "HarnessBot"
        assert all(seen.headers["user-agent"].startswith(bot) for seen in arrivals)
        assert "Traceback" not in output, output
