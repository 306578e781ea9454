"""Texts that sites have a part in, fit for our log and our files.

A site chooses its names, its paths and what its errors look like: none of it starts another line,
commands a terminal or fills a disk.  Names and passwords in a URL stay with the request.
"""

from __future__ import annotations

import re

LONGEST = 200  # characters
_USERINFO = re.compile(r"^([A-Za-z][A-Za-z0-9+.-]*://)[^/\\?#]*@")


def one_line(text: str, longest: int = LONGEST) -> str:
    r"""Return text fit for a line of the log: printable, and not too long.

    >>> one_line("captcha\n[scrapy] INFO: \x1b[2Jfine")
    'captcha [scrapy] INFO: [2Jfine'
    """
    line = "".join(char for char in " ".join(text.split()) if char.isprintable())
    return line if len(line) <= longest else f"{line[: longest - 3]}..."


def shown(url: str) -> str:
    """Return a URL without its userinfo.

    >>> shown("http://me:secret@site.example/@home")
    'http://site.example/@home'
    """
    return _USERINFO.sub(r"\1", url) if "@" in url else url
