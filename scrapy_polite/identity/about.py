"""What there is to say about a crawler: the facts that page, card and key directory are made of."""

from __future__ import annotations

from dataclasses import dataclass
from posixpath import normpath, splitext
from urllib.parse import urlsplit

from scrapy_polite.identity.keys import SigningKey
from scrapy_polite.policy.origin import origin_of

DIRECTORY_PATH = "/.well-known/http-message-signatures-directory"
DIRECTORY_TYPE = "application/http-message-signatures-directory+json"
_CARD = "/bot"  # where the contact is the front page


@dataclass(frozen=True, slots=True)
class About:
    """A crawler as its settings describe it; waits in seconds.

    Attributes:
        user_agent: the header.
        product_token: what groups of robots.txt are matched with.
        from_address: the header; None: there is none.
        contact_url: the page about the crawler; None: there is none.
        contact_email: None: there is none.
        agent: the origin that publishes the key; None: nobody has said.
        key: what requests are signed with; None: they are not signed.
        purpose: the uses that the crawl is for, as labels; empty: nobody has said.
        obeys_robots: whether robots.txt is obeyed.
        factor: how many times its duration each fetch is followed by a wait.
        floor: the least wait.
        crawl_delay_max: what a longer Crawl-delay is cut to.
        refusals: the statuses after which a host is left alone.
    """

    user_agent: str
    product_token: str
    from_address: str | None
    contact_url: str | None
    contact_email: str | None
    agent: str | None
    key: SigningKey | None
    purpose: tuple[str, ...]
    obeys_robots: bool
    factor: float
    floor: float
    crawl_delay_max: float
    refusals: tuple[int, ...]

    @property
    def page_path(self) -> str:
        """The path of the page, as a file of its site."""
        path = _clean_path(self.contact_url or "")
        if path.endswith("/"):
            return f"{path}index.html"
        return path if splitext(path)[1] else f"{path}.html"

    @property
    def card_path(self) -> str:
        """The path of the card, beside the page."""
        path = _clean_path(self.contact_url or "")
        return f"{splitext(path)[0].rstrip('/') or _CARD}.json"

    @property
    def card_url(self) -> str | None:
        """Where the card is; None without a page to lie beside."""
        origin = origin_of(self.contact_url or "")
        return origin and f"{origin}{self.card_path}"

    @property
    def directory_url(self) -> str | None:
        """Where the key is published; None when nobody has said."""
        return self.agent and f"{self.agent}{DIRECTORY_PATH}"


def _clean_path(url: str) -> str:
    """Return the path of a URL, which leads to no folder above."""
    path = urlsplit(url).path or "/"
    end = "/" if path.endswith("/") else ""
    return f"/{normpath(path).strip('/')}{end}".replace("//", "/")
