"""Single tags out of a web page, at a cost that no page can drive up.

Rules: the text is gone through once.  Tags in comments and in elements whose content is text are
none.  A tag that is not closed, or longer than `TAG_MAX`, is left out.  Only the tags that were
asked for are parsed, by lxml, one by one short: its cost grows with the square of a tag's
attributes.  Behind `READ_MAX` characters nobody looks.

Source: https://html.spec.whatwg.org/multipage/parsing.html (comments, raw text elements).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from parsel import Selector

READ_MAX = 1_000_000  # characters of a page
TAG_MAX = 4096  # characters of a tag
_TEXT_ELEMENTS = "script|style|title|textarea|xmp|iframe|noembed|noframes"
_ATTRIBUTES = re.compile(r"""(?:[^<>"']|"[^"]{0,4096}"|'[^']{0,4096}')*>""").match


def find(text: str, *names: str) -> Iterator[Mapping[str, str]]:
    """Yield the attributes of each tag with one of these names, in order.

    Args:
        text: the page.
        names: lower case.

    >>> [tag["name"] for tag in find("<META name=a><!-- <meta name=b> --><meta name='c>'>", "meta")]
    ['a', 'c>']
    """
    found = "".join(_sources(text[:READ_MAX], "|".join(names)))
    if found:
        found = found.encode("utf-8", "replace").decode()  # a lone surrogate is no text to lxml
        for element in Selector(text=found, type="html").root.iter(*names):
            yield element.attrib


def _sources(text: str, names: str) -> Iterator[str]:
    marks = re.compile(rf"<(?:(!--)|({_TEXT_ELEMENTS})(?![\w-])|(?:{names})(?=[\s/]))", re.I)
    at = 0
    while mark := marks.search(text, at):
        at = mark.end()
        if mark[1]:
            at = text.find("-->", at - 2)
        elif mark[2]:
            at = _end_of(text, mark[2], at)
        elif (tag := _ATTRIBUTES(text, at, at + TAG_MAX)) is not None:
            yield text[mark.start() : tag.end()]
            at = tag.end()
        if at < 0:
            return


def _end_of(text: str, name: str, at: int) -> int:
    """Return where the content of a text element ends; below 0: it does not."""
    end = re.compile(f"</{name}", re.I).search(text, at)
    return end.start() if end else -1
