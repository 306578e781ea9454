"""`scrapy identity`: what sites see of the crawls of a project, and what one publishes about them.

    show      the identity as text, and what is missing
    facts     settings -> what there is to say
    publish   page, card and key directory -> files
    check     answers -> what an owner would find wrong
    visit     the published things -> answers, politely

Every `scrapy` command loads this module, so it imports those when it runs.
"""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from scrapy.commands import ScrapyCommand
from scrapy.exceptions import UsageError

if TYPE_CHECKING:
    from scrapy.settings import Settings

    from scrapy_polite.commands.identity.facts import Facts

_WRONG, _CANNOT_TELL = 1, 2
_KEY = "POLITE_SIGNATURE_KEY"


class Command(ScrapyCommand):
    """The command; see above."""

    requires_project = False
    requires_crawler_process = False
    default_settings: ClassVar[dict[str, Any]] = {"LOG_ENABLED": False}

    def syntax(self) -> str:
        """Return what follows the name of the command."""
        return "[options]"

    def short_desc(self) -> str:
        """Return what the list of commands says."""
        return "Show who sites see, check it, and write what to publish about it"

    def long_desc(self) -> str:
        """Return what the help says."""
        return (
            "Show what sites see of this project's crawls, or of one spider's (--spider), and what "
            "is missing. Make the key that requests are signed with (--new-key). Write the page, "
            "the card and the key directory for the contact's site (--write). Ask for them as a "
            "site's owner would (--check). The exit status is 0, 1 when --check found something "
            "wrong, 2 when something cannot be read or written."
        )

    def add_options(self, parser: ArgumentParser) -> None:
        """Add the options of this command."""
        super().add_options(parser)
        add = parser.add_argument
        add("--spider", metavar="NAME", help="this spider's crawls: its custom_settings count")
        add("--check", action="store_true", help="fetch page, card and keys, and judge them")
        add("--write", metavar="DIR", help="write page, card and key directory into a folder")
        add("--new-key", metavar="FILE", help="make a key, for POLITE_SIGNATURE_KEY")

    def run(self, args: list[str], opts: Namespace) -> None:
        """Do what the options ask for.

        Raises:
            UsageError: there is an argument that nobody understands.
        """
        from scrapy_polite.commands.robots.question import CannotTell

        if args:
            raise UsageError(f"unrecognized arguments: {' '.join(args)}", print_help=False)
        try:
            self._run(opts)
        except (CannotTell, ValueError) as error:  # one sentence that says what to do
            print(f"scrapy identity: {error}", file=sys.stderr)
            self.exitcode = _CANNOT_TELL

    def _run(self, opts: Namespace) -> None:
        from scrapy_polite.commands.identity import facts, publish, show
        from scrapy_polite.commands.robots import visit_settings

        assert self.settings is not None
        settings = visit_settings.of_spider(self.settings, opts.spider)
        if opts.new_key:
            settings = _with_new_key(settings, opts)
        found = facts.gather(settings)
        if opts.write:
            for line in publish.write(found.about, Path(opts.write)):
                print(line)
        if opts.check:
            self._check(settings, found)
        elif not opts.write:
            print(show.to_text(found), end="")

    def _check(self, settings: Settings, found: Facts) -> None:
        from scrapy_polite.commands.identity import check, visit

        asked = check.wanted(found.about)
        answers = visit.visit(settings, [each.url for each in asked])
        wrong = False
        for each in asked:
            faults = check.faults(each, answers[each.url], found.about)
            wrong = wrong or bool(faults)
            print(f"{each.what}: {each.url}")
            print("".join(f"  - {fault}\n" for fault in faults) or "  as it should be\n", end="")
        for line in found.missing:
            print(f"Missing: {line}")
        self.exitcode = _WRONG if wrong or found.missing else 0


def _with_new_key(settings: Settings, opts: Namespace) -> Settings:
    """Make a key, and return the settings of crawls that sign with it.

    Raises:
        ValueError: it would be published, or cannot be made.
    """
    from scrapy_polite.identity import keys

    path = Path(opts.new_key)
    if opts.write and path.resolve().is_relative_to(Path(opts.write).resolve()):
        raise ValueError(f"{path} is in the folder that is published: name a file elsewhere.")
    key = keys.write_new(path)
    print(f"Wrote {path} (mode 600): a new key, {key.thumbprint}. Keep it to yourself.")
    print(f"Set {_KEY} = {str(path.resolve())!r}")
    changed: Settings = settings.copy()
    changed.setdict({_KEY: str(path)}, priority="cmdline")
    return changed
