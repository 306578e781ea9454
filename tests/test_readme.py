"""What README and docs/ claim is what the code does: their tables are compared with it."""

from __future__ import annotations

import ast
import configparser
import inspect
import re

import pytest
from scrapy.settings import Settings

import scrapy_polite
from prose import ROOT, Page, page, pages
from scrapy_polite import addon, config, signals, stats
from scrapy_polite.policy.host import Fetch, HostState, after_fetch
from scrapy_polite.runtime.listing import COMPONENTS, HEARERS
from test_architecture import LAYERS

SETTINGS, CONTRIBUTING = page("docs/settings.md"), page("docs/contributing.md")
CI = CONTRIBUTING.section("CI")
ALL = "\n".join(each.text for each in pages())


def _values(part: Page) -> dict[str, object]:
    """Return what the only Python block of a section assigns."""
    values: dict[str, object] = {}
    [block] = [block for block in part.blocks if block.language == "python"]
    exec(block.text, values)
    del values["__builtins__"]
    return values


# settings


def test_the_settings_table_has_each_setting_with_its_default() -> None:
    """Names and defaults of the settings tables are those that the code reads, each once."""
    rows = [row for row in SETTINGS.section("Settings").rows if row[0].startswith("`POLITE_")]
    table = {row[0].strip("`"): ast.literal_eval(row[1].strip("`")) for row in rows}
    assert table == config.DEFAULTS
    assert len(rows) == len(table)


def test_a_default_stands_in_one_place() -> None:
    """No other page has a row for a setting."""
    rows = {(each.name, row[0]) for each in pages() for row in each.rows if "`POLITE_" in row[0]}
    assert {name for name, _ in rows} == {"docs/settings.md"}


def test_only_settings_that_are_there_are_named() -> None:
    """Every POLITE_ name of any page is a setting."""
    assert set(re.findall(r"\bPOLITE_[A-Z_]+\b", ALL)) <= set(config.DEFAULTS)


def test_the_settings_for_ones_own_server_take_all_waits_away() -> None:
    """The zero-delay block leaves no wait after a fetch."""
    values = _values(SETTINGS.section("On a server of your own, without waits"))
    settings = Settings({**values, "POLITE_ALLOW_ANONYMOUS": True, "BOT_NAME": "Own"})
    rules = config.read(settings).rules
    assert after_fetch(HostState(), Fetch(0.0, 5.0), rules, 0.99).wait == 0.0


def test_the_ceiling_is_the_add_ons() -> None:
    """What the page says of AUTOTHROTTLE_MAX_DELAY is what the add-on sets."""
    [row] = [row for row in SETTINGS.rows if row[0] == "`AUTOTHROTTLE_MAX_DELAY`"]
    assert float(row[1].split()[-1]) == addon.SETTINGS["AUTOTHROTTLE_MAX_DELAY"]


def test_the_listing_by_hand_is_what_the_add_on_sets() -> None:
    """Components and settings listed by hand are those of the add-on, at its positions."""
    listed = _values(SETTINGS.section("Without the add-on"))
    for component in (*COMPONENTS, *HEARERS):
        components = listed[component.setting]
        assert isinstance(components, dict)
        assert components[component.path] == component.position
        if component.replaces:
            assert components[component.replaces] is None
    wanted = {k: v for k, v in addon.SETTINGS.items() if not k.startswith("AUTOTHROTTLE")}
    assert {name: listed.get(name) for name in wanted} == wanted


# names


def test_the_stats_table_has_each_stat() -> None:
    """Names of the stats table are those of the stats module, and no other page lists them."""
    named = {value for name, value in vars(stats).items() if name.isupper()}
    assert sorted(SETTINGS.section("Stats").named()) == sorted(named)
    assert [each.name for each in pages() if "`polite/" in each.text] == ["docs/settings.md"]


def test_the_signals_table_has_each_signal() -> None:
    """Names of the signals table are those of the signals module, and public."""
    named = {name for name in vars(signals) if name.startswith("polite_")}
    assert sorted(row[0].strip("`") for row in SETTINGS.section("Signals").rows) == sorted(named)
    assert named <= set(scrapy_polite.__all__)


@pytest.mark.parametrize("name", sorted(set(scrapy_polite.__all__) - {"__version__"}))
def test_each_public_name_is_explained(name: str) -> None:
    """A public name can be imported, and a row of the settings page begins with it."""
    assert getattr(scrapy_polite, name) is not None
    assert any(re.search(rf"`{name}[`(]", row[0]) for row in SETTINGS.rows)


@pytest.mark.parametrize("row", SETTINGS.section("Hooks").rows, ids=lambda row: row[0])
def test_a_hook_takes_what_its_row_says(row: list[str]) -> None:
    """The arguments of a hook are those of its row."""
    name, _, arguments = row[0].strip("`)").partition("(")
    hook = getattr(scrapy_polite, name)
    assert list(inspect.signature(hook).parameters) == arguments.split(", ")


def test_each_extra_is_named() -> None:
    """The README's table has every extra that is not for those who change the code."""
    packaging = configparser.ConfigParser()
    packaging.read(ROOT / "setup.cfg")
    extras = set(packaging["options.extras_require"]) - {"company", "dev", "test"}
    assert set(page("README.md").section("Install").named()) >= extras


def test_the_side_by_side_table_is_what_its_benchmark_prints() -> None:
    """Rows and columns are named as benchmarks/referee.py names them."""
    benchmark = (ROOT / "benchmarks/referee.py").read_text()
    table = page("README.md").section("Side by side")
    sides = re.search(r"^\| what nginx saw \| (.*) \|$", table.text, re.MULTILINE)
    assert sides
    names = [*sides[1].split(" | "), *(row[0] for row in table.rows)]
    assert [name for name in names if f'"{name}": ' not in benchmark] == []


# for contributors


def test_the_layers_are_those_of_the_architecture() -> None:
    """The table of layers has the parts that the architecture test knows, in its order."""
    rows = [re.findall(r"`(\w+)`", row[0]) for row in CONTRIBUTING.section("The layers").rows]
    assert [set(row) for row in rows] == [set(layer) for layer in LAYERS if layer != {""}]


def test_the_legs_are_those_of_ci() -> None:
    """The table of legs has those that .ci/run starts by name, and every kind of row of tox.ini."""
    legs = set(re.findall(r"^ *leg ([\w.-]+) ", (ROOT / ".ci/run").read_text(), re.MULTILINE))
    tox = configparser.ConfigParser(interpolation=None)
    tox.read(ROOT / "tox.ini")
    rows = re.findall(r"[\w.-]+|\{.*\}", tox["tox"]["env_list"])
    kinds = {kind for row in rows for kind in re.findall(r"[a-z]\w+", row)}
    named = set(re.findall(r"\w+", " ".join(re.findall(r"`([^`]+)`", CI.prose))))
    assert named >= legs | kinds


def test_each_benchmark_is_listed() -> None:
    """The table of benchmarks has every file that prints something."""
    files = (ROOT / "benchmarks").glob("*.py")
    found = {f"benchmarks/{file.name}" for file in files if "__main__" in file.read_text()}
    assert set(CONTRIBUTING.section("Benchmarks").named()) == found
