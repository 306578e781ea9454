"""Which settings make which identity, and which sentence answers the ones that make none.

Rules: tables of settings, so a case is one line; every error is one sentence that names a setting.
"""

from __future__ import annotations

import os
import re
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scrapy_polite.policy.identity import Identity, IdentityError, make_identity, product_token

FUZZ_EXAMPLES = int(os.environ.get("FUZZ_EXAMPLES", "300"))
UNSET: dict[str, Any] = dict.fromkeys(("product", "contact_url", "contact_email", "user_agent"))
URL, EMAIL = "https://foobot.test/bot", "ops@foobot.test"
BROWSER = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0"
BEHIND = "Mozilla/5.0 (compatible; FooBot/2.1; +https://foobot.test/)"
SHOPS, NAMELESS = f"{BROWSER} shops/1.0 (+{URL})", f"{BROWSER} (+{URL})"
OWN = "OwnBot/0.9 (+https://own.test/bot)"
FOOBOT = ("FooBot", f"FooBot/1.0 (+{URL})", None)


def identity(**given: Any) -> Identity:
    return make_identity(**{**UNSET, **given})


# settings: product token, User-Agent, From
IDENTITIES: list[tuple[dict[str, Any], tuple[str, str, str | None]]] = [
    (
        {"product": "FooBot", "contact_url": URL, "contact_email": EMAIL},
        ("FooBot", f"FooBot/1.0 (+{URL}; {EMAIL})", EMAIL),
    ),
    ({"product": "FooBot", "contact_url": URL}, FOOBOT),
    ({"product": "FooBot", "contact_email": EMAIL}, ("FooBot", f"FooBot/1.0 ({EMAIL})", EMAIL)),
    (
        {"product": "Foo_Bot-x/2.0-b3", "contact_email": EMAIL},
        ("Foo_Bot-x", f"Foo_Bot-x/2.0-b3 ({EMAIL})", EMAIL),
    ),
    ({"product": " FooBot ", "contact_url": f" {URL} "}, FOOBOT),
    # BOT_NAME is the last resort
    ({"bot_name": "quotes", "contact_url": URL}, ("quotes", f"quotes/1.0 (+{URL})", None)),
    ({"bot_name": "quotes 2", "product": "FooBot", "contact_url": URL}, FOOBOT),
    ({"bot_name": "quotes 2", "user_agent": OWN}, ("OwnBot", OWN, None)),
    # a User-Agent that names a contact is sent as it is
    ({"user_agent": OWN}, ("OwnBot", OWN, None)),
    ({"user_agent": OWN, "contact_email": EMAIL}, ("OwnBot", OWN, EMAIL)),
    ({"user_agent": OWN, "product": "FooBot", "contact_url": URL}, ("OwnBot", OWN, None)),
    ({"user_agent": BEHIND}, ("FooBot", BEHIND, None)),
    ({"user_agent": f"OwnBot ({EMAIL})"}, ("OwnBot", f"OwnBot ({EMAIL})", EMAIL)),
    ({"user_agent": f"OwnBot (+{EMAIL}; x)"}, ("OwnBot", f"OwnBot (+{EMAIL}; x)", EMAIL)),
    ({"user_agent": "OwnBot https://own.test; x"}, ("OwnBot", "OwnBot https://own.test; x", None)),
    ({"user_agent": f"OwnBot ({URL}/{EMAIL})"}, ("OwnBot", f"OwnBot ({URL}/{EMAIL})", None)),
    ({"user_agent": f"OwnBot mailto:{EMAIL}."}, ("OwnBot", f"OwnBot mailto:{EMAIL}.", EMAIL)),
    (
        {"user_agent": f"OwnBot (+{URL}; Scrapy, https://scrapy.org)"},
        ("OwnBot", f"OwnBot (+{URL}; Scrapy, https://scrapy.org)", None),
    ),
    # so is one that begins as a browser's does, when the crawler's name is known
    (
        {"user_agent": f"{BROWSER} shops/1.0 (+{URL})"},
        ("shops", f"{BROWSER} shops/1.0 (+{URL})", None),
    ),
    (
        {"user_agent": f"{BROWSER} (+{URL})", "product": "FooBot/2"},
        ("FooBot", f"{BROWSER} (+{URL})", None),
    ),
    ({"user_agent": SHOPS, "robots_user_agent": "allshops"}, ("allshops", SHOPS, None)),
    ({"user_agent": NAMELESS, "robots_user_agent": "allshops"}, ("allshops", NAMELESS, None)),
    # a User-Agent without contact lends its product
    ({"user_agent": "OwnBot/0.9", "contact_url": URL}, ("OwnBot", f"OwnBot/0.9 (+{URL})", None)),
    ({"user_agent": "OwnBot", "contact_email": EMAIL}, ("OwnBot", f"OwnBot/1.0 ({EMAIL})", EMAIL)),
    (
        {"user_agent": "OwnBot/0.9 (linux)", "contact_url": URL},
        ("OwnBot", f"OwnBot/0.9 (+{URL})", None),
    ),
    ({"user_agent": "Own2Bot/0.9", "contact_url": URL}, ("Own", f"Own2Bot/0.9 (+{URL})", None)),
    (
        {"user_agent": "Mozilla/5.0 (compatible; FooBot/2.1)", "contact_url": URL},
        ("FooBot", f"FooBot/2.1 (+{URL})", None),
    ),
    (
        {"user_agent": "OwnBot (+http://www.yourdomain.com)", "contact_url": URL},
        ("OwnBot", f"OwnBot/1.0 (+{URL})", None),
    ),
    # a product beats a User-Agent without contact
    ({"user_agent": "OwnBot/0.9", "product": "FooBot", "contact_url": URL}, FOOBOT),
    ({"user_agent": BROWSER, "product": "FooBot", "contact_url": URL}, FOOBOT),
    # ROBOTSTXT_USER_AGENT is for robots.txt only
    (
        {"product": "FooBot", "contact_url": URL, "robots_user_agent": "Other"},
        ("Other", f"FooBot/1.0 (+{URL})", None),
    ),
    ({"user_agent": OWN, "robots_user_agent": BEHIND}, ("FooBot", OWN, None)),
    ({"user_agent": OWN, "robots_user_agent": ""}, ("OwnBot", OWN, None)),
    # anonymous
    ({"product": "FooBot/3", "allow_anonymous": True}, ("FooBot", "FooBot/3", None)),
    ({"bot_name": "quotes", "allow_anonymous": True}, ("quotes", "quotes/1.0", None)),
    (
        {"user_agent": "OwnBot/0.9 (linux)", "allow_anonymous": True},
        ("OwnBot", "OwnBot/0.9 (linux)", None),
    ),
    ({"product": "FooBot", "contact_url": URL, "allow_anonymous": True}, FOOBOT),
]

GOOD_URLS = [
    "http://foobot.test", "https://foobot.test:8443/a/b?c=d#e", "https://www.foo-bot.co.uk./",
    "http://192.0.2.1/", "HTTPS://FooBot.test/%28x%29", "https://examplebot.test/bot",
    "https://other.test/", "https://example.test/", "https://notexample.com/",
    "https://example.com.foobot.test/", "https://yourdomain-tools.com/",
    "https://foobot.test/~yourname@x", "https://docs.scrapy.org.foobot.test/",
]  # fmt: skip
GOOD_EMAILS = [
    "ops@foobot.test", "o.p-s+bot@mail.foobot.test", "o'neil@foobot.test", "foo@foobot.test",
    "ops@bar.test", "yourself@foobot.test",
]  # fmt: skip

PLACEHOLDERS = {
    "contact_url": [
        "https://example.com/", "http://www.example.org/bot", "https://a.b.Example.NET",
        "https://bot.example/", "http://www.yourdomain.com", "https://yourdomain.com/",
        "https://your-domain.com/", "https://yoursite.org", "https://bot.your-site.co.uk/x",
        "https://yourcompany.test/", "https://domain.tld/", "https://www.domain.tld",
        "https://scrapy.org", "https://www.scrapy.org/", "https://changeme.com", "http://changeme/",
        "http://localhost:8000/", "https://bot.invalid/",
    ],
    "contact_email": [
        "bot@example.com", "bot@mail.example.org", "foo@bar.com", "foo@bar.test", "name@domain.tld",
        "you@yourdomain.com", "bot@your-domain.com", "your.name@foobot.test",
        "YourName@foobot.test", "changeme@foobot.test", "info@scrapy.org",
    ],
    "product": ["changeme", "ChangeMe/1.0", "Your Name", "your-name", "YourBot/1.0"],
}  # fmt: skip

MALFORMED: dict[str, list[Any]] = {
    "contact_url": [
        "", "  ", "changeme", "foobot.test/bot", "www.foobot.test", "ftp://foobot.test/",
        "mailto:ops@foobot.test", "https://", "https:///bot", "https://?x",
        "https://user@foobot.test/", "https://user:pw@foobot.test/", "https://foo bot.test/",
        "https://foobot.test/a b", "https://foobot..test/", "https://-foobot.test/",
        "https://foobot.test:port/", "https://foobot.test/(x)", 'https://foobot.test/"x"',
        "https://bücher.test/", "https://foobot.test/\r\nX-Evil: 1", "https://foobot.test/\n",
        "https://foobot.test/\x00", ["https://foobot.test/"], 5, True, b"https://foobot.test/",
    ],
    "contact_email": [
        "", "\t", "ops", "ops@", "@foobot.test", "ops@foobot", "ops@@foobot.test",
        "o ps@foobot.test", ".ops@foobot.test", "o..ps@foobot.test", "ops@foobot..test",
        "ops@-foobot.test", "ops@foobot.test, x@foobot.test", "Ops <ops@foobot.test>",
        "mailto:ops@foobot.test", "öps@foobot.test", "bad\r\nX-Evil: 1", "ops@foobot.test\n",
        "ops(x)@foobot.test", ["ops@foobot.test"], 5, b"ops@foobot.test",
    ],
    "product": [
        "", " ", "My Bot 3", "Foo2Bot", "FooBot/", "/1.0", "FooBot/1.0/2", "FooBot/1 0",
        "FooBot 1.0", "Foo.Bot", "*", "FooBot (x)", "Föö", "爬虫", "FooBot\r\nX-Evil: 1",
        "FooBot\x00", "Mozilla/5.0", "mozilla", "Opera", BROWSER, BEHIND, ["FooBot"], 5, b"FooBot",
    ],
    "user_agent": [
        "", "  ", "(x)", "2Bot/1.0", BROWSER, f"{BROWSER} (+https://foobot.test/)",
        "Opera/9.80 (Windows NT 6.1)", "Mozilla/5.0 (compatible; MSIE 10.0; Windows NT 6.2)",
        "OwnBot/1.0\r\nX-Evil: 1", "OwnBot/1.0 (ü)", "OwnBot\x00", ["OwnBot"], 5, b"OwnBot",
    ],
    "robots_user_agent": ["*", " ", "(x)", "7", ["FooBot"], 5, False],
}  # fmt: skip

SETTING = {
    "product": "POLITE_PRODUCT",
    "bot_name": "BOT_NAME",
    "contact_url": "POLITE_CONTACT_URL",
    "contact_email": "POLITE_CONTACT_EMAIL",
    "user_agent": "USER_AGENT",
    "robots_user_agent": "ROBOTSTXT_USER_AGENT",
}
REST = {"bot_name": "quotes", "contact_url": URL, "contact_email": EMAIL}
BAD = [
    *((name, value) for name, values in PLACEHOLDERS.items() for value in values),
    *((name, value) for name, values in MALFORMED.items() for value in values),
    *(("bot_name", value) for value in MALFORMED["product"]),
]


def refusal(**given: Any) -> str:
    """The message that the settings get, which is one sentence on one line."""
    with pytest.raises(IdentityError) as caught:
        identity(**given)
    message = str(caught.value)
    assert re.fullmatch(r"[^\r\n]{20,300}\.", message), message
    assert message.isprintable()
    return message


@pytest.mark.parametrize(("given", "expected"), IDENTITIES)
def test_identity(given: dict[str, Any], expected: tuple[str, str, str | None]) -> None:
    """Each row of settings makes the identity of the table."""
    assert identity(**given) == Identity(*expected)


@pytest.mark.parametrize("url", GOOD_URLS)
def test_rfc9110_10_1_5_contact_url(url: str) -> None:
    """A real page goes into the comment of the User-Agent as it is written."""
    assert identity(product="FooBot", contact_url=url).user_agent == f"FooBot/1.0 (+{url})"
    assert identity(user_agent=f"OwnBot (+{url})").user_agent == f"OwnBot (+{url})"


@pytest.mark.parametrize("email", GOOD_EMAILS)
def test_rfc9110_10_1_2_contact_email(email: str) -> None:
    """A real mailbox goes into From as it is written."""
    assert identity(product="FooBot", contact_email=email).from_address == email


@pytest.mark.parametrize(("name", "value"), BAD, ids=ascii)
@pytest.mark.parametrize("allow_anonymous", [False, True], ids=["named", "anonymous"])
def test_bad_setting(name: str, value: Any, allow_anonymous: bool) -> None:
    """A placeholder or malformed value is refused under its own name, anonymous or not."""
    message = refusal(**{**REST, name: value}, allow_anonymous=allow_anonymous)
    assert message.startswith(f"{SETTING[name]} ")


@pytest.mark.parametrize("contact", [*PLACEHOLDERS["contact_url"], *PLACEHOLDERS["contact_email"]])
@pytest.mark.parametrize("allow_anonymous", [False, True], ids=["named", "anonymous"])
def test_placeholder_in_user_agent(contact: str, allow_anonymous: bool) -> None:
    """A placeholder is never sent inside a User-Agent either."""
    message = refusal(user_agent=f"OwnBot/1.0 (+{contact})", allow_anonymous=allow_anonymous)
    assert message.startswith("USER_AGENT ")


@pytest.mark.parametrize(
    "given",
    [
        {"product": "FooBot"},
        {"bot_name": "quotes"},
        {"user_agent": "OwnBot/1.0"},
        {"user_agent": "OwnBot/1.0 (linux; www.own.test)"},
        {"product": "FooBot", "user_agent": "OwnBot (+http://www.yourdomain.com)"},
        {"product": "FooBot", "robots_user_agent": OWN},
    ],
)
def test_no_contact(given: dict[str, Any]) -> None:
    """Without any contact the sentence names the settings that would give one."""
    message = refusal(**given)
    assert "contact" in message
    for name in ("POLITE_CONTACT_URL", "POLITE_CONTACT_EMAIL", "POLITE_ALLOW_ANONYMOUS"):
        assert name in message


def test_no_product() -> None:
    """Without any name for the crawler the sentence asks for one."""
    assert refusal(contact_url=URL).startswith("POLITE_PRODUCT ")


SUGGESTIONS = {
    "My Bot 3": "My-Bot",
    "My Bot 3/2.0": "My-Bot/2.0",
    "quotes2": "quotes",
    "Bücher": "Bucher",
    "Foo.Bot/1 0": "Foo-Bot",
    "FooBot/2.1 (+https://foobot.test/)": "FooBot",
    "爬虫": "MyCrawler",
    "--7--": "MyCrawler",
}


@pytest.mark.parametrize(("value", "suggestion"), SUGGESTIONS.items())
@pytest.mark.parametrize("name", ["product", "bot_name"])
def test_rfc9309_2_2_1_suggested_product(name: str, value: str, suggestion: str) -> None:
    """An invalid product gets a valid one made of it, which is accepted when used."""
    message = refusal(**{**REST, name: value})
    assert message.endswith(f"set POLITE_PRODUCT to {suggestion!r}.")
    assert identity(product=suggestion, contact_url=URL).user_agent.startswith(suggestion)


TOKENS = {
    "FooBot": "FooBot",
    "FooBot/2.1": "FooBot",
    " FooBot/2.1 (+https://foobot.test/)": "FooBot",
    "Foo_Bot-News/1": "Foo_Bot-News",
    "FooBot2/1": "FooBot",
    BEHIND: "FooBot",
    "Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko; compatible; FooBot/2.1) Safari": "FooBot",
    "mozilla/4.0 (COMPATIBLE;FooBot)": "FooBot",
    "(compatible; FooBot)": "FooBot",
    "FooBot/1.0 (compatible; MSIE 6.0)": "FooBot",
    "Mozilla/5.0 (compatible; +https://foobot.test/)": "Mozilla",
    BROWSER: "Mozilla",
    "": "",
    " ": "",
    "*": "",
    "(x)": "",
    "7Bot": "",
    "Ω": "",
}


@pytest.mark.parametrize(("user_agent", "token"), TOKENS.items())
def test_rfc9309_2_2_1_product_token(user_agent: str, token: str) -> None:
    """The token is the first one, or the one that a bot writes behind a browser's."""
    assert product_token(user_agent) == token


@settings(max_examples=FUZZ_EXAMPLES, deadline=None)
@given(st.text())
def test_fuzz_product_token(user_agent: str) -> None:
    """Whatever the User-Agent, the token is valid or empty, and its own token."""
    token = product_token(user_agent)
    assert re.fullmatch(r"[A-Za-z_-]*", token)
    assert product_token(token) == token


WORDS = st.text("FooBot/2. (;+@)é\n", max_size=12)
PIECES = st.sampled_from(
    [URL, EMAIL, OWN, BROWSER, BEHIND, "FooBot/1", "http://www.yourdomain.com"]
)
VALUES = st.none() | st.lists(WORDS | PIECES, max_size=3).map(" ".join) | PIECES


@settings(max_examples=FUZZ_EXAMPLES, deadline=None)
@given(VALUES, VALUES, VALUES, VALUES, VALUES, st.booleans())
def test_fuzz_header_safe(
    product: str | None,
    contact_url: str | None,
    contact_email: str | None,
    user_agent: str | None,
    robots_user_agent: str | None,
    allow_anonymous: bool,
) -> None:
    """Whatever the settings, they give printable headers with a token, or an IdentityError."""
    try:
        made = make_identity(
            product=product,
            contact_url=contact_url,
            contact_email=contact_email,
            user_agent=user_agent,
            robots_user_agent=robots_user_agent,
            allow_anonymous=allow_anonymous,
            bot_name="quotes",
        )
    except IdentityError:
        return
    assert made.product_token
    assert re.fullmatch(r"[ -~]+", made.user_agent)
    assert made.user_agent == made.user_agent.strip()
    assert made.from_address is None or re.fullmatch(r"[!-~]+@[!-~]+", made.from_address)
    assert allow_anonymous or "@" in made.user_agent or "http" in made.user_agent
