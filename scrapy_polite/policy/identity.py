"""Who the crawler says it is: a product, a contact that works, and the token for robots.txt.

Rules:

- Every request names its product and a contact: a page, a mailbox, or both. Without a contact there
  is no identity, unless the user asks for an anonymous one.
- A User-Agent of the user's own that names a real contact is sent as it is. Any other one lends its
  product, and the contact is added. A product set explicitly beats a User-Agent without contact.
- A product token is letters, `_` and `-` only.
- A browser's User-Agent is no identity, unless it names a contact and the crawler's name is known:
  from a product in it that is no browser's, or from another setting.
- A placeholder is no contact: names reserved for documentation (RFC 2606), names that ask to be
  replaced, Scrapy's own page.
- What goes into a header is printable ASCII. Every error is one sentence that names the setting and
  says what to write instead.

Source: RFC 9309 section 2.2.1 (token); RFC 9110 sections 10.1.2 (From), 10.1.5 (User-Agent).
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from reprlib import repr as _quoted

from scrapy_polite.policy.contact import EMAIL, URL, contacts_in, fault_of, is_placeholder

_TOKEN = re.compile(r"[A-Za-z_-]+")
_WORD = r"[!#$%&'*+.^_`|~0-9A-Za-z-]+"  # what a header calls a token (RFC 9110 section 5.6.2)
_PRODUCT = re.compile(rf"[A-Za-z_-]+(?:/{_WORD})?")
_OWN_PRODUCT = re.compile(rf"{_WORD}(?:/{_WORD})?")
_COMPATIBLE = re.compile(r"\bcompatible;\s*(?=[A-Za-z_-])", re.IGNORECASE)
_PRINTABLE = re.compile(r"[ -~]+")
_BROWSERS = frozenset({"mozilla", "msie", "opera"})
_OF_BROWSERS = re.compile(
    r"mozilla|msie|opera|applewebkit|chrom(e|ium)|crios|edg(a|e|ios)?|firefox|fxios|gecko|"
    r"headlesschrome|iceweasel|khtml|konqueror|mobile|op[rt]|presto|safari|samsungbrowser|"
    r"seamonkey|trident|ubuntu|ucbrowser|version|vivaldi|whale|yabrowser|yowser",
    re.IGNORECASE,
)
_COMMENT = re.compile(r"\([^()]*\)")

_ADVICE = {
    "POLITE_PRODUCT": "write Name or Name/version, the name of letters, '_' and '-' only",
    "BOT_NAME": "set POLITE_PRODUCT to a name of letters, '_' and '-' only",
    "POLITE_CONTACT_URL": "write the http(s) URL of a page about your crawler, in plain ASCII, "
    "without user name, spaces or parentheses",
    "POLITE_CONTACT_EMAIL": "write the address of a mailbox that you read, name@host.tld",
    "USER_AGENT": "write Name/version (+URL of your page), or leave it out and set POLITE_PRODUCT",
    "ROBOTSTXT_USER_AGENT": "write a product token of letters, '_' and '-', or leave it out",
}
_NO_CONTACT = (
    "The contact is missing: set POLITE_CONTACT_URL or POLITE_CONTACT_EMAIL to where a site's "
    "owner can reach you, or POLITE_ALLOW_ANONYMOUS = True to crawl without a contact."
)


class IdentityError(ValueError):
    """An identity setting that cannot be used; the message names it and says what to write."""


class BrowsersAgent(IdentityError):
    """A USER_AGENT that is a browser's."""


@dataclass(frozen=True, slots=True)
class Identity:
    """What one crawler calls itself.

    Attributes:
        product_token: what the user-agent lines of robots.txt are compared with.
        user_agent: the User-Agent header.
        from_address: the From header, or None for no such header.
    """

    product_token: str
    user_agent: str
    from_address: str | None


def make_identity(
    *,
    product: str | None,
    contact_url: str | None,
    contact_email: str | None,
    user_agent: str | None,
    robots_user_agent: str | None = None,
    allow_anonymous: bool = False,
    bot_name: str | None = None,
) -> Identity:
    """Return the identity that the settings describe; None stands for a setting that is not set.

    Args:
        product: POLITE_PRODUCT, `Name` or `Name/version`; the version is 1.0 when left out.
        contact_url: POLITE_CONTACT_URL, an http(s) page about the crawler.
        contact_email: POLITE_CONTACT_EMAIL, a mailbox that is read.
        user_agent: USER_AGENT, None also when it is Scrapy's default.
        robots_user_agent: ROBOTSTXT_USER_AGENT, a token or a whole User-Agent; None: as sent.
        allow_anonymous: whether the contact may be missing. It may never be malformed.
        bot_name: BOT_NAME, the product when neither `product` nor `user_agent` is set.

    Raises:
        IdentityError: a value is missing, malformed, a placeholder or a browser's.

    >>> make_identity(product="FooBot", contact_url="https://foobot.test/",
    ...               contact_email="ops@foobot.test", user_agent=None).user_agent
    'FooBot/1.0 (+https://foobot.test/; ops@foobot.test)'
    """
    url = _contact("POLITE_CONTACT_URL", contact_url, URL)
    email = _contact("POLITE_CONTACT_EMAIL", contact_email, EMAIL)
    chosen = None if product is None else _product("POLITE_PRODUCT", product)
    own = None if user_agent is None else _header_text("USER_AGENT", user_agent)
    contact = "; ".join(filter(None, (url and f"+{url}", email)))
    named = [each for each in contacts_in(own or "") if fault_of(each) is None]
    token = ""

    if own is not None and named:
        header, token = own, _token("USER_AGENT", own)
        if is_browsers(own):
            token = _name_in(own, chosen, robots_user_agent)
        email = email or next(filter(EMAIL.fullmatch, named), None)
    elif own is not None and chosen is None:
        header = _completed(_own(own), contact)
    else:
        header = _joined(chosen or _product("BOT_NAME", bot_name), contact)
    if not (named or contact or allow_anonymous):
        raise IdentityError(_NO_CONTACT)
    if robots_user_agent is None or robots_user_agent == "":  # to Scrapy both mean: not set
        return Identity(token or product_token(header), header, email)
    return Identity(_token("ROBOTSTXT_USER_AGENT", robots_user_agent), header, email)


def product_token(user_agent: str) -> str:
    """Return the token that a User-Agent is matched with in robots.txt, or "" when it has none.

    Args:
        user_agent: a bare token, or a whole User-Agent. Of that the first token counts, or the one
            after `compatible;` where a bot writes its name behind a browser's.

    Source: RFC 9309 section 2.2.1; RFC 9110 section 10.1.5.

    >>> product_token("FooBot/2.1 (+https://foobot.test/)")
    'FooBot'
    >>> product_token("Mozilla/5.0 (compatible; FooBot/2.1; +https://foobot.test/)")
    'FooBot'
    """
    found = _TOKEN.match(_from_product(user_agent))
    return found[0] if found else ""


def is_browsers(user_agent: str) -> bool:
    """Return whether a User-Agent is a browser's, and not that of a bot behind one."""
    return product_token(user_agent).lower() in _BROWSERS


def own_product(user_agent: str) -> str:
    """Return the product in a User-Agent that is no browser's, "" when there is none.

    >>> own_product("Mozilla/5.0 (X11; Linux) Gecko/20100101 shops/1.0 (+https://foobot.test/)")
    'shops'
    >>> own_product("Mozilla/5.0 (X11; Linux) Gecko/20100101 Firefox/140.0")
    ''
    """
    if not is_browsers(user_agent):
        return product_token(user_agent)
    words = _COMMENT.sub(" ", user_agent).split()
    names = [product_token(word) for word in words if "/" in word and "://" not in word]
    return next((name for name in reversed(names) if not _OF_BROWSERS.fullmatch(name)), "")


def _name_in(user_agent: str, product: str | None, robots_user_agent: str | None) -> str:
    """The crawler's name where a browser's User-Agent with a contact is sent."""
    name = product_token(product) if product is not None else own_product(user_agent)
    if not (name or robots_user_agent):
        advice = "set POLITE_PRODUCT or ROBOTSTXT_USER_AGENT to your crawler's name"
        raise _browsers(user_agent, advice)
    return name


def _from_product(user_agent: str) -> str:
    """The User-Agent from the product on that names the crawler."""
    text = user_agent.strip()
    first, behind = _TOKEN.match(text), _COMPATIBLE.search(text)
    if behind and (first is None or first[0].lower() == "mozilla"):
        return text[behind.end() :]
    return text


def _error(name: str, fault: str, advice: str | None = None) -> IdentityError:
    return IdentityError(f"{name} {fault}: {advice or _ADVICE[name]}.")


def _browsers(user_agent: str, advice: str | None = None) -> BrowsersAgent:
    return BrowsersAgent(str(_error("USER_AGENT", f"{_quoted(user_agent)} is a browser's", advice)))


def _text(name: str, value: object) -> str:
    if not isinstance(value, str):
        raise _error(name, f"is of type {type(value).__name__}, not a string")
    if not value.strip():
        raise _error(name, "is empty")
    return value.strip(" ")


def _header_text(name: str, value: object) -> str:
    text = _text(name, value)
    if not _PRINTABLE.fullmatch(text):
        raise _error(name, f"{_quoted(text)} has characters that a header cannot carry")
    return text


def _contact(name: str, value: str | None, form: re.Pattern[str]) -> str | None:
    """A contact setting, checked; None when it is not set."""
    if value is None:
        return None
    text = _header_text(name, value)
    fault = fault_of(text) if form.fullmatch(text) else "is malformed"
    if fault:
        raise _error(name, f"{_quoted(text)} {fault}")
    return text


def _product(name: str, value: str | None) -> str:
    """The product that POLITE_PRODUCT or BOT_NAME sets."""
    if value is None:
        raise _error("POLITE_PRODUCT", "is not set")
    text = _text(name, value)
    if is_placeholder(text.partition("/")[0]):
        raise _error(name, f"{_quoted(text)} is a placeholder")
    if not _PRODUCT.fullmatch(text):
        fault = f"{_quoted(text)} is not Name or Name/version with a name of letters, '_' and '-'"
        raise _error(name, fault, f"set POLITE_PRODUCT to {suggested(text)!r}")
    if product_token(text).lower() in _BROWSERS:
        raise _error(name, f"{_quoted(text)} is a browser's")
    return text


def suggested(text: str) -> str:
    """Return a valid product made of any text.

    >>> suggested("City Scrapers"), suggested("scrapy 2")
    ('City-Scrapers', 'scrapy')
    """
    plain = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode()
    name, _, version = plain.partition("/")
    name = re.sub(r"[^A-Za-z_-]+", "-", name).strip("-_")[:40] or "MyCrawler"
    return f"{name}/{version}" if re.fullmatch(_WORD, version) else name


def _own(user_agent: str) -> str:
    """A User-Agent of the user's own, checked to name a product that is no browser's."""
    _token("USER_AGENT", user_agent)
    if is_browsers(user_agent):
        raise _browsers(user_agent)
    return user_agent


def _completed(user_agent: str, contact: str) -> str:
    """A User-Agent that names no real contact, with the contact of the settings."""
    product = _OWN_PRODUCT.match(_from_product(user_agent))
    if contact and product:
        return _joined(product[0], contact)
    unreal = next(iter(contacts_in(user_agent)), None)
    if unreal:
        fault = f"names the contact {_quoted(unreal)}, which {fault_of(unreal)}"
        raise _error("USER_AGENT", fault)
    return user_agent


def _joined(product: str, contact: str) -> str:
    versioned = product if "/" in product else f"{product}/1.0"
    return f"{versioned} ({contact})" if contact else versioned


def _token(name: str, user_agent: str) -> str:
    token = product_token(_text(name, user_agent))
    if not token:
        raise _error(name, f"{_quoted(user_agent)} does not begin with a product token")
    return token
