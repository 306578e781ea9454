"""The README and the pages of docs/, taken apart for tests.

Rules: a fence names its language; a word after it says more (`python alone`: settings that work
without the add-on).  In `sh` each line is a command.  In `console` a line after `$ ` is one, and
the lines below it are part of what it prints, in that order; `...` stands for others.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
ON_REDIS = "redis://localhost:6379/0"  # where the pages say that a server is
_FENCE = re.compile(r"^```(\w*) ?(.*)\n((?:.*\n)*?)```$", re.MULTILINE)
_HEADING = re.compile(r"^(#+) (.*)$", re.MULTILINE)
_ROW = re.compile(r"^\| (.*) \|$(?!\n\|-)", re.MULTILINE)  # a head stands above dashes


@dataclass(frozen=True, slots=True)
class Block:
    """A fenced block: its language, the words after it, and its text."""

    language: str
    words: str
    text: str


@dataclass(frozen=True, slots=True)
class Command:
    """A command line, and lines that it prints among others."""

    line: str
    prints: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Page:
    """A page by its path from the root of the project, and its text or a part of it."""

    name: str
    text: str

    @property
    def path(self) -> Path:
        """Where it is."""
        return ROOT / self.name

    @property
    def blocks(self) -> list[Block]:
        """Its fenced blocks."""
        return [Block(*found.groups()) for found in _FENCE.finditer(self.text)]

    @property
    def commands(self) -> list[Command]:
        """The commands of its `sh` and `console` blocks."""
        return [command for block in self.blocks for command in _commands(block)]

    @property
    def prose(self) -> str:
        """Its text with blanks for all that is fenced."""
        return _FENCE.sub(lambda found: re.sub(r".", " ", found[0]), self.text)

    @property
    def anchors(self) -> set[str]:
        """What links can point at, as GitHub names it."""
        titles = (found[2].lower() for found in _HEADING.finditer(self.prose))
        return {re.sub(r"[^\w -]", "", title).replace(" ", "-") for title in titles}

    @property
    def rows(self) -> list[list[str]]:
        """The cells of the rows of its tables, without heads."""
        return [[cell.strip() for cell in row.split(" | ")] for row in _ROW.findall(self.prose)]

    def named(self, column: int = 0) -> list[str]:
        """Return what a column of its tables names in backticks."""
        return [name for row in self.rows for name in re.findall(r"`([^`]+)`", row[column])]

    def section(self, title: str) -> Page:
        """Return what stands below a heading, down to the next one of its level or above."""
        headings = list(_HEADING.finditer(self.prose))
        here = next(heading for heading in headings if heading[2] == title)
        below = (
            heading.start()
            for heading in headings
            if heading.start() > here.start() and len(heading[1]) <= len(here[1])
        )
        return Page(self.name, self.text[here.end() : next(below, None)])


def _commands(block: Block) -> Iterator[Command]:
    if block.language == "sh":
        yield from (Command(line.partition("  # ")[0].strip()) for line in block.text.splitlines())
    elif block.language == "console":
        for session in re.split(r"^\$ ", block.text, flags=re.MULTILINE)[1:]:
            line, *prints = session.splitlines()
            yield Command(line, tuple(text.strip() for text in prints if text != "..."))


def pages() -> list[Page]:
    """Return the README and the pages of docs/."""
    files = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    return [Page(file.relative_to(ROOT).as_posix(), file.read_text("utf-8")) for file in files]


def page(name: str) -> Page:
    """Return one page by its path from the root."""
    return next(each for each in pages() if each.name == name)
