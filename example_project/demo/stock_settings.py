"""The same project without the add-on, for comparison: stock Scrapy."""

from __future__ import annotations

from demo.settings import *  # noqa: F403

ADDONS = {}
