"""Signed requests as a site's owner verifies them: with cryptography alone.

Rules: everything is rebuilt from what the server received; no code of the package is used.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
from dataclasses import dataclass
from pathlib import Path

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from harness import Arrival

NAMES = {"signature", "signature-input", "signature-agent"}
_DEFAULT_PORT = {"http": ":80", "https": ":443"}


@dataclass(frozen=True, slots=True)
class Key:
    """A key in a file of its own.

    Args:
        secrets: spellings of its secret part, which nothing may contain.
    """

    path: Path
    private: Ed25519PrivateKey
    secrets: tuple[str, ...]

    @property
    def x(self) -> str:
        """The public part."""
        return _base64url(self.private.public_key().public_bytes_raw())

    @property
    def thumbprint(self) -> str:
        """The name that signatures give it."""
        jwk = f'{{"crv":"Ed25519","kty":"OKP","x":"{self.x}"}}'
        return _base64url(hashlib.sha256(jwk.encode()).digest())


def make_key(path: Path, *, jwk: bool = False) -> Key:
    """Write a new key for its owner alone."""
    private = Ed25519PrivateKey.generate()
    raw = private.private_bytes_raw()
    pem = private.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    ).decode()
    secrets = (_base64url(raw), base64.b64encode(raw).decode(), raw.hex(), pem.splitlines()[1])
    key = Key(path, private, secrets)
    members = {"kty": "OKP", "crv": "Ed25519", "x": key.x, "d": secrets[0]}
    path.write_text(json.dumps(members) if jwk else pem)
    path.chmod(0o600)
    return key


def fault_of(arrival: Arrival, key: Key, agent: str, scheme: str = "http") -> str | None:
    """Return what is wrong with the signature of a request, None when it is good."""
    told, given = arrival.headers.get("signature-input", ""), arrival.headers.get("signature", "")
    parts = re.fullmatch(r"(\w+)=(\(([^)]*)\)(;[^,]*))", told)
    signature = re.fullmatch(r"(\w+)=:([A-Za-z0-9+/=]+):", given)
    if parts is None or signature is None or parts[1] != signature[1]:
        return f"is not signed: {told!r}, {given!r}"
    label, inner = parts[1], parts[3]
    if arrival.headers["signature-agent"] != f'{label}="{agent}"':
        return f"names {arrival.headers['signature-agent']}"
    if inner != f'"@authority" "@method" "@path" "signature-agent";key="{label}"':
        return f"covers {inner}"
    params = dict(re.findall(r";(\w+)=(\"[^\"]*\"|\d+)", parts[4]))
    if (params["tag"], params["keyid"]) != ('"web-bot-auth"', f'"{key.thumbprint}"'):
        return f"has {params}"
    if not 60 <= int(params["expires"]) - int(params["created"]) <= 600:
        return "lives too long"
    host = arrival.headers["host"].split(", ")[0].lower().removesuffix(_DEFAULT_PORT[scheme])
    base = (
        f'"@authority": {host}\n"@method": {arrival.method}\n'
        f'"@path": {arrival.path.partition("?")[0]}\n'
        f'"signature-agent";key="{label}": "{agent}"\n"@signature-params": {parts[2]}'
    )
    try:
        key.private.public_key().verify(base64.b64decode(signature[2]), base.encode())
    except InvalidSignature:
        return f"does not verify over {base!r}"
    return None


def _base64url(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()
