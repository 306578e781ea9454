"""What the README claims is what the code does: its tables are compared with it."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

import scrapy_polite
from scrapy_polite import addon, config, signals, stats
from scrapy_polite.runtime.listing import COMPONENTS

README = (Path(__file__).parent.parent / "README.md").read_text(encoding="utf-8")


def _section(title: str) -> str:
    return README.split(f"\n## {title}\n", 1)[1].split("\n## ", 1)[0]


def _rows(title: str) -> list[list[str]]:
    lines = [line for line in _section(title).splitlines() if line.startswith("| `")]
    return [[cell.strip() for cell in line.strip("| ").split(" | ")] for line in lines]


def _code_blocks(title: str) -> list[str]:
    return re.findall(r"```python\n(.*?)```", _section(title), re.DOTALL)


def test_the_settings_table_has_each_setting_with_its_default() -> None:
    """Names and defaults of the settings table are those that the code reads."""
    table = {row[0].strip("`"): ast.literal_eval(row[1].strip("`")) for row in _rows("Settings")}
    assert table == config.DEFAULTS


def test_the_stats_table_has_each_stat() -> None:
    """Names of the stats table are those of the stats module."""
    named = {value for name, value in vars(stats).items() if name.isupper()}
    assert {row[0].strip("`") for row in _rows("Stats")} == named


def test_the_signals_table_has_each_signal() -> None:
    """Names of the signals table are those of the signals module, and public."""
    named = {name for name in vars(signals) if name.startswith("polite_")}
    assert {row[0].strip("`") for row in _rows("Back-off, hooks and signals")} == named
    assert named <= set(scrapy_polite.__all__)


def test_the_listing_by_hand_is_what_the_add_on_sets() -> None:
    """Components and settings listed by hand are those of the add-on, at its positions."""
    block = _section("Turn it on").split("### Without the add-on")[1]
    listed: dict[str, object] = {}
    exec(re.findall(r"```python\n(.*?)```", block, re.DOTALL)[0], listed)
    for component in COMPONENTS:
        components = listed[component.setting]
        assert isinstance(components, dict)
        assert components[component.path] == component.position
        if component.replaces:
            assert components[component.replaces] is None
    wanted = {k: v for k, v in addon.SETTINGS.items() if not k.startswith("AUTOTHROTTLE")}
    assert {name: listed.get(name) for name in wanted} == wanted


@pytest.mark.parametrize(
    "setting",
    sorted({name for row in _rows("Settings") for name in [row[0].strip("`")]}),
)
def test_each_setting_is_explained_once(setting: str) -> None:
    """A setting has one row in the settings table."""
    assert [row[0].strip("`") for row in _rows("Settings")].count(setting) == 1


def test_the_settings_for_ones_own_server_take_all_waits_away() -> None:
    """The zero-delay block leaves no wait after a fetch."""
    from scrapy.settings import Settings

    from scrapy_polite.policy.host import Fetch, HostState, after_fetch

    values: dict[str, object] = {}
    exec(_code_blocks("Testing your own crawler")[0], values)
    values.pop("__builtins__")
    settings = Settings({**values, "POLITE_ALLOW_ANONYMOUS": True, "BOT_NAME": "Own"})
    rules = config.read(settings).rules
    assert after_fetch(HostState(), Fetch(0.0, 5.0), rules, 0.99).wait == 0.0


def test_what_is_public_can_be_imported() -> None:
    """Each name in __all__ is there."""
    for name in scrapy_polite.__all__:
        assert getattr(scrapy_polite, name) is not None
