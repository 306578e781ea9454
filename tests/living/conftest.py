"""What these tests share."""

from __future__ import annotations

from crawls.conftest import in_process

__all__ = ["in_process"]
