"""The facts of an identity, from the settings of a project or a spider."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from scrapy_polite import config
from scrapy_polite.commands.robots import visit_settings
from scrapy_polite.config import signing
from scrapy_polite.identity.about import About
from scrapy_polite.policy.contact import EMAIL, contacts_in, fault_of
from scrapy_polite.runtime import listing

if TYPE_CHECKING:
    from scrapy.settings import Settings

_ADDON = "scrapy_polite.Addon"


@dataclass(frozen=True, slots=True)
class Facts:
    """What there is to say, and in one sentence each what a good guest would add."""

    about: About
    missing: tuple[str, ...]


def gather(settings: Settings) -> Facts:
    """Return the facts; a contact may be missing, a bad value may not.

    Raises:
        ValueError: one sentence that names the setting and says what to write.
    """
    read = config.read(visit_settings.nameless_at_worst(settings))
    agent = read.identity.user_agent
    named = [each for each in contacts_in(agent) if fault_of(each) is None]
    urls = [each for each in named if "://" in each]
    mails = [each for each in named if EMAIL.fullmatch(each)]
    about = About(
        user_agent=agent,
        product_token=read.identity.product_token,
        from_address=read.identity.from_address,
        contact_url=next(iter(urls), None),
        contact_email=read.identity.from_address or next(iter(mails), None),
        agent=read.signer.agent if read.signer else signing.agent_of(settings),
        key=read.signer.key if read.signer else None,
        purpose=read.wishes.purpose,
        # The add-on has robots.txt obeyed where nobody says otherwise.
        obeys_robots=read.obey_robots or not config.is_set(settings, "ROBOTSTXT_OBEY"),
        factor=read.rules.delay.factor,
        floor=read.rules.delay.floor,
        crawl_delay_max=read.crawl_delay_max,
        refusals=tuple(read.backoff_statuses),
    )
    return Facts(about, tuple(_missing(settings, about)))


def _missing(settings: Settings, about: About) -> list[str]:
    has_addon = any(listing.is_or_derives(key, _ADDON) for key in settings.getdict("ADDONS"))
    told = {
        'the add-on: write ADDONS = {"scrapy_polite.Addon": 500}': has_addon,
        "a page about the crawler: set POLITE_CONTACT_URL": about.contact_url,
        "an address that somebody reads: set POLITE_CONTACT_EMAIL": about.contact_email,
        "a signature: scrapy identity --new-key FILE, then set POLITE_SIGNATURE_KEY": about.key,
        "what the crawl is for: set POLITE_PURPOSE, if it is one of its uses": about.purpose,
    }
    return [words for words, is_there in told.items() if not is_there]
