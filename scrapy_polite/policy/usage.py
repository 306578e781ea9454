"""What may be done with a page: statements of its owner, and what several of them come to.

Rules:

- A statement says allow or disallow by label.  What it does not say, and what cannot be read, is
  unknown: nobody has said anything.
- `Content-Usage` is a structured dictionary.  A member counts when its value is the token `y` or
  `n`; parameters are ignored, of equal keys the last counts.  Case matters.  A dictionary that
  cannot be parsed says nothing.
- `Content-Signal`, the earlier form, is a list of `label=yes` and `label=no`.  It has no grammar,
  so case does not matter, and of equal labels the restrictive one counts.  `ai-train` is the label
  `train-ai`.
- Of several statements any disallow counts, else any allow.

Source: draft-ietf-aipref-vocab (labels, combination) and draft-ietf-aipref-attach (header and
record); https://contentsignals.org (Content-Signal); both drafts may change.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable, Mapping

from scrapy_polite.policy.dictionary import Token, parse

TRAIN_AI, SEARCH, AI_INPUT = "train-ai", "search", "ai-input"
LABELS = (TRAIN_AI, SEARCH, AI_INPUT)
"""Every label that is heard; `ai-input` is said by `Content-Signal` only."""

CONTENT_USAGE, CONTENT_SIGNAL = "content-usage", "content-signal"
_USAGE_LABELS = (TRAIN_AI, SEARCH)
_SIGNAL_LABELS = {"ai-train": TRAIN_AI, "search": SEARCH, "ai-input": AI_INPUT}


class Preference(enum.Enum):
    """What an owner says of one use of a page."""

    ALLOW = "allow"
    DISALLOW = "disallow"
    UNKNOWN = "unknown"


_USAGE_VALUES: dict[Token | None, Preference] = {
    Token("y"): Preference.ALLOW,
    Token("n"): Preference.DISALLOW,
}
_SIGNAL_VALUES = {"yes": Preference.ALLOW, "no": Preference.DISALLOW}


def said(kind: str, text: str) -> dict[str, Preference]:
    """Return what one statement says by label, without what it leaves unknown.

    Args:
        kind: `content-usage` or `content-signal`.
        text: the value of a header, or of a record without its path.

    >>> said("content-usage", "train-ai=n;why=me, search=y, train-ai=y")["train-ai"].value
    'allow'
    >>> {label: found.value for label, found in said("content-signal", "ai-train=no").items()}
    {'train-ai': 'disallow'}
    """
    return _of_usage(text) if kind == CONTENT_USAGE else _of_signal(text)


def combined(preferences: Iterable[Preference]) -> Preference:
    """Return what several statements come to.

    >>> combined([Preference.ALLOW, Preference.UNKNOWN, Preference.DISALLOW])
    <Preference.DISALLOW: 'disallow'>
    """
    found = set(preferences)
    for preference in (Preference.DISALLOW, Preference.ALLOW):
        if preference in found:
            return preference
    return Preference.UNKNOWN


def of_header(kind: str, values: Iterable[str]) -> dict[str, Preference]:
    """Return what the lines of one header say; those of `Content-Usage` are one dictionary."""
    return said(kind, ", ".join(filter(str.strip, values)))


def forbidden(purpose: Iterable[str], wishes: Mapping[str, Preference]) -> str | None:
    """Return the first use of *purpose* that the owner disallows, None when there is none."""
    return next((use for use in purpose if wishes.get(use) is Preference.DISALLOW), None)


def _of_usage(text: str) -> dict[str, Preference]:
    members = parse(text)
    if members is None:
        return {}
    found = {label: _USAGE_VALUES.get(members.get(label)) for label in _USAGE_LABELS}
    return {label: preference for label, preference in found.items() if preference}


def _of_signal(text: str) -> dict[str, Preference]:
    found: dict[str, Preference] = {}
    for item in text.split(","):
        name, _, value = item.partition("=")
        label = _SIGNAL_LABELS.get(name.strip().lower())
        preference = _SIGNAL_VALUES.get(value.strip().lower())
        if label and preference:
            found[label] = combined((preference, found.get(label, preference)))
    return found
