"""Structured dictionaries in headers, as far as one has to read them to know whether they are one.

Rules: a dictionary is read whole or not at all; of equal keys the last counts; parameters are
checked and left out.  Of the values only tokens are told apart from each other.  Each octet is
looked at a fixed number of times.

Source: RFC 9651 section 4.2, the algorithm of 4.2.2 for dictionaries.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Callable
from typing import Any, NamedTuple
from urllib.parse import unquote_to_bytes

_KEY = re.compile(r"[a-z*][a-z0-9_.*-]*").match
_TOKEN = re.compile(r"[A-Za-z*][!#$%&'*+.^_`|~:/0-9A-Za-z-]*").match
_NUMBER = re.compile(r"@?-?\d+", re.ASCII).match
_FRACTION = re.compile(r"\.\d{1,3}(?![\d.])", re.ASCII).match
_STRING = re.compile(r'"(?:[ !#-\[\]-~]|\\["\\])*"').match
_DISPLAY = re.compile(r'%"((?:[ !#$&-~]|%[0-9a-f]{2})*)"').match
_OCTETS = re.compile(r":([A-Za-z0-9+/=]*):").match
_BOOLEAN = re.compile(r"\?[01]").match
_BLANKS = re.compile(r" *").match
_WHITE = re.compile(r"[ \t]*").match
_DIGITS, _DIGITS_BEFORE_POINT = 15, 12


class Token(NamedTuple):
    """A value that is a token."""

    text: str


class Malformed(Exception):
    """The text is no structured dictionary."""


def parse(text: str) -> dict[str, Token | None] | None:
    """Return the members of a dictionary; None when *text* is none.

    A value that is no token, a bare key among them, is None.

    >>> parse('a=y;p=1, b, c="n", d=(1 2)')
    {'a': Token(text='y'), 'b': None, 'c': None, 'd': None}
    >>> parse("A=y"), parse("a=y,"), parse("")
    (None, None, {})
    """
    try:
        return _Reader(text.strip(" ")).dictionary()
    except Malformed:
        return None


class _Reader:
    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0

    def dictionary(self) -> dict[str, Token | None]:
        members: dict[str, Token | None] = {}
        while self._at < len(self._text):
            key = self._key()
            members.pop(key, None)
            members[key] = self._value() if self._skips("=") else None
            self._parameters()
            self._take(_WHITE)
            if self._at == len(self._text):
                break
            if not self._skips(","):
                raise Malformed
            self._take(_WHITE)
            if self._at == len(self._text):
                raise Malformed  # a comma at the end
        return members

    def _value(self) -> Token | None:
        if not self._skips("("):
            return self._item()
        self._inner_list()
        return None

    def _inner_list(self) -> None:
        while True:
            self._take(_BLANKS)
            if self._skips(")"):
                return
            self._item()
            self._parameters()
            if self._peek() not in (" ", ")"):
                raise Malformed

    def _parameters(self) -> None:
        while self._skips(";"):
            self._take(_BLANKS)
            self._key()
            if self._skips("="):
                self._item()

    def _key(self) -> str:
        return self._take(_KEY)[0]

    def _item(self) -> Token | None:
        first = self._peek()
        if first in _STARTS:
            _STARTS[first](self)
            return None
        return Token(self._take(_TOKEN)[0])

    def _number(self) -> None:
        digits = self._take(_NUMBER)[0]
        count = len(digits.lstrip("@-"))
        is_decimal = self._peek() == "." and digits[0] != "@"
        if is_decimal:
            self._take(_FRACTION)
        if count > (_DIGITS_BEFORE_POINT if is_decimal else _DIGITS):
            raise Malformed

    def _string(self) -> None:
        self._take(_STRING)

    def _boolean(self) -> None:
        self._take(_BOOLEAN)

    def _octets(self) -> None:
        written = self._take(_OCTETS)[1].rstrip("=")
        try:
            base64.b64decode(written + "=" * (-len(written) % 4), validate=True)
        except ValueError:
            raise Malformed from None

    def _display(self) -> None:
        try:
            unquote_to_bytes(self._take(_DISPLAY)[1]).decode("utf-8")
        except UnicodeDecodeError:
            raise Malformed from None

    def _peek(self) -> str:
        return self._text[self._at : self._at + 1]

    def _skips(self, char: str) -> bool:
        is_there = self._peek() == char
        self._at += is_there
        return is_there

    def _take(self, pattern: Callable[..., Any]) -> re.Match[str]:
        match: re.Match[str] | None = pattern(self._text, self._at)
        if match is None:
            raise Malformed
        self._at = match.end()
        return match


_STARTS: dict[str, Callable[[_Reader], None]] = {
    **dict.fromkeys("@-0123456789", _Reader._number),
    '"': _Reader._string,
    "?": _Reader._boolean,
    ":": _Reader._octets,
    "%": _Reader._display,
}
