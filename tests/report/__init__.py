"""Event log and report, fed with hand-made logs; what a real crawl writes is in `crawls`."""

from __future__ import annotations
