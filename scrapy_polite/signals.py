"""Our signals; connect to them as to Scrapy's own.

All have the keyword arguments ``host`` (host key) and ``spider``.
"""

from __future__ import annotations

polite_host_blocked = object()
"""A host is left alone: ``seconds`` (float) and ``reason`` (str), ``status`` (int or None)."""

polite_host_released = object()
"""A host that refused answered again."""

polite_host_parked = object()
"""A host is not asked again in this run: ``seconds`` (float) until it may be, ``reason`` (str)."""
