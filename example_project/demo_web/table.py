"""The figures of two crawls as text, side by side, at most 100 columns wide."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from textwrap import fill

from .referee import Fetch, Figures, broken_promises, total
from .sites import SITES

WIDTH = 100


def _ratio(figures: Figures) -> str:
    return "-" if figures.least_ratio is None else f"{figures.least_ratio:.1f}"


def _waits(figures: Figures) -> str:
    return f"{figures.waits_kept}/{figures.waits_asked}" if figures.waits_asked else "-"


COLUMNS: tuple[tuple[str, Callable[[Figures], str], str], ...] = (
    ("requests", lambda crawl: f"{crawl.requests}", "requests that came, robots.txt included"),
    ("at once", lambda crawl: f"{crawl.most_at_once}", "most requests in progress at one moment"),
    ("wait/fetch", _ratio, "least wait between two requests, divided by the fetch before"),
    ("waits kept", _waits, "of the waits that the site asked for by Retry-After or Crawl-delay"),
    ("forbidden", lambda crawl: f"{crawl.forbidden}", "requests for pages that the owner forbids"),
)
"""Heading, cell, and what the column means."""


def _row(site: str, manner: str, stock: Figures, polite: Figures) -> str:
    cells = "".join(f"{cell(stock):>6}{cell(polite):>7}" for _, cell, _ in COLUMNS)
    return f"{site:<12}{manner:<17}{cells}"


def table(stock: Mapping[str, Figures], polite: Mapping[str, Figures]) -> str:
    """One row a site, one pair of columns a figure, and what each of them means.

    Args:
        stock: Stock Scrapy's figures by the site's name.
        polite: The polite crawl's, the same sites.
    """
    top = " " * 29 + "".join(f"{heading:>13}" for heading, _, _ in COLUMNS)
    under = f"{'site':<12}{'robots.txt':<17}" + f"{'stock':>6}{'polite':>7}" * len(COLUMNS)
    rule = "-" * len(under)
    rows = [_row(site.name, site.manner, stock[site.name], polite[site.name]) for site in SITES]
    last = _row("all", "", total(stock.values()), total(polite.values()))
    meanings = [f"{heading:<11} {meaning}" for heading, _, meaning in COLUMNS]
    where = f"The sites are {SITES[0].address} to {SITES[-1].address}, in this order."
    return "\n".join([top, under, rule, *rows, rule, last, "", *meanings, "", where])


def signatures(fetches: Sequence[Fetch]) -> str:
    """Who the visitors said they were: each User-Agent, with its From header where it sent one."""
    signed = {(fetch.user_agent or "nobody", fetch.sender) for fetch in fetches}
    return "\n".join(
        f"  {agent}" + (f", From: {sender}" if sender else "")
        for agent, sender in sorted(signed, key=str)
    )


def sentence(name: str, crawl: Figures) -> str:
    """One crawl in plain words."""
    return fill(
        f"{name}: at most {crawl.most_at_once} at once on a host, least wait {_ratio(crawl)} "
        f"times the fetch, {crawl.waits_kept} of {crawl.waits_asked} requested waits kept, "
        f"{crawl.forbidden} forbidden pages asked for, "
        f"{crawl.pages} of {crawl.allowed} allowed pages got.",
        WIDTH,
    )


def verdict(stock: Figures, polite: Figures) -> str:
    """One line: whether the polite crawl kept its promises, and how many stock Scrapy broke."""
    broken = broken_promises(polite)
    if broken:
        return f"The polite crawl broke a promise: {'; '.join(broken)}."
    return (
        "By the web's own log the polite crawl kept every promise; "
        f"stock Scrapy would have broken {len(broken_promises(stock))} of them."
    )
