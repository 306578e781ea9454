"""Commands of the `scrapy` tool; they work outside a project too."""

from __future__ import annotations
