"""The spider of the chronicle, with its owner in `custom_settings`."""

from __future__ import annotations

from demo.site_spider import SiteSpider


class ChronicleSpider(SiteSpider):
    """Reads the robots, lighthouses and clocks sites for a chronicle of inventions."""

    name = "chronicle"
    allowed_domains = ["127.0.0.11", "127.0.0.14", "127.0.0.15"]  # noqa: RUF012
    custom_settings = {  # noqa: RUF012
        "POLITE_PRODUCT": "ChronicleBot/2.0",
        "POLITE_CONTACT_URL": "https://chronicle.test/about-our-robot",
    }
