"""The spider of the almanac, with its owner in `custom_settings`."""

from __future__ import annotations

from demo.site_spider import SiteSpider


class AlmanacSpider(SiteSpider):
    """Reads the garden, tides, bread and stars sites for an almanac of natural things."""

    name = "almanac"
    allowed_domains = ["127.0.0.12", "127.0.0.13", "127.0.0.16", "127.0.0.17"]  # noqa: RUF012
    custom_settings = {  # noqa: RUF012
        "POLITE_PRODUCT": "AlmanacBot",
        "POLITE_CONTACT_URL": "https://almanac.test/crawler",
        "POLITE_CONTACT_EMAIL": "crawler@almanac.test",
    }
