"""Signatures: the published vectors octet for octet, and what a server makes of a target."""

from __future__ import annotations

import base64
import json
import re
from pathlib import Path
from typing import Any

import pytest

from scrapy_polite.identity.keys import SigningKey, load
from scrapy_polite.identity.signature import LIFE, Signer, Target, authority_of, sign

pytest.importorskip("http_sf")
VECTORS = json.loads(Path(__file__).with_name("cases").joinpath("web_bot_auth.json").read_text())


@pytest.fixture
def key(tmp_path: Path) -> SigningKey:
    """The key of RFC 9421, appendix B.1.4."""
    return written(tmp_path, VECTORS[0]["key"])


def written(folder: Path, jwk: dict[str, str]) -> SigningKey:
    path = folder / "key.json"
    path.write_text(json.dumps(jwk))
    path.chmod(0o600)
    return load(path)


@pytest.mark.parametrize("vector", VECTORS, ids=lambda vector: vector["label"])
def test_published_vectors(vector: dict[str, Any], tmp_path: Path) -> None:
    """Signature-Input and Signature are those of the vector, octet for octet."""
    agent = vector["signature_agent"]
    member = re.fullmatch(r'(\w+)=(".*")', agent) if agent else None
    covered: list[tuple[str, dict[str, str]]] = [("@authority", {})]
    values = {"@authority": authority_of("https", "example.com")}
    if member:
        covered.append(("signature-agent", {"key": member[1]}))
        values["signature-agent"] = member[2]
    params = {
        "created": vector["created"],
        "keyid": "poqkLGiymh_W0uP6PZFw-dvez3QJT5SolqXBCW38r0U",
        "alg": "ed25519",
        "expires": vector["expires"],
        "nonce": vector["nonce"],
        "tag": "web-bot-auth",
    }
    signed = sign(written(tmp_path, vector["key"]), vector["label"], covered, values, params)
    assert signed == {
        "Signature-Input": vector["signature_input"],
        "Signature": vector["signature"],
    }


def test_the_thumbprint_of_the_vectors(key: SigningKey) -> None:
    """It is the one that the drafts print."""
    assert key.thumbprint == "poqkLGiymh_W0uP6PZFw-dvez3QJT5SolqXBCW38r0U"


def test_what_a_request_carries(key: SigningKey) -> None:
    """Four components are covered, and the parameters are those that a verifier asks for."""
    signer = Signer(key, "https://acme.test")
    headers = signer.headers(Target("GET", "site.test", ""), now=1000.9, nonce="abc")
    assert headers["Signature-Agent"] == 'sig1="https://acme.test"'
    assert headers["Signature-Input"] == (
        'sig1=("@authority" "@method" "@path" "signature-agent";key="sig1");created=1000;'
        f'expires={1000 + LIFE};keyid="{key.thumbprint}";alg="ed25519";nonce="abc";'
        'tag="web-bot-auth"'
    )
    octets = base64.b64decode(headers["Signature"].removeprefix("sig1=:").removesuffix(":"))
    assert len(octets) == 64


def test_each_part_counts(key: SigningKey) -> None:
    """Another method, host, path, time or nonce makes another signature; no path is `/`."""
    signer = Signer(key, "https://acme.test")

    def signature(*target: str, now: float = 1.0, nonce: str = "n") -> str:
        return signer.headers(Target(*target), now=now, nonce=nonce)["Signature"]

    first = signature("GET", "site.test", "/")
    assert first == signature("GET", "site.test", "")
    others = [
        signature("POST", "site.test", "/"),
        signature("GET", "other.test", "/"),
        signature("GET", "site.test", "/a"),
        signature("GET", "site.test", "/", now=2.0),
        signature("GET", "site.test", "/", nonce="m"),
    ]
    assert len({first, *others}) == 6


@pytest.mark.parametrize("host", ["a\nb", "a\r", "bücher.test"])
def test_what_no_header_can_carry(key: SigningKey, host: str) -> None:
    """A line end or an octet beyond ASCII is not signed."""
    with pytest.raises(ValueError, match="@authority"):
        Signer(key, "https://acme.test").headers(Target("GET", host, "/"), now=1.0, nonce="n")


@pytest.mark.parametrize(
    ("scheme", "host", "authority"),
    [
        ("http", "Site.Test", "site.test"),
        ("http", "site.test:80", "site.test"),
        ("https", "site.test:443", "site.test"),
        ("https", "site.test:80", "site.test:80"),
        ("http", "site.test:8080", "site.test:8080"),
        ("http", "site.test:", "site.test"),
        ("http", "[::1]", "[::1]"),
        ("http", "[::80]", "[::80]"),
        ("http", "[::1]:80", "[::1]"),
        ("https", "[2001:DB8::1]:8443", "[2001:db8::1]:8443"),
        ("https", "xn--bcher-kva.test.", "xn--bcher-kva.test."),
        ("https", "user:word@site.test", "site.test"),
    ],
)
def test_rfc9421_2_2_3_authority(scheme: str, host: str, authority: str) -> None:
    """Case and a default port do not count."""
    assert authority_of(scheme, host) == authority
