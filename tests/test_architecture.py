"""The walls of the package, read from its source: who imports whom, and who may touch what.

Rules: the tables below are the architecture; change them on purpose only. Imports count wherever
they stand, inside functions and under TYPE_CHECKING too. Each check is a function from a module to
the lines that break it, and a table of samples proves that it finds what it should.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import pytest

PACKAGE = "scrapy_polite"
ROOT = Path(__file__).resolve().parents[1] / PACKAGE

# From the top down: a module imports from its own package and from lines below its line.
LAYERS = (
    {""},  # the package's own __init__
    {"addon", "commands", "hooks"},
    {"middlewares", "extensions", "queues", "downloader", "redis"},
    {"runtime", "simulator"},
    {"core", "engine", "spool"},
    {"frontier"},
    {"config", "state", "report", "robots"},
    {"exceptions", "identity", "locks", "signals", "stats"},
    {"policy"},
)
PURE = {"core", "frontier", "policy", "simulator"}  # standard library only
SOLITARY = {"middlewares", "extensions"}  # their modules do not import one another either
PROTEGO_BELONGS_TO = "robots"
PRIVATE_NAMES_BELONG_TO = "engine"
SETTINGS_BELONG_TO = "addon"

COMMANDS = [
    f"scrapy_polite.{'.'.join(path.relative_to(ROOT).with_suffix('').parts)}"
    for path in sorted((ROOT / "commands").rglob("*.py"))
    if path.name != "__init__.py"
]

LONGEST_FUNCTION, LONGEST_MODULE = 60, 300  # lines
PUBLIC_IN_SPITE_OF_THE_UNDERSCORE = {"_asdict", "_fields", "_make", "_replace"}  # of named tuples
EDITS = re.compile(r"(set|setdefault|update|delete|pop|add_|remove_|replace_in|unset)\w*")


class Module(NamedTuple):
    """A source file of the package; the name is without the package's own."""

    name: str
    source: str

    @property
    def part(self) -> str:
        """The entry of LAYERS that it belongs to."""
        return self.name.partition(".")[0]

    @property
    def tree(self) -> ast.Module:
        return ast.parse(self.source)


Check: TypeAlias = Callable[[Module], Iterator[str]]


def modules() -> list[Module]:
    """Return every module of the package."""
    found = []
    for path in sorted(ROOT.rglob("*.py")):
        parts = path.relative_to(ROOT).with_suffix("").parts
        name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        found.append(Module(name, path.read_text()))
    return found


def imports(module: Module) -> Iterator[tuple[int, str]]:
    """Yield line and full name of everything that is imported, wherever it stands."""
    for node in ast.walk(module.tree):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, "imports are absolute here"
            yield from ((node.lineno, f"{node.module}.{alias.name}") for alias in node.names)


def layer_of(part: str) -> int:
    """Return the line that a part stands on."""
    return next(number for number, parts in enumerate(LAYERS) if part in parts)


def points_up(module: Module) -> Iterator[str]:
    """Imports of a line above, of a neighbour on the same line, or between solitary modules."""
    for line, name in imports(module):
        own, _, rest = name.partition(".")
        if own != PACKAGE:
            continue
        part = rest.partition(".")[0]
        part = part if any(part in parts for parts in LAYERS) else ""
        if part == module.part:
            neighbour = ".".join(rest.split(".")[:2])
            if part in SOLITARY and module.name not in (part, neighbour):
                yield f"line {line}: {module.name} imports its neighbour {name}"
        elif layer_of(part) <= layer_of(module.part):
            yield f"line {line}: {module.name or PACKAGE} imports {name}"


def impure(module: Module) -> Iterator[str]:
    """Imports of a pure part from outside the standard library and itself."""
    for line, name in imports(module):
        root = name.partition(".")[0]
        if module.part in PURE and root not in (*sys.stdlib_module_names, PACKAGE):
            yield f"line {line}: {name}"


def foreign(module: Module) -> Iterator[str]:
    """Imports that one part keeps to itself, and the reactor, which nobody may import."""
    for line, name in imports(module):
        if f"{name}.".startswith("twisted.internet.reactor."):
            yield f"line {line}: the reactor"
        elif name.partition(".")[0] == "protego" and module.part != PROTEGO_BELONGS_TO:
            yield f"line {line}: Protego"


def private_names(module: Module) -> Iterator[str]:
    """Private names of other people's code: imported, reached for, inherited or overridden."""
    if module.part == PRIVATE_NAMES_BELONG_TO:
        return
    for line, name in imports(module):
        if not name.startswith(PACKAGE) and any(map(is_private, name.split("."))):
            yield f"line {line}: import of {name}"
    own = set(defined_names(module.tree))
    for node in ast.walk(module.tree):
        reached = reached_for(node)
        if is_private(reached) and reached not in own:
            yield f"line {node.lineno}: .{reached}"  # type: ignore[attr-defined]
        if isinstance(node, ast.ClassDef):
            for name in inherited_private_names(node, module) & set(defined_names(node)):
                yield f"line {node.lineno}: {node.name} overrides {name}"


def is_private(name: str) -> bool:
    """Say whether a name starts with one underscore and is meant so."""
    marked = name.startswith("_") and not name.startswith("__")
    return marked and len(name) > 1 and name not in PUBLIC_IN_SPITE_OF_THE_UNDERSCORE


def reached_for(node: ast.AST) -> str:
    """Return the attribute that a node reads or writes, through getattr too, or ""."""
    match node:
        case ast.Attribute(attr=name):
            return name
        case ast.Call(
            func=ast.Name(id="getattr" | "setattr" | "hasattr" | "delattr"),
            args=[_, ast.Constant(value=str(name)), *_],
        ):
            return name
    return ""


def defined_names(tree: ast.AST) -> Iterator[str]:
    """Yield every name that is defined here: functions, classes, variables, attributes of self."""
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            yield node.name
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            yield from [node.attr] if ast.unparse(node.value) in ("self", "cls") else []


def inherited_private_names(node: ast.ClassDef, module: Module) -> set[str]:
    """Return the private names of a class's Scrapy bases."""
    imported = {name.rpartition(".")[2]: name for _, name in imports(module)}
    names: set[str] = set()
    for base in node.bases:
        source, _, attribute = imported.get(ast.unparse(base), "").rpartition(".")
        if source.partition(".")[0] != "scrapy":
            continue
        cls: Any = getattr(importlib.import_module(source), attribute)
        for ancestor in (c for c in inspect.getmro(cls) if c.__module__ != "builtins"):
            names.update(vars(ancestor), re.findall(r"self\.(_\w+)", inspect.getsource(ancestor)))
    return set(filter(is_private, names))


def settings_edits(module: Module) -> Iterator[str]:
    """Statements that change something named settings."""
    if module.part == SETTINGS_BELONG_TO:
        return
    for node in ast.walk(module.tree):
        edited: ast.expr | None = None
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            edited = node.func.value if EDITS.fullmatch(node.func.attr) else None
        elif isinstance(node, ast.Subscript) and not isinstance(node.ctx, ast.Load):
            edited = node.value
        if edited and re.search(r"(^|[._])settings$", ast.unparse(edited)):
            yield f"line {edited.lineno}: {ast.unparse(node)}"


def too_long(module: Module) -> Iterator[str]:
    """Functions and modules that one cannot read at a glance."""
    lines = len(module.source.splitlines())
    if lines > LONGEST_MODULE:
        yield f"{lines} lines"
    for node in ast.walk(module.tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            length = (node.end_lineno or node.lineno) - node.lineno + 1
            if length > LONGEST_FUNCTION:
                yield f"line {node.lineno}: {node.name} has {length} lines"


CHECKS: tuple[Check, ...] = (
    points_up,
    impure,
    foreign,
    private_names,
    settings_edits,
    too_long,
)


@pytest.mark.parametrize("module", modules(), ids=lambda module: module.name or PACKAGE)
@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_package(check: Check, module: Module) -> None:
    """No module breaks a rule."""
    assert list(check(module)) == []


def test_one_module_imports_protego() -> None:
    """Whatever Protego reads goes through one module."""
    importers = {m.name for m in modules() for _, name in imports(m) if name.startswith("protego")}
    assert len(importers) <= 1


def test_commands_name_no_generic_alias() -> None:
    """On 3.10 dict[str, Any] looks like a class, and Scrapy's tool asks each class what it is."""
    aliases = [
        f"{name}.{what}"
        for name in COMMANDS
        for what, value in vars(importlib.import_module(name)).items()
        if isinstance(value, type(dict[str, int]))
    ]
    assert aliases == []


def test_package_imports_without_scrapy() -> None:
    """The package's own __init__ loads nothing but the standard library until it is asked to."""
    [package] = [module for module in modules() if module.name == ""] or [Module("", "")]
    now = [node for node in package.tree.body if isinstance(node, (ast.Import, ast.ImportFrom))]
    loaded = imports(Module("", "\n".join(map(ast.unparse, now))))
    assert [
        name for _, name in loaded if name.partition(".")[0] not in sys.stdlib_module_names
    ] == []


SAMPLES: list[tuple[Check, str, str, int]] = [
    (points_up, "policy.delay", "from scrapy_polite.config import Config", 1),
    (points_up, "policy.delay", "from scrapy_polite import config", 1),
    (points_up, "policy.delay", "def f():\n    import scrapy_polite.runtime.turns", 1),
    (points_up, "policy.delay", "if TYPE_CHECKING:\n    from scrapy_polite.queues import Q", 1),
    (points_up, "policy.delay", "from scrapy_polite import Addon", 1),
    (points_up, "policy.delay", "from scrapy_polite.policy import origin", 0),
    (points_up, "config", "from scrapy_polite.state.memory import MemoryStore", 1),
    (points_up, "config", "from scrapy_polite.policy.delay import DelayRules", 0),
    (points_up, "queues", "from scrapy_polite.middlewares.gate import Gate", 1),
    (points_up, "queues", "from scrapy_polite.runtime.runtime import Runtime", 0),
    (points_up, "middlewares.gate", "from scrapy_polite.middlewares.robots import Robots", 1),
    (points_up, "middlewares.gate", "from scrapy_polite.middlewares import robots", 1),
    (points_up, "middlewares", "from scrapy_polite.middlewares.robots import Robots", 0),
    (points_up, "", "from scrapy_polite.addon import Addon", 0),
    (impure, "policy.delay", "import scrapy", 1),
    (impure, "policy.delay", "from w3lib.url import canonicalize_url", 1),
    (impure, "policy.delay", "import re\nfrom scrapy_polite.policy import origin", 0),
    (impure, "config", "import scrapy", 0),
    (foreign, "runtime.turns", "from twisted.internet import reactor", 1),
    (foreign, "engine", "import twisted.internet.reactor", 1),
    (foreign, "engine", "from twisted.internet.defer import Deferred", 0),
    (foreign, "middlewares.robots", "from protego import Protego", 1),
    (foreign, "robots.hints", "from protego import Protego", 0),
    (private_names, "queues", "from scrapy.core.http2._agent import Agent", 1),
    (private_names, "queues", "from scrapy.utils.misc import _helper", 1),
    (private_names, "queues", "crawler.engine._slot.nextcall", 1),
    (private_names, "queues", "getattr(crawler.engine, '_slot', None)", 1),
    (private_names, "engine", "crawler.engine._slot.nextcall", 0),
    (private_names, "queues", "self._mine = 1\nother._mine", 0),
    (private_names, "queues", "record._replace(a=1)\nx.__class__", 0),
    (
        private_names,
        "downloader",
        "from scrapy.core.downloader import Downloader\n"
        "class Ours(Downloader):\n    def _process_queue(self, slot): ...",
        1,
    ),
    (settings_edits, "middlewares.gate", "crawler.settings.set('A', 1)", 1),
    (settings_edits, "middlewares.gate", "settings['A'] = 1", 1),
    (settings_edits, "middlewares.gate", "del spider_settings['A']", 1),
    (settings_edits, "config", "settings.setdefault('A', 1)", 1),
    (settings_edits, "config", "settings.getfloat('A')\nsettings['A']\nstats.set('a', 1)", 0),
    (settings_edits, "addon", "settings.set('A', 1)", 0),
    (too_long, "config", "x = 1\n" * (LONGEST_MODULE + 1), 1),
    (too_long, "config", "x = 1\n" * LONGEST_MODULE, 0),
    (too_long, "config", "def f():\n" + "    x = 1\n" * LONGEST_FUNCTION, 1),
    (too_long, "config", "def f():\n" + "    x = 1\n" * (LONGEST_FUNCTION - 1), 0),
]


@pytest.mark.parametrize(("check", "name", "source", "expected"), SAMPLES)
def test_check(check: Check, name: str, source: str, expected: int) -> None:
    """Each check finds what breaks its rule, and nothing in what does not."""
    assert len(list(check(Module(name, source)))) == expected
