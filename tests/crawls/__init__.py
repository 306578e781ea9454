"""Whole crawls of a loopback web, judged by the server's own record.

A table of cases is one crawl with one host per case.  Waits have lower bounds only.
"""

from __future__ import annotations
