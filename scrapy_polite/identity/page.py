"""The page about a crawler that a site's owner reads: who, why, how fast, how to stop it.

Rules: it says what the settings say, and nothing that nobody has set.  All text is escaped, there
is no script, and nothing is loaded from elsewhere.
"""

from __future__ import annotations

from html import escape
from importlib.resources import files
from string import Template

from scrapy_polite.identity.about import About

GENERATOR = '<meta name="generator" content="scrapy-polite">'
_USES = {
    "train-ai": "to train AI models",
    "search": "for search",
    "ai-input": "as input of AI systems, for answers to their users",
}


def page(about: About) -> str:
    """Return the page as HTML."""
    template = Template(files(__package__).joinpath("page.html").read_text("utf-8"))
    sections = (_who, _why, _how_fast, _stop, _contact, _verify)
    text = "\n".join(filter(None, (section(about) for section in sections)))
    return template.substitute(name=escape(about.product_token), sections=text)


def _who(about: About) -> str:
    sent_from = f"\nFrom: {about.from_address}" if about.from_address else ""
    return (
        '<p class="lead">This is a program that visits web sites. '
        "If you have found its name in your log, this page says what it does there, "
        "and how you slow it down or stop it.</p>\n"
        f"<pre>{escape(f'User-Agent: {about.user_agent}{sent_from}')}</pre>"
    )


def _why(about: About) -> str:
    if not about.purpose:
        return ""
    uses = " and ".join(_USES.get(use, use) for use in about.purpose)
    return (
        "<h2>Why it comes</h2>\n"
        f"<p>What it reads is used {escape(uses)}. Where your <code>Content-Usage</code> or "
        "<code>Content-Signal</code> disallows that, in robots.txt or in a header, "
        "your pages are left out.</p>"
    )


def _how_fast(about: About) -> str:
    waits = ["It asks your host for one thing at a time."]
    if about.factor > 0:
        waits.append(
            f"After each answer it waits {about.factor:g} times as long as you needed for it, so "
            f"it takes at most 1/{about.factor + 1:g} of a host's time: if you get slower, so does "
            "it."
        )
    if about.floor > 0:
        waits.append(f"Between two requests are {about.floor:g} seconds at least.")
    return f"<h2>How fast it is, at most</h2>\n<p>{' '.join(waits)}</p>"


def _stop(about: About) -> str:
    token, refusals = escape(about.product_token), _listed(about.refusals)
    robots = (
        "<dt>Stop it</dt>\n<dd>Write this into your <code>/robots.txt</code>. It is read before "
        "anything else, and again within a day.\n"
        f"<pre>User-agent: {token}\nDisallow: /</pre></dd>\n"
        "<dt>Close a part of your site</dt>\n"
        f"<dd><pre>User-agent: {token}\nDisallow: /private/</pre></dd>\n"
        "<dt>Slow it down</dt>\n<dd>It waits for as many seconds as <code>Crawl-delay</code> says, "
        f"up to {about.crawl_delay_max:g}.\n"
        f"<pre>User-agent: {token}\nCrawl-delay: 20</pre></dd>\n"
    )
    refuse = (
        f"<dt>Send it away for a while</dt>\n<dd>Answer {refusals}, best with "
        "<code>Retry-After</code>: the whole host is left alone for that long.</dd>"
    )
    own = robots if about.obeys_robots else ""
    return f"<h2>How to slow it down or stop it</h2>\n<dl>\n{own}{refuse}\n</dl>"


def _contact(about: About) -> str:
    if not about.contact_email:
        return ""
    address = escape(about.contact_email)
    return (
        "<h2>Talk to us</h2>\n<p>Tell us what you saw, with a line of your log if you can:</p>\n"
        f'<address><a href="mailto:{address}">{address}</a></address>'
    )


def _verify(about: About) -> str:
    if about.key is None or about.directory_url is None:
        return ""
    url = escape(about.directory_url)
    card = escape(about.card_url or "")
    return (
        "<h2>Is it really this crawler?</h2>\n"
        "<p>Anybody can write a name into a header. Each request of this crawler is signed too "
        "(Web Bot Auth, RFC 9421). A request without a good signature is not from us.</p>\n"
        "<dl>\n"
        f"<dt>The request says</dt>\n<dd><code>Signature-Agent: sig1=&quot;"
        f"{escape(about.agent or '')}&quot;</code></dd>\n"
        f'<dt>The keys are at</dt>\n<dd><a href="{url}"><code>{url}</code></a></dd>\n'
        f"<dt>Today&#8217;s key is</dt>\n<dd><code>{escape(about.key.thumbprint)}</code></dd>\n"
        f'<dt>For programs</dt>\n<dd><a href="{card}"><code>{card}</code></a></dd>\n'
        "</dl>"
    )


def _listed(statuses: tuple[int, ...]) -> str:
    *most, last = map(str, sorted(statuses))
    return f"{', '.join(most)} or {last}" if most else last
