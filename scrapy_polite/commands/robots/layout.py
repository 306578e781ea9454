"""How the report lies on a terminal: at most 100 columns where what is quoted allows it."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence

COLUMNS = 100
_LABEL_COLUMNS = 15
_NUMBERS_SHOWN = 8


def wrapped(text: str, indent: int = 0, start: str = "") -> Iterator[str]:
    """Yield the lines of a text, indented; the first begins with *start*."""
    yield from textwrap.wrap(
        text,
        COLUMNS,
        initial_indent=start.ljust(indent),
        subsequent_indent=" " * indent,
        break_long_words=False,
        break_on_hyphens=False,
    )


def labelled(label: str, text: str, columns: int = _LABEL_COLUMNS) -> Iterator[str]:
    """Yield the lines of a text with a label before it.

    >>> list(labelled("Rules", "12"))
    ['  Rules        12']
    """
    yield from wrapped(text, columns, f"  {label}")


def line_numbers(numbers: Sequence[int]) -> str:
    """Return line numbers as a person says them.

    >>> line_numbers([3]), line_numbers([3, 5])
    ('line 3', 'lines 3, 5')
    """
    shown = ", ".join(map(str, numbers[:_NUMBERS_SHOWN]))
    more = len(numbers) - _NUMBERS_SHOWN
    return f"line{'s' * (len(numbers) > 1)} {shown}" + (f" and {more:,} more" if more > 0 else "")
