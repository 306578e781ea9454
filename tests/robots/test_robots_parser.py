"""The Scrapy component, as Scrapy uses it."""

from __future__ import annotations

import logging

import pytest
from scrapy import Request, Spider
from scrapy.downloadermiddlewares.robotstxt import RobotsTxtMiddleware
from scrapy.exceptions import IgnoreRequest
from scrapy.robotstxt import RobotParser
from scrapy.utils.test import get_crawler

from scrapy_polite.robots.parser import Rfc9309RobotParser

FILE = b"""\
User-agent: *
Crawl-delay: 5
Request-rate: 1/20

User-agent: ExampleBot
Crawl-delay: 7
Disallow: /private
Sitemap: https://site.example/s.xml
Host: www.site.example
"""


@pytest.fixture
def parser() -> Rfc9309RobotParser:
    return Rfc9309RobotParser.from_crawler(None, FILE)


def test_is_what_scrapy_asks_for() -> None:
    """It is a parser of Scrapy, and takes the spider from the crawler."""
    crawler = get_crawler(Spider)
    crawler.spider = Spider("a")
    parser = Rfc9309RobotParser.from_crawler(crawler, FILE)
    assert isinstance(parser, RobotParser)
    assert parser.spider is crawler.spider


@pytest.mark.parametrize("agent", ["ExampleBot", b"ExampleBot/1.0 (+https://bot.example/)"])
@pytest.mark.parametrize("url", ["https://site.example/private", b"https://site.example/private"])
def test_takes_text_and_octets(
    parser: Rfc9309RobotParser, url: str | bytes, agent: str | bytes
) -> None:
    """URL and user agent may be text or octets."""
    assert not parser.allowed(url, agent)
    assert parser.explain(url, agent).line == 7
    assert parser.group(agent).name == "examplebot"
    assert parser.crawl_delay(agent) == 7.0


def test_crawl_delay_is_the_longest_wait_of_the_group(parser: Rfc9309RobotParser) -> None:
    """Request-rate is a delay too; a file that asks for none has none."""
    assert parser.crawl_delay("OtherBot") == 20.0
    assert Rfc9309RobotParser(b"User-agent: *\nDisallow: /").crawl_delay("OtherBot") is None


def test_sitemaps_and_host(parser: Rfc9309RobotParser) -> None:
    """Sitemaps and host of the whole file are told."""
    assert parser.sitemaps() == ("https://site.example/s.xml",)
    assert parser.preferred_host() == "www.site.example"


def test_joined_groups_are_logged_once(
    parser: Rfc9309RobotParser, caplog: pytest.LogCaptureFixture
) -> None:
    """A rule that reaches us over a Crawl-delay is told once, with its line."""
    caplog.set_level(logging.INFO)
    for path in "abc":
        parser.allowed(f"https://site.example/{path}", "OtherBot")
    parser.allowed("https://site.example/a", "ExampleBot")
    assert [record.levelname for record in caplog.records] == ["INFO"]
    assert "line 5 starts no new group" in caplog.text


def test_stock_middleware_takes_it() -> None:
    """It works through ROBOTSTXT_PARSER in Scrapy's own middleware."""
    settings = {
        "ROBOTSTXT_OBEY": True,
        "ROBOTSTXT_PARSER": "scrapy_polite.robots.parser.Rfc9309RobotParser",
        "ROBOTSTXT_USER_AGENT": "ExampleBot/1.0",
    }
    crawler = get_crawler(Spider, settings)
    middleware = RobotsTxtMiddleware.from_crawler(crawler)
    parser = Rfc9309RobotParser.from_crawler(crawler, FILE)
    middleware.process_request_2(parser, Request("https://site.example/a"))
    with pytest.raises(IgnoreRequest):
        middleware.process_request_2(parser, Request("https://site.example/private"))
