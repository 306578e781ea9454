"""Python processes beside that of the tests.

Rules: a child imports what this process imports, from the same places. One with a job reads it from
job.json in its folder, leaves what came of it in result.json, and logs into log.txt.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any


def environment(**more: str) -> dict[str, str]:
    """Return the environment of a child, with more variables."""
    return {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path)), **more}


def start(
    folder: Path, job: Mapping[str, Any], module: str = "harness.runner"
) -> subprocess.Popen[bytes]:
    """Start a child with a job.

    Args:
        folder: Made if it is missing; a log that is there is continued.
        job: What to do, as the module has it; JSON only.
        module: What runs it, as `python -m MODULE JOB RESULT`.
    """
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "job.json").write_text(json.dumps(job))
    (folder / "result.json").unlink(missing_ok=True)
    command = [sys.executable, "-m", module, "job.json", "result.json"]
    with (folder / "log.txt").open("a") as log:
        return subprocess.Popen(command, cwd=folder, env=environment(), stdout=log, stderr=log)
