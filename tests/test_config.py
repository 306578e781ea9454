"""Settings become a Config, and a bad one becomes a sentence.

Rules: BAD holds, for each kind of setting, values that make no sense and the advice that follows.
KINDS says which setting is of which kind; every setting there is has a kind, so a new one is not
forgotten. `read` begins with a valid identity.
"""

from __future__ import annotations

import re
from typing import Any, NamedTuple

import pytest
from scrapy.settings import Settings
from scrapy.settings import default_settings as scrapy_defaults

from scrapy_polite import config
from scrapy_polite.config import Config

CONTACT = {"BOT_NAME": "OwnBot", "POLITE_CONTACT_EMAIL": "ops@ownbot.test"}


def read(values: dict[str, Any] | None = None) -> Config:
    return config.read(Settings({**CONTACT, **(values or {})}))


class Kind(NamedTuple):
    """What is no value of this kind, and what the sentence says to write."""

    bad: list[Any]
    advice: str


NO_NUMBER = [-1, "-1", "", "soon", "1,5", True, False, float("nan"), float("inf"), "nan", "inf"]
NO_NUMBER += [[], {}, b"x", object(), 10**400]
NO_TEXT = [5, 1.5, True, float("nan"), float("inf"), "", " ", [], b"x"]
KIND = {
    "flag": Kind(["", "yes", float("nan"), float("inf"), [], {}, b"x"], "write True or False."),
    "number": Kind(NO_NUMBER, "write a number"),
    "fraction": Kind(NO_NUMBER, "write a fraction of the wait"),
    "duration": Kind([*NO_NUMBER, 0, "0", 0.01], "write a number of seconds"),
    "count": Kind([*NO_NUMBER, 0, "0", 1.5, "1.5"], "write a whole number"),
    "statuses": Kind(
        ["", "soon", [], 0, True, -1, float("nan"), 1.5, [200], [429, 600], [True], ["x"], [429.5]],
        "write a list of statuses from 400 to 599",
    ),
    "forbidden": Kind(["", "Allow", True, 1, []], "write 'allow' or 'disallow'."),
    "group": Kind(["", "hosts", True, 1, []], "write 'host', 'domain' or 'ip'."),
    "origin": Kind(
        [*NO_TEXT, "acme", "http://acme.test", "https://acme.test/bot", "https://example.com"],
        "write ",
    ),
    "product": Kind([*NO_TEXT, "My Bot", "Bot2"], "POLITE_PRODUCT|write Name or Name/version"),
    "contact": Kind([*NO_TEXT, "nobody", "me@example.com"], "write the "),
    "purpose": Kind(
        ["ai-train", ["train-ai", "x"], True, 1, {}, b"search", [[]], "search train-ai"],
        "write a list of 'train-ai', 'search', 'ai-input', for example",
    ),
    "directives": Kind(
        ["follow", ["noindex", "x"], True, 1, {}, b"noindex", "noindex=keep"],
        "write a list of 'nofollow', 'noindex', 'noindex=mark', for example",
    ),
    "text": Kind(["", " ", "a\nb", 5, True, float("nan"), [], b"x"], "write a text"),
}
KINDS = {
    "POLITE_ENABLED": "flag",
    "POLITE_PRODUCT": "product",
    "POLITE_CONTACT_URL": "contact",
    "POLITE_CONTACT_EMAIL": "contact",
    "POLITE_ALLOW_ANONYMOUS": "flag",
    "POLITE_DELAY_FACTOR": "number",
    "POLITE_MIN_DELAY": "number",
    "POLITE_JITTER": "fraction",
    "POLITE_CRAWL_DELAY_MAX": "number",
    "POLITE_ROBOTS_TIMEOUT": "duration",
    "POLITE_ROBOTS_CONCURRENCY": "count",
    "POLITE_ROBOTS_HOLD": "number",
    "POLITE_ROBOTS_FORBIDDEN": "forbidden",
    "POLITE_ROBOTS_MAX_AGE": "number",
    "POLITE_ROBOTS_MIN_AGE": "number",
    "POLITE_ROBOTS_STALE_AGE": "number",
    "POLITE_BACKOFF_STATUSES": "statuses",
    "POLITE_BACKOFF_MIN": "number",
    "POLITE_BACKOFF_MAX": "number",
    "POLITE_RETRY_AFTER_MAX": "number",
    "POLITE_BACKOFF_GIVE_UP": "count",
    "POLITE_RATELIMIT_HEADERS": "flag",
    "POLITE_GROUP_BY": "group",
    "POLITE_STATE": "text",
    "POLITE_REDIS_PREFIX": "text",
    "POLITE_REPORT": "text",
    "POLITE_TIMELINE": "text",
    "POLITE_SIGNATURE_KEY": "text",
    "POLITE_SIGNATURE_AGENT": "origin",
    "POLITE_PURPOSE": "purpose",
    "POLITE_PAGE_DIRECTIVES": "directives",
}
SCRAPYS = {
    "DOWNLOAD_DELAY": "number",
    "AUTOTHROTTLE_ENABLED": "flag",
    "AUTOTHROTTLE_MAX_DELAY": "number",
    "AUTOTHROTTLE_START_DELAY": "number",
    "AUTOTHROTTLE_TARGET_CONCURRENCY": "number",
    "ROBOTSTXT_OBEY": "flag",
}
CASES = [
    pytest.param(name, value, KIND[kind].advice, id=f"{name}-{type(value).__name__}-{value!r:.12}")
    for name, kind in {**KINDS, **SCRAPYS}.items()
    for value in KIND[kind].bad
]


def test_every_setting_has_a_kind() -> None:
    """The table of this file has each setting that the code reads."""
    assert KINDS.keys() == config.DEFAULTS.keys()


@pytest.mark.parametrize(("name", "value", "advice"), CASES)
def test_a_bad_value_is_one_sentence(name: str, value: Any, advice: str) -> None:
    """The sentence begins with the setting, is one line, and says what to write."""
    settings = Settings({**CONTACT, name: value})
    with pytest.raises(ValueError, match=advice) as raised:
        assert config.is_enabled(settings)
        config.read(settings)
    sentence = str(raised.value)
    assert sentence.startswith(f"{name} ")
    assert re.fullmatch(r"[^\n]{20,240}\.", sentence)


def test_the_sentence_to_read() -> None:
    """One of them in full."""
    with pytest.raises(ValueError) as raised:
        read({"POLITE_MIN_DELAY": "two"})
    assert str(raised.value) == (
        "POLITE_MIN_DELAY is 'two': write a number of seconds, at least 0, for example 1.0."
    )


def test_a_greatest_wait_below_the_first_names_both() -> None:
    """Two settings that contradict each other are both named."""
    with pytest.raises(ValueError, match=r"POLITE_BACKOFF_MAX is 5 and POLITE_BACKOFF_MIN 60"):
        read({"POLITE_BACKOFF_MAX": 5})


@pytest.mark.parametrize("name", sorted(config.DEFAULTS.keys() - {"POLITE_CONTACT_EMAIL"}))
def test_none_is_not_set(name: str) -> None:
    """A setting that is None has its default."""
    assert read({name: None}) == read()


def test_defaults() -> None:
    """Without a setting of the user's the numbers are those of the documentation."""
    found = read()
    delay, backoff = found.rules.delay, found.rules.backoff
    assert (delay.factor, delay.floor, delay.ceiling, delay.jitter) == (10.0, 1.0, 600.0, 0.1)
    assert delay.start_floor == 0.0
    assert (backoff.minimum, backoff.maximum) == (60.0, 3600.0)
    assert (backoff.retry_after_max, backoff.give_up) == (86400.0, 8)
    assert (found.ages.max_age, found.ages.min_age, found.ages.stale_age) == (86400, 3600, 2592000)
    assert found.backoff_statuses == {429, 503}


# as on a command line, what it means, where to find it
COMMAND_LINE: dict[str, tuple[dict[str, Any], Any, str]] = {
    "number": ({"POLITE_MIN_DELAY": "2"}, 2.0, "rules.delay.floor"),
    "fraction": ({"POLITE_JITTER": "0.5"}, 0.5, "rules.delay.jitter"),
    "exponent": ({"POLITE_ROBOTS_HOLD": "1e3"}, 1000.0, "robots_hold"),
    "count": ({"POLITE_BACKOFF_GIVE_UP": "3"}, 3, "rules.backoff.give_up"),
    "statuses": ({"POLITE_BACKOFF_STATUSES": "429,503"}, {429, 503}, "backoff_statuses"),
    "blanks": ({"POLITE_BACKOFF_STATUSES": " 429, 509 "}, {429, 509}, "backoff_statuses"),
    "as in Python": ({"POLITE_BACKOFF_STATUSES": "[429, 503]"}, {429, 503}, "backoff_statuses"),
    "one status": ({"POLITE_BACKOFF_STATUSES": "503"}, {503}, "backoff_statuses"),
    "true": ({"ROBOTSTXT_OBEY": "true"}, True, "obey_robots"),
    "False": ({"ROBOTSTXT_OBEY": "False"}, False, "obey_robots"),
    "1": ({"POLITE_RATELIMIT_HEADERS": "1"}, True, "ratelimit_headers"),
    "choice": ({"POLITE_GROUP_BY": "domain"}, "domain", "group_by"),
    "dict": ({"DOWNLOAD_SLOTS": '{"a.test": {"delay": 3}}'}, {"a.test": 3.0}, "slot_floors"),
}


@pytest.mark.parametrize(("values", "expected", "where"), COMMAND_LINE.values(), ids=COMMAND_LINE)
def test_strings(values: dict[str, Any], expected: Any, where: str) -> None:
    """A string from the command line is read as what it says."""
    found: Any = read(values)
    for name in where.split("."):
        found = getattr(found, name)
    assert found == expected


@pytest.mark.parametrize(("text", "on"), [("true", True), ("False", False), ("0", False)])
def test_switching_the_pack_on_and_off(text: str, on: bool) -> None:
    """POLITE_ENABLED is read as Scrapy reads its own switches."""
    assert config.is_enabled(Settings({"POLITE_ENABLED": text})) is on


# settings of Scrapy's, factor, floor, ceiling, start floor
SCRAPY_KEEPS_ITS_MEANING: dict[str, tuple[dict[str, Any], tuple[float, float, float, float]]] = {
    "DOWNLOAD_DELAY above": ({"DOWNLOAD_DELAY": 3}, (10.0, 3.0, 600.0, 0.0)),
    "DOWNLOAD_DELAY below": ({"DOWNLOAD_DELAY": 0.5}, (10.0, 1.0, 600.0, 0.0)),
    "AutoThrottle off": ({"AUTOTHROTTLE_ENABLED": False}, (0.0, 1.0, 600.0, 0.0)),
    "AutoThrottle on": ({"AUTOTHROTTLE_ENABLED": True}, (10.0, 1.0, 600.0, 0.0)),
    "own ceiling": ({"AUTOTHROTTLE_MAX_DELAY": 60}, (10.0, 1.0, 60.0, 0.0)),
    "own start": ({"AUTOTHROTTLE_START_DELAY": 5}, (10.0, 1.0, 600.0, 5.0)),
    "half a connection": ({"AUTOTHROTTLE_TARGET_CONCURRENCY": 0.5}, (10.0, 1.0, 600.0, 0.0)),
    "a twentieth": ({"AUTOTHROTTLE_TARGET_CONCURRENCY": 0.05}, (20.0, 1.0, 600.0, 0.0)),
    "two connections": ({"AUTOTHROTTLE_TARGET_CONCURRENCY": 2.0}, (10.0, 1.0, 600.0, 0.0)),
}


@pytest.mark.parametrize(
    ("values", "expected"), SCRAPY_KEEPS_ITS_MEANING.values(), ids=SCRAPY_KEEPS_ITS_MEANING
)
def test_settings_of_scrapys(
    values: dict[str, Any], expected: tuple[float, float, float, float]
) -> None:
    """Scrapy's settings keep their meaning, and none of them shortens a wait."""
    delay = read(values).rules.delay
    assert (delay.factor, delay.floor, delay.ceiling, delay.start_floor) == expected


def test_freshness_bounds_that_cross() -> None:
    """The greatest age wins over a least age that is larger."""
    ages = read({"POLITE_ROBOTS_MAX_AGE": 60}).ages
    assert (ages.max_age, ages.min_age) == (60.0, 60.0)


SLOTS: list[tuple[dict[str, Any], dict[str, float]]] = [
    ({}, {}),
    ({"a.test": {"delay": 2}, "b.test": {"delay": "0.5"}}, {"a.test": 2.0, "b.test": 0.5}),
    ({"a.test": {"concurrency": 4}}, {"a.test": 0.0}),
    ({"a.test": {"delay": None}}, {"a.test": 0.0}),
]


@pytest.mark.parametrize(("slots", "floors"), SLOTS)
def test_download_slots(slots: dict[str, Any], floors: dict[str, float]) -> None:
    """The delays of DOWNLOAD_SLOTS are floors."""
    assert read({"DOWNLOAD_SLOTS": slots}).slot_floors == floors


# a slot, what the sentence names
BAD_SLOTS: list[tuple[Any, str]] = [
    (5, r"DOWNLOAD_SLOTS is \{'a.test': 5\}: write a dict of slots"),
    (None, "DOWNLOAD_SLOTS is .*: write a dict of slots"),
    ({"delay": -1}, "The delay of 'a.test' in DOWNLOAD_SLOTS is -1: write a number of seconds"),
    ({"delay": float("nan")}, "The delay of 'a.test' in DOWNLOAD_SLOTS is nan"),
    ({"delay": "soon"}, "The delay of 'a.test' in DOWNLOAD_SLOTS is 'soon'"),
    ({"delay": True}, "The delay of 'a.test' in DOWNLOAD_SLOTS is True"),
]


@pytest.mark.parametrize(("slot", "sentence"), BAD_SLOTS)
def test_bad_download_slots(slot: Any, sentence: str) -> None:
    """A slot that cannot be read is named."""
    with pytest.raises(ValueError, match=sentence):
        read({"DOWNLOAD_SLOTS": {"a.test": slot}})


PROJECTS_AGENT = "FooBot/2.0 (+https://foo.test/bot)"

# settings of the project, of the spider, of the command line, the User-Agent that is sent
IDENTITIES: dict[str, tuple[dict[str, Any], dict[str, Any], dict[str, Any], str]] = {
    "project": ({"POLITE_CONTACT_EMAIL": "a@own.test"}, {}, {}, "OwnBot/1.0 (a@own.test)"),
    "product and both contacts": (
        {
            "POLITE_PRODUCT": "ABot/3",
            "POLITE_CONTACT_EMAIL": "a@own.test",
            "POLITE_CONTACT_URL": "https://own.test/",
        },
        {},
        {},
        "ABot/3 (+https://own.test/; a@own.test)",
    ),
    "a USER_AGENT with a contact": ({"USER_AGENT": PROJECTS_AGENT}, {}, {}, PROJECTS_AGENT),
    "Scrapy's USER_AGENT": (
        {"USER_AGENT": scrapy_defaults.USER_AGENT, "POLITE_CONTACT_EMAIL": "a@own.test"},
        {},
        {},
        "OwnBot/1.0 (a@own.test)",
    ),
    "the spider's contact, the project's product": (
        {"USER_AGENT": PROJECTS_AGENT},
        {"POLITE_CONTACT_EMAIL": "b@own.test"},
        {},
        "FooBot/1.0 (b@own.test)",
    ),
    "the spider's product and contact": (
        {"USER_AGENT": PROJECTS_AGENT},
        {"POLITE_PRODUCT": "BBot", "POLITE_CONTACT_EMAIL": "b@own.test"},
        {},
        "BBot/1.0 (b@own.test)",
    ),
    "a contact of the same level": (
        {"USER_AGENT": PROJECTS_AGENT, "POLITE_CONTACT_EMAIL": "a@own.test"},
        {},
        {},
        PROJECTS_AGENT,
    ),
    "None of the spider's": (
        {"USER_AGENT": PROJECTS_AGENT},
        {"POLITE_CONTACT_EMAIL": None},
        {},
        PROJECTS_AGENT,
    ),
    "the spider's USER_AGENT": (
        {"POLITE_CONTACT_EMAIL": "a@own.test"},
        {"USER_AGENT": PROJECTS_AGENT},
        {},
        PROJECTS_AGENT,
    ),
    "the command line's contact": (
        {"USER_AGENT": PROJECTS_AGENT},
        {"POLITE_CONTACT_EMAIL": "b@own.test"},
        {"POLITE_CONTACT_EMAIL": "c@own.test"},
        "FooBot/1.0 (c@own.test)",
    ),
    "the command line's USER_AGENT": (
        {},
        {"POLITE_CONTACT_EMAIL": "b@own.test"},
        {"USER_AGENT": PROJECTS_AGENT},
        PROJECTS_AGENT,
    ),
}


@pytest.mark.parametrize(
    ("project", "spider", "command_line", "agent"), IDENTITIES.values(), ids=IDENTITIES
)
def test_identity(
    project: dict[str, Any], spider: dict[str, Any], command_line: dict[str, Any], agent: str
) -> None:
    """Who says it closest to the crawl names the crawler."""
    settings = Settings({"BOT_NAME": "OwnBot", **project})
    settings.update(spider, priority="spider")
    settings.update(command_line, priority="cmdline")
    assert config.read_identity(settings).user_agent == agent


def test_a_browser_of_the_projects_is_no_product() -> None:
    """A contact of the spider's does not make a browser's User-Agent an identity."""
    settings = Settings({"USER_AGENT": "Mozilla/5.0 (X11; Linux x86_64)"})
    settings.update({"POLITE_CONTACT_EMAIL": "b@own.test"}, priority="spider")
    with pytest.raises(ValueError, match="USER_AGENT 'Mozilla' is a browser's"):
        config.read_identity(settings)


@pytest.mark.parametrize(
    ("priority", "is_set"), [("default", False), ("addon", True), ("project", True)]
)
def test_is_set(priority: str, is_set: bool) -> None:
    """A default is not set, what an add-on or a user says is."""
    settings = Settings()
    settings.set("DOWNLOAD_DELAY", 1.0, priority=priority)
    assert config.is_set(settings, "DOWNLOAD_DELAY") is is_set
