"""The store of several runs and several processes of one machine: an SQLite file."""

from __future__ import annotations

from scrapy_polite.state.sqlite.leases import LeaseRules
from scrapy_polite.state.sqlite.robots import RobotsBounds
from scrapy_polite.state.sqlite.schema import NewerFile
from scrapy_polite.state.sqlite.store import SqliteStore

__all__ = ["LeaseRules", "NewerFile", "RobotsBounds", "SqliteStore"]
