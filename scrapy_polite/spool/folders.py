"""Where the requests of a lane are on disk: a folder a lane, whose name tells which.

A lane whose name is too long for a folder has a digest instead, and its name in a file inside,
which is whole as soon as it is there.  A folder without it was left by a kill and is empty.
"""

from __future__ import annotations

import hashlib
import json
import re
from contextlib import suppress
from pathlib import Path
from urllib.parse import quote, unquote

from scrapy_polite.spool.journal import JOURNAL

_LONGEST = 200  # octets of a name that every file system takes
_DIGEST = "digest-"
_NAME_FILE = "lane"
_OTHER = "other"  # of requests that no clock is for, whose lane has an empty name
_PRIORITY = re.compile(r"(-?\d+)s?")


def folder_of(root: Path, lane: str) -> Path:
    """Return the folder of a lane; one with a digest is made, to hold the name.

    >>> folder_of(Path("requests.queue"), "https://site.example:8443").name
    'https%3A%2F%2Fsite.example%3A8443'
    """
    name = quote(lane, safe="") or _OTHER
    if len(name) <= _LONGEST:
        return root / name
    folder = root / (_DIGEST + hashlib.sha256(lane.encode()).hexdigest())
    if _lane_of(folder) is None:
        folder.mkdir(parents=True, exist_ok=True)
        draft = folder / f"{_NAME_FILE}.draft"
        draft.write_text(lane, encoding="utf-8")
        draft.rename(folder / _NAME_FILE)
    return folder


def lanes_on_disk(root: Path) -> dict[str, list[int]]:
    """Return the lanes that have a folder, with the priorities of their queues."""
    found = {}
    for folder in root.iterdir():
        if folder.is_dir() and folder.name != JOURNAL and (lane := _lane_of(folder)) is not None:
            names = map(_PRIORITY.fullmatch, (path.name for path in folder.iterdir()))
            found[lane] = sorted({int(name[1]) for name in names if name})
    return found


def drop_broken_index(root: Path) -> None:
    """Remove Scrapy's index of the queues where a kill cut it short.

    Scrapy would not start with it, and it is not needed: see `lanes_on_disk`.
    """
    index = root / "active.json"
    try:
        json.loads(index.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return
    except ValueError:
        index.unlink()


def remove_folder(folder: Path) -> None:
    """Remove the folder of a lane that is empty now."""
    with suppress(OSError):  # somebody's files are left in it
        (folder / _NAME_FILE).unlink(missing_ok=True)
        folder.rmdir()


def _lane_of(folder: Path) -> str | None:
    if folder.name.startswith(_DIGEST):
        with suppress(FileNotFoundError):
            return (folder / _NAME_FILE).read_text(encoding="utf-8") or None
        return None
    if folder.name == _OTHER:
        return ""
    lane = unquote(folder.name)
    return lane if "://" in lane else None
