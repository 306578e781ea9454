"""The pack beside the packages that people install with it, judged by the server's record.

`pip install scrapy-polite[company]` brings them.  What is missing is skipped, with its name; where
CI_COMPANY is set it fails instead.
"""

from __future__ import annotations
