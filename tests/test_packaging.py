"""What is shipped: the source archive and the wheel, built once from a copy of the checkout."""

from __future__ import annotations

import configparser
import importlib.util
import os
import shutil
import subprocess
import sys
import zipfile
from email.message import Message
from email.parser import Parser
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).resolve().parents[1]
DATA = {"py.typed"}
DATA_ENDINGS = {".lua", ".html", ".css", ".js"}
NEEDED = {"scrapy", "protego", "twisted"}
OPTIONAL = (
    "aiosqlite",
    "http_sf",
    "matplotlib",
    "redis",
    "rich",
    "scrapy_redis",
    "tldextract",
    "tqdm",
)

IMPORT_ALL = f"""
import importlib, pkgutil, sys, warnings
warnings.simplefilter("error")
for name in {OPTIONAL!r}:
    sys.modules[name] = None  # as if it was not installed
import scrapy_polite
for name in scrapy_polite.__all__:
    getattr(scrapy_polite, name)
for module in pkgutil.walk_packages(scrapy_polite.__path__, "scrapy_polite."):
    importlib.import_module(module.name)
print(scrapy_polite.__file__)
"""


class Built(NamedTuple):
    """What the build made."""

    log: str
    wheel: Path
    sdist: Path
    metadata: Message
    names: set[str]


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Built:
    """Build the archive from the checkout, and the wheel from the archive."""
    if not all(map(importlib.util.find_spec, ("build", "setuptools"))):
        pytest.skip("no build backend: build and setuptools are in the extra `test`")
    source = tmp_path_factory.mktemp("source") / "project"
    shutil.copytree(ROOT, source, ignore=shutil.ignore_patterns(".*", "*.egg-info", "__pycache__"))
    command = [sys.executable, "-m", "build", "--no-isolation", str(source)]
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    assert done.returncode == 0, done.stdout + done.stderr
    [wheel] = (source / "dist").glob("*.whl")
    [sdist] = (source / "dist").glob("*.tar.gz")
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
        [metadata] = (name for name in names if name.endswith(".dist-info/METADATA"))
        headers = Parser().parsestr(archive.read(metadata).decode())
    return Built(done.stdout + done.stderr, wheel, sdist, headers, names)


def test_builds_without_warnings(built: Built) -> None:
    """The build says nothing that a maintainer would have to look at."""
    lines = [line for line in built.log.splitlines() if "warning" in line.lower()]
    assert lines == []
    assert "Successfully built" in built.log


def test_wheel_contents(built: Built) -> None:
    """The wheel has every module and data file of the package, the licence, and nothing else."""
    shipped = {
        path.relative_to(ROOT).as_posix()
        for path in (ROOT / "scrapy_polite").rglob("*")
        if path.suffix in {".py", *DATA_ENDINGS} or path.name in DATA
    }
    packaged = {name for name in built.names if ".dist-info/" not in name}
    assert packaged == shipped
    assert any(name.endswith(".dist-info/licenses/LICENSE") for name in built.names)
    assert "scrapy_polite/py.typed" in packaged


def test_metadata(built: Built) -> None:
    """Name, version, licence, Python and README are what the project says they are."""
    version = importlib.import_module("scrapy_polite").__version__
    assert (built.metadata["Name"], built.metadata["Version"]) == ("scrapy-polite", version)
    assert built.metadata["License-Expression"] == "BSD-3-Clause"
    assert built.metadata["Requires-Python"] == ">=3.10"
    assert built.metadata["Description-Content-Type"] == "text/markdown"
    assert str(built.metadata.get_payload()).strip() == (ROOT / "README.md").read_text().strip()


def test_requirements(built: Built) -> None:
    """Without extras it needs three packages; the extras are those that the README offers."""
    requirements = built.metadata.get_all("Requires-Dist", [])
    plain = {line.partition(">")[0] for line in requirements if "extra ==" not in line}
    assert plain == NEEDED
    assert set(built.metadata.get_all("Provides-Extra", [])) == {
        "company",
        "dev",
        "domain",
        "progress",
        "redis",
        "report",
        "scrapy-redis",
        "signatures",
        "test",
    }


def test_entry_points(built: Built) -> None:
    """Every command of the package loads; one that does not would break `scrapy` itself."""
    config = configparser.ConfigParser()
    with zipfile.ZipFile(built.wheel) as archive:
        for name in archive.namelist():
            if name.endswith("entry_points.txt"):
                config.read_string(archive.read(name).decode())
    for group in config.sections():
        for name, value in config[group].items():
            assert EntryPoint(name, value, group).load().__module__.startswith("scrapy_polite.")


def test_works_without_extras(built: Built, tmp_path: Path) -> None:
    """The wheel, alone and without what the extras bring, has every public name and module."""
    with zipfile.ZipFile(built.wheel) as archive:
        archive.extractall(tmp_path)
    command = [sys.executable, "-c", IMPORT_ALL]
    environment = {"PYTHONPATH": str(tmp_path), "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, cwd=tmp_path, env=environment
    )
    assert done.returncode == 0, done.stderr
    assert Path(done.stdout.strip()).parent == tmp_path / "scrapy_polite"
