"""Frozen dataclasses to JSON values and back.

- A field that has its default is left out, so that lines stay short and fields can be added.
- Reading skips fields that it does not know, and takes nothing that has the wrong type: numbers are
  finite, text is text.
- Fields are bool, int, float, str, one of them or None, other such dataclasses, and tuples and
  dicts (with text keys) of those.
"""

from __future__ import annotations

import types
from collections.abc import Callable
from dataclasses import MISSING, Field, fields, is_dataclass
from typing import Any, TypeVar, get_args, get_origin, get_type_hints

T = TypeVar("T")
Read = Callable[[Any], Any]
Defaults = tuple[tuple[str, Any], ...]  # of the fields of a class
Readers = dict[str, Read]
_KNOWN_DEFAULTS: dict[type[Any], Defaults] = {}
_KNOWN_READERS: dict[type[Any], Readers] = {}
_HUGE = 1e15  # no instant, duration or count that we write is anywhere near


def to_plain(value: Any) -> Any:
    """Return a value as JSON has it."""
    if type(value) in _SIMPLE:
        return value
    if is_dataclass(value):
        return {
            name: to_plain(item)
            for name, default in _defaults(type(value))
            if (item := getattr(value, name)) != default
        }
    if isinstance(value, (tuple, list)):
        return [to_plain(item) for item in value]
    if isinstance(value, dict):
        return {key: to_plain(item) for key, item in value.items()}
    return value


def from_plain(cls: type[T], data: object) -> T:
    """Return the dataclass that a JSON object describes.

    Raises:
        ValueError: a field is missing, or has the wrong type.
    """
    if not isinstance(data, dict):
        raise ValueError(f"{cls.__name__} is no object")
    readers = _readers(cls)
    try:
        found = {name: readers[name](value) for name, value in data.items() if name in readers}
    except ValueError as error:
        raise ValueError(f"{cls.__name__}: {error}") from None
    try:
        return cls(**found)
    except TypeError:
        needed = {name for name, default in _defaults(cls) if default is MISSING}
        missing = ", ".join(sorted(needed - set(found)))
        raise ValueError(f"{cls.__name__} lacks {missing}") from None


def _defaults(cls: type[Any]) -> Defaults:
    if cls not in _KNOWN_DEFAULTS:
        _KNOWN_DEFAULTS[cls] = tuple((field.name, _default(field)) for field in fields(cls))
    return _KNOWN_DEFAULTS[cls]


def _default(field: Field[Any]) -> Any:
    return field.default_factory() if field.default_factory is not MISSING else field.default


def _readers(cls: type[Any]) -> Readers:
    if cls not in _KNOWN_READERS:
        hints = get_type_hints(cls)
        _KNOWN_READERS[cls] = {item.name: _reader(hints[item.name]) for item in fields(cls)}
    return _KNOWN_READERS[cls]


def _reader(hint: Any) -> Read:
    """Return what turns a JSON value into a value of a type, or raises ValueError."""
    if hint in _SIMPLE:
        return _SIMPLE[hint]
    origin, inner = get_origin(hint), get_args(hint)
    if origin is types.UnionType:
        [read] = [_reader(kind) for kind in inner if kind is not types.NoneType]
        return _OPTIONAL.get(read) or (lambda value: None if value is None else read(value))
    if origin is tuple:
        read_item = _reader(inner[0])
        return lambda value: tuple(map(read_item, _checked(value, list)))
    if origin is dict:
        read_value = _reader(inner[1])
        return lambda value: {
            _text(key): read_value(item) for key, item in _checked(value, dict).items()
        }
    return lambda value: from_plain(hint, value)


def _checked(value: Any, kind: type[Any]) -> Any:
    if not isinstance(value, kind):
        raise ValueError(f"{value!r:.80} is no {kind.__name__}")
    return value


def _number(value: Any) -> float:
    if type(value) not in (float, int) or not -_HUGE < value < _HUGE:
        raise ValueError(f"{value!r:.80} is no number")
    return float(value)


def _integer(value: Any) -> int:
    if type(value) is not int or not -_HUGE < value < _HUGE:
        raise ValueError(f"{value!r:.80} is no whole number")
    return value


def _text(value: Any) -> str:
    if type(value) is not str:
        raise ValueError(f"{value!r:.80} is no text")
    return value


def _truth(value: Any) -> bool:
    if type(value) is not bool:
        raise ValueError(f"{value!r:.80} is neither true nor false")
    return value


def _text_or_none(value: Any) -> str | None:
    return value if value is None or type(value) is str else _text(value)


def _integer_or_none(value: Any) -> int | None:
    return None if value is None else _integer(value)


_OPTIONAL: dict[Read, Read] = {_text: _text_or_none, _integer: _integer_or_none}  # often needed
_SIMPLE: dict[Any, Read] = {float: _number, int: _integer, str: _text, bool: _truth}
