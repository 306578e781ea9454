"""What a signed request carries: Signature-Agent, Signature-Input and Signature.

Rules:

- Covered are the authority, the method, the path and the Signature-Agent member whose key is the
  signature's label, so that a signature that somebody has seen is good for no other request.
- It lives five minutes, and has a nonce: no two are equal.
- A default port and the case of the host do not count; an empty path is `/`.

Structured fields are written by http-sf, the signature is made by cryptography.

Source: RFC 9421 (HTTP Message Signatures), sections 2.2, 2.5 and 3.1; RFC 9651 (structured fields);
draft-meunier-webbotauth-httpsig-protocol-02.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from scrapy_polite.identity.keys import ALGORITHM, SigningKey

AGENT, INPUT, SIGNATURE = "Signature-Agent", "Signature-Input", "Signature"
HEADERS = (AGENT, INPUT, SIGNATURE)
LIFE = 300  # seconds
LABEL = "sig1"
TAG = "web-bot-auth"
COVERED: tuple[tuple[str, Mapping[str, str]], ...] = (
    ("@authority", {}),
    ("@method", {}),
    ("@path", {}),
    ("signature-agent", {"key": LABEL}),
)
_DEFAULT_PORT = {"http": ":80", "https": ":443"}


@dataclass(frozen=True, slots=True)
class Target:
    """What a request asks for, as the server reads it.

    Attributes:
        authority: as `authority_of` returns it.
        path: without the query; "" is `/`.
    """

    method: str
    authority: str
    path: str


@dataclass(frozen=True, slots=True)
class Signer:
    """Signs requests.

    Attributes:
        agent: the origin that publishes the key.
    """

    key: SigningKey
    agent: str

    def headers(self, target: Target, *, now: float, nonce: str) -> dict[str, str]:
        """Return the headers that sign a request.

        Args:
            now: epoch seconds.
            nonce: new for each request.

        Raises:
            ValueError: the target has characters that no request can carry.
        """
        import http_sf

        created = int(now)
        params = {
            "created": created,
            "expires": created + LIFE,
            "keyid": self.key.thumbprint,
            "alg": ALGORITHM,
            "nonce": nonce,
            "tag": TAG,
        }
        member = http_sf.ser(self.agent)
        values = {
            "@authority": target.authority,
            "@method": target.method,
            "@path": target.path or "/",
            "signature-agent": member,
        }
        signed = sign(self.key, LABEL, COVERED, values, params)
        return {AGENT: f"{LABEL}={member}", **signed}


def sign(
    key: SigningKey,
    label: str,
    covered: Sequence[tuple[str, Mapping[str, str]]],
    values: Mapping[str, str],
    params: Mapping[str, Any],
) -> dict[str, str]:
    """Return Signature-Input and Signature over some components, in this order.

    Args:
        covered: names of components, each with its parameters.
        values: of the components, by name.
        params: of the signature, in the order in which they are written.

    Raises:
        ValueError: a value has characters that no header can carry.
    """
    import http_sf

    inner: Any = ([(name, dict(more)) for name, more in covered], dict(params))
    told = http_sf.ser({label: inner})
    lines = [_line(name, more, values[name]) for name, more in covered]
    base = "\n".join([*lines, f'"@signature-params": {told.removeprefix(f"{label}=")}'])
    signature = http_sf.ser({label: key.sign(base.encode("ascii"))})
    return {INPUT: told, SIGNATURE: signature}


def authority_of(scheme: str, host: str) -> str:
    """Return the authority that a verifier makes of a Host header or a URL's own.

    Source: RFC 9421 section 2.2.3.

    >>> authority_of("https", "Site.Example:443"), authority_of("http", "[::1]:8080")
    ('site.example', '[::1]:8080')
    """
    name = host.rpartition("@")[2].strip().lower().removesuffix(_DEFAULT_PORT.get(scheme, ""))
    return name.removesuffix(":")


def _line(name: str, params: Mapping[str, str], value: str) -> str:
    if not (value.isascii() and value.isprintable()):
        raise ValueError(f"A request whose {name} is {value!r} cannot be signed.")
    more = "".join(f';{key}="{text}"' for key, text in params.items())
    return f'"{name}"{more}: {value}'
