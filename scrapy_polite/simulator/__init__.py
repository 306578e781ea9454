"""How long a polite crawl takes: the real frontier, store and policies on a clock of their own.

>>> from scrapy_polite.simulator import HostPlan, Plan, simulate
>>> crawl = simulate(Plan(hosts=[HostPlan(pages=3, latency=0.5)] * 100, places=16))
>>> crawl.fetches, crawl.seconds > 2 * 5.0
(300, True)
"""

from __future__ import annotations

from scrapy_polite.simulator.plan import HostPlan, Plan
from scrapy_polite.simulator.result import Fetched, Simulation
from scrapy_polite.simulator.run import simulate

__all__ = ["Fetched", "HostPlan", "Plan", "Simulation", "simulate"]
