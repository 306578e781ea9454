"""The settings as `scrapy startproject` writes them, and one line for politeness.

Who is crawling stands in the spiders (`custom_settings`), because the two have different owners.
In a project with one owner POLITE_CONTACT_URL or POLITE_CONTACT_EMAIL would stand here.
"""

from __future__ import annotations

from typing import Any

BOT_NAME = "demo"

SPIDER_MODULES = ["demo.spiders"]
NEWSPIDER_MODULE = "demo.spiders"

ADDONS: dict[str, Any] = {"scrapy_polite.Addon": 500}

ROBOTSTXT_OBEY = True

CONCURRENT_REQUESTS_PER_DOMAIN = 1
DOWNLOAD_DELAY = 1

FEED_EXPORT_ENCODING = "utf-8"
