"""`scrapy politeness`: the proof of a finished crawl, why a URL waits, how long a crawl will take.

Exit status: 0 when all promises were kept, 1 when one was broken, 2 when that cannot be told or
something could not be read; of --state and --plan 0 or 2.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from scrapy.commands import ScrapyCommand
from scrapy.exceptions import UsageError

if TYPE_CHECKING:
    import argparse

    from scrapy_polite.report.summary import Report

UNKNOWN_STATUS = 2


class Command(ScrapyCommand):
    """Reads an event log or a report, and prints what it says about politeness."""

    requires_project = False
    requires_crawler_process = False
    default_settings: ClassVar[dict[str, Any]] = {"LOG_ENABLED": False}

    def syntax(self) -> str:
        """Return what follows the command's name."""
        state = "--state FILE [--why URL | --forget HOST]"
        return f"[options] LOG_OR_REPORT | {state} | --plan [LOG_OR_REPORT]"

    def short_desc(self) -> str:
        """Return what the list of commands says."""
        return "Show whether a crawl was polite, and what it waits for"

    def long_desc(self) -> str:
        """Return what the command's help says."""
        return (
            "Checks the promises of a polite crawl one by one, from its event log "
            "(POLITE_TIMELINE) or report (POLITE_REPORT). The exit status is 0 when all were "
            "kept, 1 when one was broken, 2 when that cannot be told."
        )

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        """Add our options to Scrapy's."""
        super().add_options(parser)
        report = parser.add_argument_group("Report")
        report.add_argument("--html", metavar="FILE", help="write a page with the timeline")
        report.add_argument("--png", metavar="FILE", help="write the timeline as a picture")
        report.add_argument("--json", action="store_true", help="print JSON, not text")
        state = parser.add_argument_group("State")
        state.add_argument("--state", metavar="FILE", help="list the hosts of a state file")
        state.add_argument("--why", metavar="URL", help="say why a URL waits (with --state)")
        state.add_argument(
            "--forget", metavar="HOST", help="forget what is known of a host (with --state)"
        )
        plan = parser.add_argument_group("Plan")
        plan.add_argument(
            "--plan",
            action="store_true",
            help="estimate how long a polite crawl takes, of --hosts or like the one in a log",
        )
        plan.add_argument("--hosts", type=int, default=1, metavar="N", help="how many hosts (1)")
        plan.add_argument("--pages", type=int, default=100, metavar="P", help="pages of each (100)")
        plan.add_argument(
            "--latency",
            type=float,
            default=0.5,
            metavar="S",
            help="seconds that a fetch takes (0.5)",
        )
        plan.add_argument(
            "--places", type=int, metavar="C", help="fetches at once (CONCURRENT_REQUESTS)"
        )

    def run(self, args: list[str], opts: argparse.Namespace) -> None:
        """Do what the options ask for."""
        if opts.plan:
            self._plan(args, opts)
        elif opts.state or opts.why or opts.forget:
            self._state(args, opts)
        else:
            self._report(args, opts)

    def _report(self, args: list[str], opts: argparse.Namespace) -> None:
        from scrapy_polite.report.load import to_json
        from scrapy_polite.report.promises import BROKEN, KEPT
        from scrapy_polite.report.text import to_text

        if len(args) != 1:
            raise UsageError("Name one event log or report.")
        report = self._load(Path(args[0]))
        if report is None:
            return
        sys.stdout.write(to_json(report) if opts.json else to_text(report))
        self.exitcode = {KEPT: 0, BROKEN: 1}.get(report.verdict, UNKNOWN_STATUS)
        if opts.html:
            self._write(report, Path(opts.html), "page")
        if opts.png:
            self._write(report, Path(opts.png), "picture")

    def _load(self, path: Path) -> Report | None:
        from scrapy_polite.report.load import load
        from scrapy_polite.report.reader import NotReadable

        try:
            return load(path)
        except NotReadable as error:
            self._fail(str(error))
            return None

    def _write(self, report: Report, path: Path, what: str) -> None:
        from scrapy_polite.report.page import to_page
        from scrapy_polite.report.png import NeedsMatplotlib, to_png

        try:
            if what == "page":
                path.write_text(to_page(report), encoding="utf-8")
            else:
                to_png(report, path)
        except OSError as error:
            self._fail(f"The {what} was not written: {path}: {error.strerror}.")
        except NeedsMatplotlib as error:
            self._fail(str(error))
        else:
            print(f"Wrote {path}.", file=sys.stderr)

    def _state(self, args: list[str], opts: argparse.Namespace) -> None:
        from scrapy_polite.commands import waiting

        if args or not opts.state:
            raise UsageError("Name the state file with --state; --why or --forget go with it.")
        try:
            if opts.forget:
                self._forget(opts.state, opts.forget)
            elif opts.why:
                print(waiting.why(opts.state, opts.why, self._settings()))
            else:
                print(waiting.table(opts.state))
        except (OSError, ValueError) as error:
            self._fail(str(error))

    def _forget(self, state: str, host: str) -> None:
        from scrapy_polite.runtime.grouping import grouping
        from scrapy_polite.state import inspect

        group = grouping(self._settings().get("POLITE_GROUP_BY") or "host").key_of
        if inspect.forget(Path(state), host, group=lambda url: group(url) or url):
            print(f"{host} is forgotten: its waits, its refusals and its robots.txt copies.")
        else:
            self._fail(f"Nothing is known of {host} in {state}.")

    def _plan(self, args: list[str], opts: argparse.Namespace) -> None:
        from scrapy_polite.commands import planning

        if len(args) > 1:
            raise UsageError("Name at most one event log or report.")
        report = self._load(Path(args[0])) if args else None
        if args and report is None:
            return
        places = opts.places
        if places is None:
            places = self._settings().getint("CONCURRENT_REQUESTS")
        try:
            if report is not None:
                hosts = planning.hosts_like(report)
            else:
                hosts = planning.equal_hosts(opts.hosts, opts.pages, opts.latency)
            print(planning.estimate(hosts, places, self._settings(), report))
        except ValueError as error:
            self._fail(str(error))

    def _settings(self) -> Any:
        assert self.settings is not None
        return self.settings

    def _fail(self, sentence: str) -> None:
        print(sentence, file=sys.stderr)
        self.exitcode = UNKNOWN_STATUS
