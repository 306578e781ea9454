"""The add-on over the settings that users have, judged by what Scrapy would make of them.

Rules: a user's settings are applied at the priority of a project, a spider and a command line.
`places` tells which of our components and of the built-ins that they replace Scrapy would make, and
where; a row of USERS says how that differs from a user who set nothing. No network but in the tests
of the start, which run the real `scrapy` command in a project of their own.
"""

from __future__ import annotations

import logging
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from scrapy.core.downloader import Downloader
from scrapy.core.downloader.handlers import DownloadHandlers
from scrapy.core.downloader.middleware import DownloaderMiddlewareManager
from scrapy.crawler import Crawler
from scrapy.downloadermiddlewares.robotstxt import RobotsTxtMiddleware
from scrapy.extensions.throttle import AutoThrottle
from scrapy.pqueues import ScrapyPriorityQueue
from scrapy.settings import BaseSettings, Settings
from scrapy.utils.conf import build_component_list
from scrapy.utils.misc import load_object
from scrapy.utils.test import get_crawler

from harness import Web
from scrapy_polite import Addon
from scrapy_polite.addon import SETTINGS
from scrapy_polite.downloader import PoliteDownloader
from scrapy_polite.middlewares import PoliteGateMiddleware
from scrapy_polite.runtime import listing
from scrapy_polite.runtime.listing import (
    COMPONENTS,
    EXTENSIONS,
    HEARERS,
    MIDDLEWARES,
    SPIDER_MIDDLEWARES,
)

ADDONS = {"ADDONS": {"scrapy_polite.Addon": 500}}
CONTACT = {"BOT_NAME": "OwnBot", "POLITE_CONTACT_EMAIL": "ops@ownbot.test"}
ROBOTS = "scrapy.downloadermiddlewares.robotstxt.RobotsTxtMiddleware"
THROTTLE = "scrapy.extensions.throttle.AutoThrottle"
OURS = {
    setting: {item.path: item.position for item in COMPONENTS if item.setting == setting}
    for setting in (MIDDLEWARES, EXTENSIONS)
}
BY_HAND: dict[str, dict[str, int | None]] = {
    MIDDLEWARES: {ROBOTS: None, **OURS[MIDDLEWARES]},
    EXTENSIONS: {**OURS[EXTENSIONS]},
}


class OwnGate(PoliteGateMiddleware):
    """A user's own gate."""


class OwnQueue(ScrapyPriorityQueue):
    """A user's own queue."""


class OwnDownloader(Downloader):
    """A user's own downloader."""


class DerivedDownloader(PoliteDownloader):
    """A user's own downloader, derived from ours."""


def polite(values: dict[str, Any], priority: str = "project", *, times: int = 1) -> Settings:
    """Return a user's settings after the add-on."""
    settings = Settings(CONTACT)
    settings.update(values, priority=priority)
    for _ in range(times):
        Addon().update_settings(settings)
    return settings


def places(settings: BaseSettings) -> dict[str, int | None]:
    """Return where Scrapy would make our components and the built-ins, None: nowhere."""
    found: dict[str, int | None] = dict.fromkeys(PLAIN)
    for setting in (MIDDLEWARES, SPIDER_MIDDLEWARES, EXTENSIONS):
        effective = settings.get_component_priority_dict_with_base(setting)
        for key in build_component_list(effective):
            name = load_object(key).__name__
            if name.startswith(("Polite", "Own")) or name in PLAIN:
                found[name] = effective[key]
    return found


PLAIN: dict[str, int | None] = {
    "RobotsTxtMiddleware": None,
    "PolitePageMiddleware": 95,
    "PoliteRobotsTxtMiddleware": 100,
    "PoliteIdentityMiddleware": 490,
    "PoliteBackoffMiddleware": 560,
    "PoliteGateMiddleware": 950,
    "PoliteSpiderMiddleware": 950,
    "AutoThrottle": None,
    "PoliteThrottle": 0,
    "PoliteBackoff": 0,
    "PoliteTimeline": 0,
    "PoliteReport": 0,
    "PoliteProgress": 0,
}
STOCK = {**dict.fromkeys(PLAIN), "RobotsTxtMiddleware": 100, "AutoThrottle": 0}

# a user's settings, which places differ from PLAIN
USERS: dict[str, tuple[dict[str, Any], dict[str, int | None]]] = {
    "nothing": ({}, {}),
    "robots middleware moved": (
        {MIDDLEWARES: {ROBOTS: 120}},
        {"PoliteRobotsTxtMiddleware": 120},
    ),
    "robots middleware moved, as a class": (
        {MIDDLEWARES: {RobotsTxtMiddleware: 120}},
        {"PoliteRobotsTxtMiddleware": 120},
    ),
    "robots middleware switched off": (
        {MIDDLEWARES: {ROBOTS: None}},
        {"PoliteRobotsTxtMiddleware": None},
    ),
    "ours at an own position": (
        {MIDDLEWARES: {"scrapy_polite.PoliteRobotsTxtMiddleware": 130}},
        {"PoliteRobotsTxtMiddleware": 130},
    ),
    "ours at an own position, as a class": (
        {MIDDLEWARES: {PoliteGateMiddleware: 940}},
        {"PoliteGateMiddleware": 940},
    ),
    "ours by its long name": (
        {MIDDLEWARES: {"scrapy_polite.middlewares.gate.PoliteGateMiddleware": 940}},
        {"PoliteGateMiddleware": 940},
    ),
    "ours switched off": (
        {MIDDLEWARES: {"scrapy_polite.PoliteIdentityMiddleware": None}},
        {"PoliteIdentityMiddleware": None},
    ),
    "a subclass of ours": (
        {MIDDLEWARES: {OwnGate: 945}},
        {"PoliteGateMiddleware": None, "OwnGate": 945},
    ),
    "AutoThrottle moved": ({EXTENSIONS: {THROTTLE: 7}}, {"PoliteThrottle": 7}),
    "AutoThrottle moved, as a class": ({EXTENSIONS: {AutoThrottle: 7}}, {"PoliteThrottle": 7}),
    "AutoThrottle switched off": ({EXTENSIONS: {THROTTLE: None}}, {"PoliteThrottle": None}),
    "all by hand": (BY_HAND, {}),
    "half by hand": ({EXTENSIONS: {"scrapy_polite.PoliteBackoff": 3}}, {"PoliteBackoff": 3}),
    "components of others": (
        {MIDDLEWARES: {"scrapy.downloadermiddlewares.retry.RetryMiddleware": 200}},
        {},
    ),
    "robots.txt not obeyed": ({"ROBOTSTXT_OBEY": False}, {}),
    "own queue": ({"SCHEDULER_PRIORITY_QUEUE": OwnQueue}, {}),
    "own downloader": ({"DOWNLOADER": OwnDownloader}, {}),
    "own parser": ({"ROBOTSTXT_PARSER": "scrapy.robotstxt.ProtegoRobotParser"}, {}),
    "own ceiling": ({"AUTOTHROTTLE_MAX_DELAY": 1200.0}, {}),
    "AutoThrottle's switch": ({"AUTOTHROTTLE_ENABLED": False}, {}),
}
PRIORITIES = ["project", "spider", "cmdline"]
each_user = pytest.mark.parametrize(("values", "changes"), USERS.values(), ids=USERS)


@each_user
@pytest.mark.parametrize("priority", PRIORITIES)
def test_what_scrapy_makes(
    values: dict[str, Any], changes: dict[str, int | None], priority: str
) -> None:
    """Our components stand in the built-ins' places, or where and whether the user wants them."""
    assert places(polite(values, priority)) == {**PLAIN, **changes}


@each_user
@pytest.mark.parametrize("priority", PRIORITIES)
def test_settings_of_the_users_stand(
    values: dict[str, Any], changes: dict[str, int | None], priority: str
) -> None:
    """What a user set is left alone, what nobody set is the add-on's, at its priority."""
    settings = polite(values, priority)
    for name, ours in SETTINGS.items():
        assert settings[name] == values.get(name, ours)
        assert name in values or settings.getpriority(name) == 15


@each_user
def test_twice_is_once(values: dict[str, Any], changes: dict[str, int | None]) -> None:
    """Running the add-on again changes nothing."""
    assert dump(polite(values, times=2)) == dump(polite(values))


def test_switched_off() -> None:
    """With POLITE_ENABLED = False the crawl is stock Scrapy's, and no contact is asked for."""
    values = {"POLITE_ENABLED": False, "POLITE_CONTACT_EMAIL": None}
    settings, stock = polite(values), Settings({**CONTACT, **values})
    assert dump(settings) == dump(stock)
    assert places(settings) == STOCK


def dump(settings: Settings) -> dict[str, tuple[object, int | None]]:
    """Return each setting with its priority, components as plain dicts."""
    return {
        name: (
            dict(value) if isinstance(value, BaseSettings) else value,
            settings.getpriority(name),
        )
        for name, value in settings.items()
    }


def test_names_rather_than_classes() -> None:
    """Our components are listed by name, so that Scrapy's log of them reads like its own."""
    listed = [*polite({})[MIDDLEWARES], *polite({})[EXTENSIONS]]
    ours = {item.path for item in COMPONENTS}
    assert ours <= {key for key in listed if isinstance(key, str)}


# HTTPCACHE_IGNORE_HTTP_CODES of the user's, our statuses, what is ignored then
CACHE: list[tuple[dict[str, Any], list[int]]] = [
    ({}, [429, 503]),
    ({"HTTPCACHE_IGNORE_HTTP_CODES": [404, 503]}, [404, 429, 503]),
    ({"HTTPCACHE_IGNORE_HTTP_CODES": "500,404"}, [404, 429, 500, 503]),
    ({"POLITE_BACKOFF_STATUSES": "429,503,509"}, [429, 503, 509]),
]


@pytest.mark.parametrize("priority", PRIORITIES)
@pytest.mark.parametrize(("values", "ignored"), CACHE)
def test_refusals_are_never_cached(
    values: dict[str, Any], ignored: list[int], priority: str
) -> None:
    """HttpCache ignores refusals as well as what the user lets it ignore."""
    assert polite(values, priority)["HTTPCACHE_IGNORE_HTTP_CODES"] == ignored


# settings, the settings or components that the warnings begin with
DEFEATS: dict[str, tuple[dict[str, Any], list[str]]] = {
    "nothing": ({}, []),
    "what is no harm": (
        {"DOWNLOAD_DELAY": 5, "AUTOTHROTTLE_MAX_DELAY": 900, "RETRY_TIMES": 9, "POLITE_JITTER": 0},
        [],
    ),
    "derived from ours": ({"DOWNLOADER": DerivedDownloader, MIDDLEWARES: {OwnGate: 950}}, []),
    "ours by its long name": (
        {"SCHEDULER_PRIORITY_QUEUE": "scrapy_polite.queues.PolitePriorityQueue"},
        [],
    ),
    "robots.txt": ({"ROBOTSTXT_OBEY": False}, ["ROBOTSTXT_OBEY = False"]),
    "AutoThrottle": ({"AUTOTHROTTLE_ENABLED": "0"}, ["AUTOTHROTTLE_ENABLED = '0'"]),
    "connections": (
        {"AUTOTHROTTLE_TARGET_CONCURRENCY": 4.0},
        ["AUTOTHROTTLE_TARGET_CONCURRENCY = 4.0"],
    ),
    "ceiling": ({"AUTOTHROTTLE_MAX_DELAY": 60}, ["AUTOTHROTTLE_MAX_DELAY = 60"]),
    "factor": ({"POLITE_DELAY_FACTOR": 1}, ["POLITE_DELAY_FACTOR = 1"]),
    "statuses": ({"POLITE_BACKOFF_STATUSES": [429]}, ["POLITE_BACKOFF_STATUSES = [429]"]),
    "anonymous": (
        {"POLITE_CONTACT_EMAIL": None, "POLITE_ALLOW_ANONYMOUS": True},
        ["POLITE_ALLOW_ANONYMOUS = True"],
    ),
    "anonymous in vain": ({"POLITE_ALLOW_ANONYMOUS": True}, []),
    "queue": ({"SCHEDULER_PRIORITY_QUEUE": OwnQueue}, ["SCHEDULER_PRIORITY_QUEUE = <class"]),
    "downloader": ({"DOWNLOADER": OwnDownloader}, ["DOWNLOADER = <class"]),
    "robots middleware": ({MIDDLEWARES: {ROBOTS: None}}, [COMPONENTS[0].path]),
    "throttle": ({EXTENSIONS: {THROTTLE: None}}, ["scrapy_polite.PoliteThrottle"]),
    **{item.path: ({item.setting: {item.path: None}}, [item.path]) for item in COMPONENTS},
    "two": (
        {"ROBOTSTXT_OBEY": False, "POLITE_DELAY_FACTOR": 0},
        ["ROBOTSTXT_OBEY = False", "POLITE_DELAY_FACTOR = 0"],
    ),
}


@pytest.mark.parametrize(("values", "begins"), DEFEATS.values(), ids=DEFEATS)
def test_one_warning_per_setting_that_defeats_politeness(
    values: dict[str, Any], begins: list[str], caplog: pytest.LogCaptureFixture
) -> None:
    """Each such setting is named in one warning that says what it means, and nothing else is."""
    polite(values)
    warned = [r.getMessage() for r in caplog.records if r.levelno >= logging.WARNING]
    assert len(warned) == len(begins)
    assert all(line.startswith(begin) for line, begin in zip(warned, begins, strict=True))
    assert all(": " in line for line in warned)


@pytest.mark.parametrize(
    ("name", "advice"),
    [
        ("POLITE_MIN_DELY", "write POLITE_MIN_DELAY"),
        ("POLITE_ROBOTS_HOLD_TIME", "write POLITE_ROBOTS_HOLD"),
        ("POLITE_XYZ", "leave it out"),
    ],
)
def test_a_setting_that_is_none_is_named(
    name: str, advice: str, caplog: pytest.LogCaptureFixture
) -> None:
    """A misspelt setting is named in one warning, with the one that it may mean."""
    polite({name: 3})
    [warned] = [r.getMessage() for r in caplog.records if r.levelno >= logging.WARNING]
    assert warned == f"{name}: has no effect, there is no such setting; {advice}"


def test_the_start_names_the_identity(caplog: pytest.LogCaptureFixture) -> None:
    """One line at the start says who crawls and which groups of robots.txt apply."""
    caplog.set_level(logging.INFO)
    polite({"POLITE_PRODUCT": "FooBot/2", "POLITE_CONTACT_URL": "https://foo.test/bot"})
    assert [r.getMessage() for r in caplog.records] == [
        "Crawling as FooBot/2 (+https://foo.test/bot; ops@ownbot.test); robots.txt groups: FooBot"
    ]


def crawler_of(values: dict[str, Any]) -> Crawler:
    """Return a crawler that applied its settings, as at the start of a crawl."""
    return get_crawler(settings_dict={**CONTACT, "TELNETCONSOLE_ENABLED": False, **values})


def made(crawler: Crawler) -> dict[str, list[str]]:
    """Return the class names of the middlewares and extensions that a crawler makes."""
    middlewares = DownloaderMiddlewareManager.from_crawler(crawler).middlewares
    extensions = crawler.extensions
    assert extensions is not None
    return {
        MIDDLEWARES: [type(middleware).__name__ for middleware in middlewares],
        EXTENSIONS: [type(extension).__name__ for extension in extensions.middlewares],
    }


BY_HAND_SETTINGS = {**BY_HAND, **SETTINGS, EXTENSIONS: {THROTTLE: None, **BY_HAND[EXTENSIONS]}}
CRAWLERS = {
    "add-on": ADDONS,
    "by hand": BY_HAND_SETTINGS,
    "by hand, components only": BY_HAND | {"ROBOTSTXT_OBEY": True},
    "half by hand and the add-on": {**ADDONS, EXTENSIONS: {"scrapy_polite.PoliteBackoff": 3}},
}


@pytest.mark.parametrize("values", CRAWLERS.values(), ids=CRAWLERS)
def test_a_real_crawler(values: dict[str, Any]) -> None:
    """A crawler makes each of our components once, in order, and no built-in of theirs."""
    found = made(crawler_of(values))
    ours = [item.path.rpartition(".")[2] for item in COMPONENTS]
    assert [name for name in found[MIDDLEWARES] if name in ours] == ours[:4]
    assert sorted(name for name in found[EXTENSIONS] if name in ours) == sorted(ours[4:])
    assert not {"RobotsTxtMiddleware", "AutoThrottle"} & {*found[MIDDLEWARES], *found[EXTENSIONS]}


@pytest.mark.parametrize("name", ["POLITE_PURPOSE", "POLITE_PAGE_DIRECTIVES"])
def test_wishes_that_count_need_who_hears_them(name: str) -> None:
    """By hand, a setting about wishes without the components that hear them stops the crawl."""
    value = {"POLITE_PURPOSE": ["search"], "POLITE_PAGE_DIRECTIVES": ["nofollow"]}[name]
    with pytest.raises(ValueError, match=r"PolitePageMiddleware.*PoliteSpiderMiddleware"):
        made(crawler_of({**BY_HAND_SETTINGS, name: value}))
    listed: dict[str, dict[str, int | None]] = {}
    for item in (*COMPONENTS, *HEARERS):
        listed.setdefault(item.setting, {})[item.path] = item.position
    listed[MIDDLEWARES][ROBOTS] = listed[EXTENSIONS][THROTTLE] = None
    found = made(crawler_of({**BY_HAND_SETTINGS, **listed, name: value}))
    assert "PolitePageMiddleware" in found[MIDDLEWARES]


@pytest.mark.parametrize("values", [ADDONS, BY_HAND_SETTINGS], ids=["add-on", "by hand"])
def test_a_real_crawler_with_the_pack_switched_off(values: dict[str, Any]) -> None:
    """POLITE_ENABLED = False leaves none of our components in a crawler."""
    found = made(crawler_of({**values, "POLITE_ENABLED": False}))
    assert not any("Polite" in name for name in (*found[MIDDLEWARES], *found[EXTENSIONS]))


@pytest.mark.parametrize("on", [True, False])
def test_the_download_handlers_of_a_crawler(on: bool) -> None:
    """Downloads go by us while the pack is on; switched off, Scrapy's handlers are untouched."""
    crawler = crawler_of({**ADDONS, "POLITE_ENABLED": on})
    handlers = load_object(crawler.settings["DOWNLOADER"])(crawler).handlers
    ours = handlers.download_request_async
    assert (getattr(ours, "__func__", ours) is not DownloadHandlers.download_request_async) is on


@pytest.mark.parametrize("forgotten", COMPONENTS, ids=lambda item: item.path)
def test_half_listed_by_hand(forgotten: listing.Component) -> None:
    """Without the add-on, the one component that is missing is named, with the line to add."""
    values = {
        setting: {key: place for key, place in components.items() if key != forgotten.path}
        for setting, components in BY_HAND.items()
    }
    line = f'{forgotten.setting}["{forgotten.path}"] = {forgotten.position}'
    with pytest.raises(ValueError, match="listed in part only") as raised:
        made(crawler_of(values))
    sentence = str(raised.value)
    assert line in sentence
    assert sum(f'"{item.path}"' in sentence for item in COMPONENTS) == 1


def test_one_listed_by_hand() -> None:
    """Whoever lists one component is told of all the others."""
    with pytest.raises(ValueError) as raised:
        made(crawler_of({MIDDLEWARES: {"scrapy_polite.PoliteGateMiddleware": 950}}))
    missing = [item.path for item in COMPONENTS if f'"{item.path}"' in str(raised.value)]
    assert missing == [item.path for item in COMPONENTS if "Gate" not in item.path]


def test_switched_off_by_hand_is_not_forgotten() -> None:
    """A component that is None is neither missing nor made."""
    components = {**BY_HAND[MIDDLEWARES], "scrapy_polite.PoliteBackoffMiddleware": None}
    found = made(crawler_of({**BY_HAND, MIDDLEWARES: components}))
    assert "PoliteBackoffMiddleware" not in found[MIDDLEWARES]
    assert "PoliteGateMiddleware" in found[MIDDLEWARES]


# what else is set, what both listed are
DOUBLES: dict[str, tuple[dict[str, Any], str]] = {
    "robots": (
        {"ROBOTSTXT_OBEY": True, MIDDLEWARES: {**BY_HAND[MIDDLEWARES], ROBOTS: 100}},
        f'add {MIDDLEWARES}["{ROBOTS}"] = None',
    ),
    "throttle": ({"AUTOTHROTTLE_ENABLED": True}, f'add {EXTENSIONS}["{THROTTLE}"] = None'),
}


@pytest.mark.parametrize(("values", "advice"), DOUBLES.values(), ids=DOUBLES)
def test_ours_beside_the_built_in(values: dict[str, Any], advice: str) -> None:
    """A built-in that works beside ours is named, with the line that switches it off."""
    with pytest.raises(ValueError) as raised:
        made(crawler_of({**BY_HAND, **values}))
    assert advice in str(raised.value)


def test_a_built_in_that_does_nothing_may_stand_beside_ours() -> None:
    """An idle AutoThrottle and an idle robots middleware need not be switched off by hand."""
    components = {**BY_HAND[MIDDLEWARES], ROBOTS: 100}
    found = made(crawler_of({**BY_HAND, MIDDLEWARES: components, "ROBOTSTXT_OBEY": False}))
    assert "PoliteGateMiddleware" in found[MIDDLEWARES]


SPIDER = """
import scrapy

class OneSpider(scrapy.Spider):
    name = "one"
    start_urls = [{url!r}]
    custom_settings = {custom!r}

    def parse(self, response):
        pass
"""


def scrapy_crawl(
    folder: Path,
    url: str,
    settings: dict[str, Any],
    custom: dict[str, Any],
    *options: str,
    command: Sequence[str] = ("crawl", "one"),
) -> subprocess.CompletedProcess[str]:
    """Run a command of Scrapy's in a project with these settings and one spider."""
    (folder / "one").mkdir()
    (folder / "scrapy.cfg").write_text("[settings]\ndefault = one.settings\n")
    (folder / "one" / "__init__.py").touch()
    settings = {"BOT_NAME": "OneBot", "SPIDER_MODULES": ["one.spider"], **settings}
    lines = [f"{name} = {value!r}" for name, value in settings.items()]
    (folder / "one" / "settings.py").write_text("\n".join(lines) + "\n")
    (folder / "one" / "spider.py").write_text(SPIDER.format(url=url, custom=custom))
    return subprocess.run(
        [sys.executable, "-m", "scrapy", *command, *options],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


BROWSER = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0"
NO_CONTACT = "The contact is missing: set POLITE_CONTACT_URL or POLITE_CONTACT_EMAIL to where "
# settings, custom_settings of the spider, options, how the last line on the terminal begins
STARTS: dict[str, tuple[dict[str, Any], dict[str, Any], list[str], str]] = {
    "no contact": (ADDONS, {}, [], NO_CONTACT),
    "no contact, other process class": (ADDONS, {}, ["-s", "FORCE_CRAWLER_PROCESS=1"], NO_CONTACT),
    "the spider's bad contact": (
        {**ADDONS, "POLITE_CONTACT_EMAIL": "ops@ownbot.test"},
        {"POLITE_CONTACT_EMAIL": "you@example.com"},
        [],
        "POLITE_CONTACT_EMAIL 'you@example.com' is a placeholder: write ",
    ),
    "the spider's browser": (
        ADDONS,
        {"USER_AGENT": BROWSER},
        [],
        f"The spider one goes by the USER_AGENT of a browser, {BROWSER!r}, so nobody could tell ",
    ),
    "the spider's browser, other process class": (
        ADDONS,
        {"USER_AGENT": BROWSER},
        ["-s", "FORCE_CRAWLER_PROCESS=1"],
        f"The spider one goes by the USER_AGENT of a browser, {BROWSER!r}, so nobody could tell ",
    ),
    "the command line's bad delay": (
        {**ADDONS, "POLITE_CONTACT_EMAIL": "ops@ownbot.test"},
        {},
        ["-s", "POLITE_MIN_DELAY=soon"],
        "POLITE_MIN_DELAY is 'soon': write a number of seconds",
    ),
    "half by hand": (
        {"POLITE_CONTACT_EMAIL": "ops@ownbot.test", MIDDLEWARES: BY_HAND[MIDDLEWARES]},
        {},
        [],
        "scrapy_polite is listed in part only",
    ),
}


@pytest.mark.parametrize(("settings", "custom", "options", "sentence"), STARTS.values(), ids=STARTS)
def test_a_crawl_that_must_not_start(
    settings: dict[str, Any],
    custom: dict[str, Any],
    options: list[str],
    sentence: str,
    tmp_path: Path,
    web: Web,
) -> None:
    """It ends before its first request; what to do about it is last on the terminal."""
    site = web.site({"*": 200})
    ended = scrapy_crawl(tmp_path, site.url("/"), settings, custom, *options)
    assert ended.returncode == 1
    assert web.arrivals() == []
    *_, last = re.split(
        r"(?m)^ValueError: |\[scrapy_polite\.addon\] ERROR: ", ended.stderr.rstrip()
    )
    assert last.startswith(sentence)
    if "USER_AGENT" in custom:
        assert re.search(r"\n    POLITE_PRODUCT = 'OneBot'\n    POLITE_CONTACT_URL = .*\Z", last)
    else:
        assert re.search(r"\A[^\n]+\.\Z", last)
    assert "never retrieved" not in ended.stderr or "in part" in sentence


def test_a_browsers_agent_with_a_contact(tmp_path: Path, web: Web) -> None:
    """It is sent as it is, and robots.txt groups are those of the name that is known besides."""
    site = web.site({"/robots.txt": "User-agent: shops\nDisallow: /\n", "*": 200})
    agent = f"{BROWSER} places/1.0 (+https://ownbot.test/bot)"
    settings = {**ADDONS, "USER_AGENT": agent, "ROBOTSTXT_USER_AGENT": "shops"}
    ended = scrapy_crawl(tmp_path, site.url("/"), settings, {})
    assert ended.returncode == 0
    asked = [(arrival.path, arrival.headers["user-agent"]) for arrival in web.arrivals()]
    assert asked == [("/robots.txt", agent)]


@pytest.mark.slow
def test_bench_measures_scrapy(tmp_path: Path) -> None:
    """`scrapy bench` in a project, with its own server, is what it is without the add-on."""
    ended = scrapy_crawl(tmp_path, "", ADDONS, {}, "-s", "CLOSESPIDER_TIMEOUT=1", command=["bench"])
    assert ended.returncode == 0
    assert ended.stderr.count("measures Scrapy on a server of its own: the pack is off") == 1
    assert "Crawling as" not in ended.stderr
    assert "'polite/" not in ended.stderr
    assert "'robotstxt/" not in ended.stderr


def test_a_crawl_that_starts(tmp_path: Path, web: Web) -> None:
    """The same project with a contact crawls, and its log names identity and components."""
    site = web.site({"/robots.txt": 404, "*": 200})
    settings = {**ADDONS, "POLITE_MIN_DELAY": 0.0}
    ended = scrapy_crawl(
        tmp_path, site.url("/"), settings, {}, "-s", "POLITE_CONTACT_EMAIL=ops@ownbot.test"
    )
    assert ended.returncode == 0
    assert [arrival.path for arrival in web.arrivals()] == ["/robots.txt", "/"]
    log = ended.stderr
    assert "INFO: Crawling as OneBot/1.0 (ops@ownbot.test); robots.txt groups: OneBot\n" in log
    for item in COMPONENTS:
        assert f" '{item.path}'" in log or f"['{item.path}'" in log
