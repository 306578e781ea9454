"""What is crawled: Debian's python3-doc, by owners who think differently of robots.txt.

Each owner shows the whole documentation behind a front page that leads to some of its sections, to
a slow page and to one that is gone. What a crawl must fetch is worked out here from the files, with
the standard library alone and without reading any robots.txt.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import urljoin, urlsplit

from harness.needing import need
from referee.spider import SECTIONS, WITHIN

DOCUMENTATION = Path("/usr/share/doc/python3/html")
_LINKS = (*SECTIONS, "faq/gone.html", "slow.html", "library")  # the last is for nobody
FRONT = "<title>Python</title>" + "".join(f'<a href="/{path}">{path}</a>\n' for path in _LINKS)
SLOW = "<title>Slow</title>"
RULES = "User-agent: *\nDisallow: /faq/\n"
PRODUCT = "RefereeBot"


@dataclass(frozen=True, slots=True)
class Owner:
    """How the owner of a site answers to /robots.txt, and what that means.

    Args:
        robots: The file; None when there is none.
        robots_answer: What nginx does when there is none, as it stands in its configuration; ""
            for a 404.
        forbidden: What paths no crawler may fetch begin with, a regular expression; None when all
            are allowed.
        crawl_delay: Seconds that the file asks for.
    """

    robots: str | None = None
    robots_answer: str = ""
    forbidden: str | None = None
    crawl_delay: float = 0.0

    def allows(self, path: str) -> bool:
        """Say whether a path may be fetched."""
        return self.forbidden is None or re.match(self.forbidden, path) is None


OPEN = Owner("User-agent: *\nDisallow:\n")
UNREACHABLE = Owner(robots_answer="return 503;", forbidden="/")
OWNERS = (
    OPEN,
    Owner(),
    Owner(robots_answer="return 403;"),
    Owner(RULES, forbidden="/faq/"),
    Owner("User-agent: *\nDisallow: /*.html$\nAllow: /tutorial/\n",
          forbidden=r"/(?!tutorial/).*\.html$"),
    Owner(f"User-agent: *\nDisallow: /\n\nUser-agent: {PRODUCT}\nDisallow: /howto\n",
          forbidden="/howto"),
    Owner("User-agent: *\nCrawl-delay: 1\nDisallow: /\nAllow: /$\nAllow: /tutorial\n",
          forbidden="/(?!$|tutorial)", crawl_delay=1.0),
    Owner(robots_answer="return 301 /rules.txt;", forbidden="/faq/"),
    Owner(robots_answer="return 302 http://{neighbour}:$server_port/rules.txt;", forbidden="/faq/"),
    Owner("User-agent: *\nDisallow: /\n", forbidden="/"),
    UNREACHABLE,
    OPEN,
)  # fmt: skip


def documentation() -> Path:
    """Return the folder of the documentation, which the test needs."""
    folder = next(filter(_is_documentation, _candidates()), None)
    return need("python3-doc", folder, "apt-get install python3-doc")


def _candidates() -> Iterator[Path]:
    yield DOCUMENTATION
    with suppress(OSError):
        asking = ["dpkg", "-L", "python3-doc"]
        asked = subprocess.run(asking, check=False, capture_output=True, text=True)
        yield from map(Path, asked.stdout.splitlines())
    yield from sorted(Path("/usr/share/doc").glob("python3*/html"), reverse=True)


def _is_documentation(folder: Path) -> bool:
    return all((folder / section / "index.html").is_file() for section in SECTIONS)


def pages(owner: Owner) -> dict[str, int]:
    """Return the paths that a spider comes to which keeps to `WITHIN` and to the rules.

    Returns:
        Per path its status; a folder without its slash is a redirect to the one with it.
    """
    found: dict[str, int] = {}
    ahead = ["/"]
    while ahead:
        path = ahead.pop()
        if path not in found and owner.allows(path):
            found[path], links = _page(path)
            ahead += links
    return found


@cache
def _page(path: str) -> tuple[int, list[str]]:
    """Return the status of a path, and the paths that the spider goes on to."""
    file = documentation() / path[1:]
    if path in ("/", "/slow.html"):
        return 200, _links(path, FRONT if path == "/" else SLOW)
    if file.is_dir() and not path.endswith("/"):
        return 301, [f"{path}/"]
    file = file / "index.html" if file.is_dir() else file
    return (200, _links(path, file.read_text())) if file.is_file() else (404, [])


def _links(path: str, html: str) -> list[str]:
    parser = _LinkParser()
    parser.feed(html)
    urls = [urljoin(f"http://site{path}", href.strip()) for href in parser.hrefs]
    return [
        urlsplit(url).path
        for url in urls
        if urlsplit(url).netloc == "site" and re.match(WITHIN, url.partition("#")[0])
    ]


class _LinkParser(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.hrefs: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in ("a", "area"):
            self.hrefs += [value for name, value in attrs if name == "href" and value]
