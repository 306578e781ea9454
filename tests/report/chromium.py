"""Pages in a real browser: Debian's chromium, headless, without a network.

What a page does when used is tried by a script that is put into a copy of it.
"""

from __future__ import annotations

import html
import re
import shutil
import subprocess
from pathlib import Path

from harness.needing import need

_FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-extensions",
    "--host-resolver-rules=MAP * ~NOTFOUND",
    "--enable-logging=stderr",
    "--virtual-time-budget=5000",
    "--window-size=1400,1000",
)
_SPOKE = re.compile(r"^.*:CONSOLE.*$", re.MULTILINE)


def need_chromium(*, must: str = "CI") -> str:
    """Return the path of the browser; see `harness.needing` for a test without one."""
    path = shutil.which("chromium") or shutil.which("chromium-browser")
    return need("chromium", path, "apt-get install chromium", must=must)


def opened(page: str, folder: Path, script: str = "") -> str:
    """Return the document that a page has become; the page may not write to the console.

    Args:
        page: the HTML.
        folder: for files of the browser.
        script: JavaScript that runs at the end of the page.
    """
    path = folder / "page.html"
    path.write_text(page.replace("</body>", f"<script>{script}</script></body>"), encoding="utf-8")
    profile = f"--user-data-dir={folder / 'profile'}"
    done = subprocess.run(
        [need_chromium(), *_FLAGS, profile, "--dump-dom", path.as_uri()],
        capture_output=True,
        text=True,
        check=True,
        timeout=100,
    )
    assert _SPOKE.findall(done.stderr) == []
    return done.stdout


def told(document: str) -> str:
    """Return what a script put into ``document.body.dataset.told``."""
    found = re.search(r'<body data-told="([^"]*)"', document)
    assert found, "the script did not come to its end"
    return html.unescape(found[1])


def boxes(document: str, host: str, kind: str) -> list[tuple[float, float]]:
    """Return (left, width) in pixels of the bars of a kind in a host's row."""
    paths = re.findall(r"<path [^>]*>", document)
    [path] = [x for x in paths if f'data-host="{host}"' in x and f'data-kind="{kind}"' in x]
    return [
        (float(left), float(width))
        for left, width in re.findall(r"M([\d.]+) [\d.]+h([\d.]+)", path)
    ]
