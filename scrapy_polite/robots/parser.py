"""The Scrapy component: put it into `ROBOTSTXT_PARSER`, with the stock middleware or ours.

It takes what Scrapy hands over, octets or text, a product token or a whole User-Agent, and passes
it to the modules beside it. It judges nothing itself.
"""

from __future__ import annotations

import logging
from functools import lru_cache
from typing import TYPE_CHECKING

from scrapy.robotstxt import RobotParser

from scrapy_polite.policy.identity import product_token
from scrapy_polite.robots import hints
from scrapy_polite.robots.groups import Group
from scrapy_polite.robots.preferences import Wish
from scrapy_polite.robots.rules import RobotsRules, Verdict

if TYPE_CHECKING:
    from scrapy import Spider
    from scrapy.crawler import Crawler

    # typing.Self requires Python 3.11
    from typing_extensions import Self

logger = logging.getLogger(__name__)


class Rfc9309RobotParser(RobotParser):
    """A robots.txt parser that follows RFC 9309 and can say what decided.

    Wherever a user agent is asked for, a product token will do, or a whole User-Agent. No input
    raises, and the cost is linear in the file.

    Attributes:
        rules: the file and its rules, without anything of Scrapy.

    >>> parser = Rfc9309RobotParser(b"User-agent: FooBot\\nDisallow: /private\\n")
    >>> parser.allowed("https://site.example/private", "FooBot/1.0 (+https://foobot.test/)")
    False
    """

    def __init__(self, robotstxt_body: bytes, spider: Spider | None = None) -> None:
        self.rules = RobotsRules(robotstxt_body)
        self.spider = spider
        self._delays: dict[str, float | None] = {}

    @classmethod
    def from_crawler(cls, crawler: Crawler | None, robotstxt_body: bytes) -> Self:
        return cls(robotstxt_body, crawler.spider if crawler else None)

    def allowed(self, url: str | bytes, user_agent: str | bytes) -> bool:
        """Return whether *user_agent* may fetch *url*."""
        return self.rules.allowed(_text(url), self._token(user_agent))

    def explain(self, url: str | bytes, user_agent: str | bytes) -> Verdict:
        """Return the verdict of `allowed`, with the group, line and rule that decided it."""
        return self.rules.explain(_text(url), self._token(user_agent))

    def usage(self, url: str | bytes, user_agent: str | bytes) -> dict[str, Wish]:
        """Return what may be done with a page, by Content-Usage and Content-Signal.

        Returns:
            For each label (`train-ai`, `search`, `ai-input`) what the owner says, and the line that
            decides; unknown where nobody says anything, and for a page that may not be fetched.
        """
        return self.rules.usage(_text(url), self._token(user_agent))

    def group(self, user_agent: str | bytes) -> Group:
        """Return the group that *user_agent* obeys, without its rules."""
        return self.rules.group(self._token(user_agent))

    def crawl_delay(self, user_agent: str | bytes) -> float | None:
        """Return the wait that the file asks of *user_agent*, by Crawl-delay or Request-rate.

        Returns:
            Seconds between two fetches, not capped; None when nothing is asked for.
        """
        return self._delays[self._token(user_agent)]

    def sitemaps(self) -> tuple[str, ...]:
        """Return the addresses of the sitemaps that the file names."""
        return hints.sitemaps(self.rules.file.records())

    def preferred_host(self) -> str | None:
        """Return the host that the file prefers, None when it names none."""
        return hints.preferred_host(self.rules.file.records())

    def _token(self, user_agent: str | bytes) -> str:
        token = _product_token(user_agent)
        if token not in self._delays:
            group = self.rules.group(token)
            self._delays[token] = hints.delay(group.hints) if group.hints else None
            self._warn_of_joined(group)
        return token

    def _warn_of_joined(self, group: Group) -> None:
        if group.joined_at:
            logger.info(
                "robots.txt: line %(line)d starts no new group, because no rule stands between it"
                " and the names above it: what it forbids is forbidden to %(name)s too",
                {"line": group.joined_at, "name": group.name},
                extra={"spider": self.spider},
            )


@lru_cache(maxsize=1024)
def _product_token(user_agent: str | bytes) -> str:
    return product_token(_text(user_agent))


def _text(value: str | bytes) -> str:
    return value if isinstance(value, str) else value.decode("utf-8", "surrogateescape")
