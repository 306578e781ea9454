"""What the owner of a robots.txt file should put right in Content-Usage and Content-Signal lines.

Rules: a line of which something is not heard is told, with what to write instead.  What is heard,
and how, is in `policy.usage`.

Source: draft-ietf-aipref-attach and draft-ietf-aipref-vocab; https://contentsignals.org.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from scrapy_polite.policy import dictionary
from scrapy_polite.robots.lines import CONTENT_SIGNAL, CONTENT_USAGE, Record, printable
from scrapy_polite.robots.preferences import split_path

_QUOTE_MAX = 40  # characters of a name or an answer that a message quotes
_TOLD_MAX = 3  # mistakes of a line


@dataclass(frozen=True, slots=True)
class _Form:
    """How one of the two records is written: its names, its answers, and those of the other."""

    names: tuple[str, ...]
    yes: str
    no: str
    meant: dict[str, str]


_FORMS = {
    CONTENT_USAGE: _Form(("train-ai", "search"), "y", "n", {"ai-train": "train-ai"}),
    CONTENT_SIGNAL: _Form(
        ("search", "ai-input", "ai-train"), "yes", "no", {"train-ai": "ai-train"}
    ),
}
_YES, _NO = ("y", "yes"), ("n", "no")


def mistakes(record: Record) -> Iterator[str]:
    """Yield a sentence for each thing in a preference record that is not heard as it is written.

    >>> list(mistakes(Record(2, "content-usage", "train-ai=N")))
    ['"N" is no answer for train-ai; write train-ai=n.']
    """
    form, (path, text) = _FORMS[record.key], split_path(record.value)
    if not text.strip():
        yield f"The line says nothing; write, for example, {form.names[0]}={form.no}."
    elif record.key == CONTENT_USAGE and dictionary.parse(text) is None:
        yield _unreadable(path, text)
    else:
        found = [told for item in text.split(",") if (told := _in_item(item, form))]
        yield from found[:_TOLD_MAX]


def _unreadable(path: str, text: str) -> str:
    lower = text.lower()
    if lower != text and dictionary.parse(lower) is not None:
        return f"Upper case counts here, so the line says nothing; write {_quote(lower)}."
    first, _, rest = text.partition(" ")
    if not path and "=" not in first and rest and dictionary.parse(rest.strip()):
        better = f"/{first.lstrip('/')} {rest.strip()}"
        return f"A path begins with /, so the line says nothing; write {_quote(better)}."
    return "The line cannot be read and says nothing; write, for example, train-ai=n, search=y."


def _in_item(item: str, form: _Form) -> str | None:
    """Return what is wrong with one `name=answer`; None when nothing is."""
    name, equals, answer = item.partition(";")[0].strip().partition("=")
    name, answer = name.strip(), answer.strip()
    is_signal = form is _FORMS[CONTENT_SIGNAL]
    known = name.lower() if is_signal else name
    if known not in form.names:
        if known in form.meant:
            return f'Nobody knows "{_quote(name)}"; write {form.meant[known]}.'
        *most, last = form.names
        return f'Nobody knows "{_quote(name)}"; the names are {", ".join(most)} and {last}.'
    if not equals:
        return f"{known} has no answer; write {known}={form.yes} or {known}={form.no}."
    if (answer.lower() if is_signal else answer) in (form.yes, form.no):
        return None
    better = f"{form.yes} or {form.no}"
    for words, right in ((_YES, form.yes), (_NO, form.no)):
        if answer.lower() in words:
            better = f"{known}={right}"
    return f'"{_quote(answer)}" is no answer for {known}; write {better}.'


def _quote(text: str) -> str:
    return printable(text[:_QUOTE_MAX])
