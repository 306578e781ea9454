"""The texts of a site: `content/<name>.md` in, HTML pages out.

A file opens with `# Title` and a paragraph for the front page; each `## path: Title` after it opens
a page. The front page links to every page, also to those that robots.txt forbids: that is what
tells crawlers apart.
"""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from pathlib import Path

from .sites import Site

CONTENT = Path(__file__).parent / "content"
STYLE = "body{font:18px/1.6 Georgia,serif;max-width:36em;margin:3em auto;padding:0 1em;color:#222}"


@dataclass(frozen=True, slots=True)
class Text:
    """One page before it is HTML."""

    path: str
    title: str
    body: str


def read_texts(source: str) -> list[Text]:
    """Split a content file into its pages, the front page first.

    >>> read_texts("# T\\nHi.\\n\\n## a/b: B\\nHo.\\n")[1]
    Text(path='/a/b', title='B', body='Ho.')
    """
    front, *sections = source.split("\n## ")
    title, _, body = front.partition("\n")
    texts = [Text("/", title.removeprefix("# "), body.strip())]
    for section in sections:
        head, _, body = section.partition("\n")
        path, _, title = head.partition(": ")
        texts.append(Text(f"/{path}", title, body.strip()))
    return texts


def link(text: Text) -> str:
    """A link to a page of the same site."""
    return f'<a href="{escape(text.path)}">{escape(text.title)}</a>'


def render(text: Text, links: list[str]) -> str:
    """One page as HTML, with the given links below its text."""
    items = "".join(f"<li>{item}</li>" for item in links)
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{escape(text.title)}'
        f"</title><style>{STYLE}</style></head>\n<body><h1>{escape(text.title)}</h1>\n"
        f"<p>{escape(text.body)}</p>\n<ul>{items}</ul></body></html>\n"
    )


def site_pages(site: Site) -> dict[str, str]:
    """Every page of a site: path to HTML.

    Raises:
        FileNotFoundError: There is no content file of that name.
    """
    if not site.has_pages:
        return {}
    front, *others = read_texts((CONTENT / f"{site.name}.md").read_text(encoding="utf-8"))
    pages = {front.path: render(front, [link(other) for other in others])}
    for text, following in zip(others, [*others[1:], front], strict=True):
        pages[text.path] = render(text, [link(front), link(following)])
    return pages
