"""Whether a URL or a mail address may reach somebody.

A contact is well-formed and no placeholder: a name reserved for documentation, one that asks to be
replaced, Scrapy's own page.  It stands in a comment of the User-Agent, so it has no parentheses.

Source: RFC 2606 (reserved names); RFC 9110 sections 10.1.2 (From) and 10.1.5 (User-Agent).
"""

from __future__ import annotations

import re

_LABEL = r"[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?"
_ATOM = r"[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+"
# No parentheses, which RFC 3986 would allow: the URL stands in a comment of the User-Agent.
URL = re.compile(
    rf"https?://(?P<host>{_LABEL}(?:\.{_LABEL})*)\.?(?::[1-9][0-9]{{0,4}})?"
    r"(?:[/?#][A-Za-z0-9._~:/?#@!$&'*+,;=%-]*)?",
    re.IGNORECASE,
)
EMAIL = re.compile(rf"(?P<local>{_ATOM}(?:\.{_ATOM})*)@(?P<host>{_LABEL}(?:\.{_LABEL})+)")
_URL_INSIDE = re.compile(r"https?://[^\s()<>\"]+", re.IGNORECASE)
_EMAIL_INSIDE = re.compile(r"(?<![\w.+-])[\w.+-]+@[\w.-]+", re.ASCII)

_PLACEHOLDER_HOST = re.compile(
    r"(.+\.)?(example(\.(com|net|org))?|invalid|localhost|domain\.tld|scrapy\.org"
    r"|(your-?(domain|site|website|company|organi[sz]ation|project|name|bot)|change-?me)"
    r"(\.[a-z]{2,}|\.(co|com|org)\.[a-z]{2})?)",
    re.IGNORECASE,
)
_PLACEHOLDER_NAMES = frozenset({"changeme", "todo", "your", "youremail", "yourname", "yourbot"})


def fault_of(contact: str) -> str | None:
    """Return what is wrong with a URL or a mail address, None when it may reach somebody.

    >>> fault_of("https://acme.test/bot"), fault_of("you@example.com")
    (None, 'is a placeholder')
    """
    found = EMAIL.fullmatch(contact) or URL.fullmatch(contact)
    if found is None:
        return "is malformed"
    local = found.groupdict().get("local", "")
    is_foo = local == "foo" and found["host"].startswith("bar.")
    if is_foo or is_placeholder(local) or _PLACEHOLDER_HOST.fullmatch(found["host"]):
        return "is a placeholder"
    return None


def is_placeholder(name: str) -> bool:
    """Return whether a name asks to be replaced."""
    return re.sub(r"[-_. ]", "", name).casefold() in _PLACEHOLDER_NAMES


def contacts_in(user_agent: str) -> list[str]:
    """Return what looks like a contact in a User-Agent, real or not."""
    urls = [found.rstrip(".,;:'!") for found in _URL_INSIDE.findall(user_agent)]
    rest = _URL_INSIDE.sub(" ", user_agent)
    return urls + [found.strip("+.-") for found in _EMAIL_INSIDE.findall(rest)]
