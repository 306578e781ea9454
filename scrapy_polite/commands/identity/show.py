"""An identity as text."""

from __future__ import annotations

from scrapy_polite.commands.identity.facts import Facts
from scrapy_polite.identity.card import rate_control, rate_expectation

_WIDTH = 14


def to_text(facts: Facts) -> str:
    """Return what sites see, what they can know, and what is missing."""
    about = facts.about
    signature = f"Ed25519, key {about.key.thumbprint}" if about.key else "none"
    rows = {
        "User-Agent": about.user_agent,
        "From": about.from_address or "none",
        "robots.txt": f"groups for {about.product_token}"
        if about.obeys_robots
        else "not obeyed (ROBOTSTXT_OBEY)",
        "Page": about.contact_url or "none",
        "Address": about.contact_email or "none",
        "Signature": signature,
        "Keys at": about.directory_url if about.key else None,
        "Card": about.card_url,
        "Purpose": ", ".join(about.purpose) or "not said",
        "Speed": rate_expectation(about),
        "Slowed by": rate_control(about),
    }
    lines = [f"{name:<{_WIDTH}}{value}" for name, value in rows.items() if value]
    missing = ["", "Missing:", *(f"  - {each}" for each in facts.missing)] if facts.missing else []
    return "\n".join([*lines, *missing, ""])
