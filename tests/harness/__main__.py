"""Serve a scenario: `python tests/harness SCENARIO.json LOG.jsonl` (see `apart`)."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from harness.apart import serve

serve(*sys.argv[1:])
