"""`scrapy robots URL|FILE`: what a robots.txt says to a crawler, and why.

    process         runs a visit
    visit           a site -> its answer, with the fetch of a crawl
    look, noindex   a page -> where it asks not to be listed
    patience        for how long a host's turn is waited for
    visit_settings  the project's or a spider's settings -> those of the visit
    text, plain     the report for people, and as JSON
    report          all that there is to say
    later           what other answers would mean
    reading         an answer or a file -> verdicts
    question        the command line -> which file, which pages, for whom
    trouble         why a fetch came to nothing

Every `scrapy` command loads this module, so it imports those when it runs.
"""

from __future__ import annotations

import json
import os
import sys
from argparse import ArgumentParser, Namespace
from contextlib import suppress
from typing import TYPE_CHECKING, Any, ClassVar

from scrapy.commands import ScrapyCommand
from scrapy.exceptions import UsageError

if TYPE_CHECKING:
    from scrapy.settings import Settings

    from scrapy_polite.commands.robots.question import Question
    from scrapy_polite.commands.robots.report import Report

_CANNOT_TELL = 2
_CONTACTS = {"contact_url": "POLITE_CONTACT_URL", "contact_email": "POLITE_CONTACT_EMAIL"}


class Command(ScrapyCommand):
    """The command; see above."""

    requires_crawler_process = False  # a file needs none
    default_settings: ClassVar[dict[str, Any]] = {"LOG_ENABLED": False}

    def syntax(self) -> str:
        """Return what follows the name of the command."""
        return "[options] URL|FILE|- [PATH ...]"

    def short_desc(self) -> str:
        """Return what the list of commands says."""
        return "Explain a robots.txt: who may fetch what, and why"

    def long_desc(self) -> str:
        """Return what the help says."""
        return (
            "Explain the robots.txt of a site, of a file or of standard input (-): which pages may "
            "be fetched and which group, line and rule decide; how the file was read; what its "
            "owner should put right; what other answers would mean. A site is asked once, with the "
            "identity of the project's crawls, or of one spider's (--spider). Pages that are named "
            "and allowed are asked for once too, politely, to see whether they say noindex. The "
            "exit status is 0 when all pages are allowed, 1 when one is disallowed, 2 when that "
            "cannot be told."
        )

    def add_options(self, parser: ArgumentParser) -> None:
        """Add the options of this command."""
        super().add_options(parser)
        add = parser.add_argument
        add("--agent", metavar="TOKEN", help="read the rules for this crawler; * for any other")
        add(
            "--path",
            metavar="P",
            action="append",
            default=[],
            help="a page, path or URL (may be repeated; without it: the page of URL, or /)",
        )
        add("--json", action="store_true", help="print the report as JSON")
        add("--no-pages", action="store_true", help="do not look at pages for noindex")
        add("--spider", metavar="NAME", help="ask as this spider: its custom_settings count")
        add("--contact-url", metavar="URL", help="as POLITE_CONTACT_URL")
        add("--contact-email", metavar="ADDRESS", help="as POLITE_CONTACT_EMAIL")

    def process_options(self, args: list[str], opts: Namespace) -> None:
        """Take the contact for a setting."""
        for option, setting in _CONTACTS.items():
            value = getattr(opts, option)
            opts.set += [] if value is None else [f"{setting}={value}"]
        super().process_options(args, opts)

    def run(self, args: list[str], opts: Namespace) -> None:
        """Answer the question.

        Raises:
            UsageError: there is no question.
        """
        from scrapy_polite.commands.robots.plain import to_plain
        from scrapy_polite.commands.robots.question import CannotTell
        from scrapy_polite.commands.robots.text import to_text

        unknown = [arg for arg in args if arg.startswith("-") and arg != "-"]
        if unknown:
            raise UsageError(f"unrecognized arguments: {' '.join(unknown)}", print_help=False)
        if not args:
            raise UsageError
        try:
            report = self._report(args[0], [*opts.path, *args[1:]], opts)
        except CannotTell as error:
            _complain(str(error))
            self.exitcode = _CANNOT_TELL
            return
        self.exitcode = report.exit_status
        if report.failure:
            _complain(report.failure)
        if opts.json:
            _write(json.dumps(to_plain(report), indent=2) + "\n")
        elif not report.failure:
            _write(to_text(report))

    def _report(self, target: str, paths: list[str], opts: Namespace) -> Report:
        from scrapy_polite.commands.robots import visit_settings
        from scrapy_polite.commands.robots.question import CannotTell, parse, token_of

        assert self.settings is not None
        question = parse(target, paths)
        token = None if opts.agent is None else token_of(opts.agent)
        settings = visit_settings.of_spider(self.settings, opts.spider)
        try:
            if question.origin is None:
                return _of_file(question, token, settings)
            return _of_site(question, token, settings, looks=not opts.no_pages)
        except ValueError as error:  # of a setting: one sentence that says what to write
            raise CannotTell(str(error)) from None


def _of_file(question: Question, token: str | None, settings: Settings) -> Report:
    from scrapy_polite import config
    from scrapy_polite.commands.robots import visit_settings
    from scrapy_polite.commands.robots.question import read_file
    from scrapy_polite.commands.robots.reading import Reading
    from scrapy_polite.commands.robots.report import make_report
    from scrapy_polite.robots.rules import RobotsRules

    read = config.read(visit_settings.for_file(settings))
    rules = RobotsRules(read_file(question.source))
    reading = Reading(token or read.identity.product_token, rules)
    return make_report(question, read, reading, nameless=not visit_settings.says_who(settings))


def _of_site(question: Question, token: str | None, settings: Settings, *, looks: bool) -> Report:
    from scrapy_polite import config
    from scrapy_polite.commands.robots import process, visit_settings
    from scrapy_polite.commands.robots.report import make_report
    from scrapy_polite.commands.robots.visit import Errand

    its_own = visit_settings.for_visit(settings)
    read, nameless = config.read(its_own), not visit_settings.says_who(settings)
    token = token or read.identity.product_token
    errand = Errand(question, token, read, looks=looks and not nameless, say=_say)
    visit = process.visit(its_own, errand)
    return make_report(question, read, visit.reading, visit, nameless=nameless)


def _say(text: str) -> None:
    if sys.stderr.isatty():  # a person waits
        print(f"{text} ...", file=sys.stderr, flush=True)


def _complain(sentence: str) -> None:
    print(f"scrapy robots: {sentence}", file=sys.stderr)


def _write(text: str) -> None:
    """Print, also where not every character can be, and where nobody reads to the end."""
    encoding = sys.stdout.encoding or "utf-8"
    try:
        sys.stdout.write(text.encode(encoding, "backslashreplace").decode(encoding))
        sys.stdout.flush()
    except BrokenPipeError:
        with suppress(OSError, ValueError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
