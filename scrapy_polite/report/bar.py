"""A progress bar for a terminal, with rich (extra ``progress``); without rich there is none."""

from __future__ import annotations

import importlib.util
import sys
from typing import Any

from scrapy_polite.report.progress import Overview, Standing
from scrapy_polite.report.words import span


def is_possible() -> bool:
    """Return whether stderr is a terminal and rich is installed."""
    return sys.stderr.isatty() and importlib.util.find_spec("rich") is not None


class Bar:
    """One line at the bottom of the terminal; drawn when told to.

    Args:
        console: a console of rich's; None for stderr.
    """

    def __init__(self, console: Any = None) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

        columns: list[Any] = [BarColumn(), MofNCompleteColumn(), TextColumn("{task.description}")]
        console = console or Console(stderr=True)
        self._progress = Progress(*columns, console=console, auto_refresh=False)
        self._task = self._progress.add_task("", total=None)
        self._progress.start()

    def show(self, overview: Overview) -> None:
        """Draw how a crawl stands."""
        self._progress.update(
            self._task,
            completed=overview.pages,
            total=overview.pages + overview.queued,
            description=_words(overview),
            refresh=True,
        )

    def close(self) -> None:
        """Leave the line as it is and give the terminal back."""
        self._progress.stop()


def _words(overview: Overview) -> str:
    hosts = ", ".join(
        f"{count:,} {standing.value}"
        for standing in Standing
        if (count := overview.hosts[standing]) or standing is Standing.READY
    )
    parts = [hosts]
    if overview.next_in:
        parts.append(f"next in {overview.next_in:.1f} s")
    if overview.end_in is not None:
        parts.append(f"about {span(overview.end_in)} left")
    return "; ".join(parts)
