"""A folder of requests belongs to one crawl at a time, or each would take out what the other has.

Rules: the claim is a lock on the folder (see `locks`); a forked child has no part in it.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from scrapy_polite.locks import keep_others_out

_claims: set[Claim] = set()  # of this process


class Claim:
    """A crawl's claim to a folder of its JOBDIR, until `give_up`.

    Raises:
        ValueError: another crawl has it.
    """

    def __init__(self, folder: Path) -> None:
        if sys.platform == "win32":
            return
        self._fd = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
        _claims.add(self)
        try:
            keep_others_out(self._fd)
        except BlockingIOError:
            self.give_up()
            raise ValueError(
                f"The JOBDIR {folder.parent} is in use by another crawl: "
                "wait until that has ended, or choose another JOBDIR."
            ) from None

    def give_up(self) -> None:
        """Let others have the folder."""
        if self in _claims:
            _claims.remove(self)
            os.close(self._fd)


def _forget() -> None:
    """A forked child is no crawl; the lock would outlive its parent in it."""
    for claim in list(_claims):
        claim.give_up()


if sys.platform != "win32":
    os.register_at_fork(after_in_child=_forget)
