"""One setting at a time: what a person or a command line wrote, as a checked value.

Rules:

- A string is read as what it says: "2", "true", "429,503".
- A bool is no number; NaN, infinity and an empty value are none either.
- An error is one sentence that names the setting, shows its value and says what to write.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Mapping
from reprlib import repr as shown
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from scrapy.settings import BaseSettings

SECONDS = "a number of seconds"


def number(
    name: str, value: object, *, example: float, least: float = 0.0, kind: str = SECONDS
) -> float:
    """Return a finite number.

    Args:
        example: a good value, for the error.
        least: the smallest value that makes sense.
        kind: what the number is, for the error.

    Raises:
        ValueError: it is no such number.

    >>> number("POLITE_MIN_DELAY", "2", example=1.0)
    2.0
    >>> number("POLITE_MIN_DELAY", -2, example=1.0)
    Traceback (most recent call last):
    ValueError: POLITE_MIN_DELAY is -2: write a number of seconds, at least 0, for example 1.0.
    """
    read = _number(value)
    if not least <= read < math.inf:
        raise _error(name, value, f"{kind}, at least {least:g}, for example {example!r}")
    return read


def count(name: str, value: object, *, example: int) -> int:
    """Return a whole number of at least 1.

    Raises:
        ValueError: it is no such number.
    """
    read = _number(value)
    if not (read >= 1.0 and read.is_integer()):
        raise _error(name, value, f"a whole number, at least 1, for example {example!r}")
    return int(read)


def flag(settings: BaseSettings, name: str, *, default: bool) -> bool:
    """Return a switch, read as Scrapy reads its own.

    Raises:
        ValueError: it is neither on nor off.
    """
    value = settings.get(name)
    if value is None:
        return default
    try:
        return settings.getbool(name)
    except (ValueError, TypeError, OverflowError):
        raise _error(name, value, "True or False") from None


def choice(name: str, value: object, choices: tuple[str, ...]) -> str:
    """Return one of the choices.

    Raises:
        ValueError: it is none of them.
    """
    if value not in choices:
        *most, last = map(repr, choices)
        raise _error(name, value, f"{', '.join(most)} or {last}")
    return str(value)


def text(name: str, value: object, *, example: str) -> str:
    """Return a text in one line; a path counts as one.

    Raises:
        ValueError: it is none, or blank.
    """
    read = os.fspath(value) if isinstance(value, os.PathLike) else value
    if not isinstance(read, str) or not read.strip() or not read.isprintable():
        raise _error(name, value, f"a text, for example {example!r}")
    return read


def statuses(name: str, value: object, *, example: list[int]) -> frozenset[int]:
    """Return HTTP statuses of errors; a string holds them separated by commas.

    Raises:
        ValueError: there is none, or something else.

    >>> sorted(statuses("POLITE_BACKOFF_STATUSES", "429, 503", example=[429]))
    [429, 503]
    """
    items = value.strip("[] ").split(",") if isinstance(value, str) else value
    read = [_number(item) for item in items] if isinstance(items, Iterable) else []
    if not read or not all(400 <= item <= 599 and item.is_integer() for item in read):
        raise _error(name, value, f"a list of statuses from 400 to 599, for example {example!r}")
    return frozenset(map(int, read))


def words(name: str, value: object, choices: tuple[str, ...]) -> tuple[str, ...]:
    """Return some of the choices, each once; a string holds them separated by commas.

    Raises:
        ValueError: something else is there.

    >>> words("POLITE_PURPOSE", "search, train-ai", ("train-ai", "search"))
    ('search', 'train-ai')
    """
    items = value.strip("[] ").split(",") if isinstance(value, str) else value
    read = list(items) if isinstance(items, list | tuple | set | frozenset) else [items]
    read = [item.strip(" '\"") if isinstance(item, str) else item for item in read]
    read = [] if read == [""] else read
    if not all(item in choices for item in read):
        example = f"for example [{choices[0]!r}]"
        raise _error(name, value, f"a list of {', '.join(map(repr, choices))}, {example}")
    return tuple(dict.fromkeys(map(str, read)))


def slot_delays(settings: BaseSettings) -> dict[str, float]:
    """Return the delay in seconds of each slot of DOWNLOAD_SLOTS; 0 where it sets none.

    Raises:
        ValueError: a slot or its delay cannot be read.
    """
    name, delays = "DOWNLOAD_SLOTS", {}
    advice = 'a dict of slots, for example {"host.test": {"delay": 2.0}}'
    try:
        slots = settings.getdict(name)
    except (ValueError, TypeError):
        raise _error(name, settings.get(name), advice) from None
    for key, slot in slots.items():
        if not isinstance(slot, Mapping):
            raise _error(name, slots, advice)
        delay = slot.get("delay")
        delays[key] = number(
            f"The delay of {key!r} in {name}", 0.0 if delay is None else delay, example=2.0
        )
    return delays


def _number(value: Any) -> float:
    """Return what can be read as a number, else NaN, which no comparison lets pass."""
    try:
        return math.nan if isinstance(value, bool) else float(value)
    except (TypeError, ValueError, OverflowError):
        return math.nan


def _error(name: str, value: object, advice: str) -> ValueError:
    return ValueError(f"{name} is {shown(value)}: write {advice}.")
