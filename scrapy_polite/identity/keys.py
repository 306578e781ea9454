"""The key that requests are signed with: Ed25519, from a PEM or JWK file of its owner's alone.

Rules: a file that others can read is refused, and so is a key of another kind.  An error is one
sentence without any of the file's text.  The secret part is in no `repr`, and cannot be pickled.

Source: RFC 7638 and RFC 8037 (JWK and its thumbprint); RFC 8410 (PEM).
"""

from __future__ import annotations

import json
import os
import stat
from base64 import urlsafe_b64decode, urlsafe_b64encode
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

SETTING = "POLITE_SIGNATURE_KEY"
ALGORITHM = "ed25519"
INSTALL = "pip install 'scrapy-polite[signatures]'"
_MAX_BYTES = 65_536
_KEY_BYTES = 32
_OTHERS = stat.S_IRWXG | stat.S_IRWXO
_NEW = "write the path of an Ed25519 private key (scrapy identity --new-key FILE makes one)"


class KeyTrouble(ValueError):
    """A key that cannot be used; the message is one sentence that says what to do."""


@dataclass(frozen=True, slots=True)
class SigningKey:
    """A private key and its public names.

    Attributes:
        x: the public part, base64url.
        thumbprint: what signatures name it by.
    """

    x: str
    thumbprint: str
    _private: Ed25519PrivateKey = field(repr=False, compare=False)

    def sign(self, data: bytes) -> bytes:
        """Return the signature of some octets."""
        return self._private.sign(data)

    def __reduce__(self) -> str:
        raise TypeError("a private key is not pickled")


def load(path: Path) -> SigningKey:
    """Return the key in a file.

    Raises:
        KeyTrouble: there is none, it is broken or of another kind, or others can read it.
    """
    need_libraries()
    data = _read(path)
    private = _of_jwk(data, path) if data.lstrip().startswith(b"{") else _of_pem(data, path)
    return _named(private)


def write_new(path: Path) -> SigningKey:
    """Make a key, and write it to a new file that its owner alone can read.

    Raises:
        KeyTrouble: the file is there already, or cannot be written.
    """
    need_libraries()
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    private = Ed25519PrivateKey.generate()
    text = private.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    try:
        number = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with open(number, "wb") as file:
            file.write(text)
    except FileExistsError:
        raise KeyTrouble(f"{path} is there already: name a new file for the key.") from None
    except OSError as error:
        raise KeyTrouble(f"{path} cannot be written: {error.strerror}.") from None
    return _named(private)


def thumbprint(x: str) -> str:
    """Return the thumbprint of an Ed25519 key.

    Args:
        x: its public part, base64url.

    Source: RFC 7638 section 3; RFC 8037 appendix A.3.

    >>> thumbprint("JrQLj5P_89iXES9-vFgrIy29clF9CC_oPPsw3c5D0bs")
    'poqkLGiymh_W0uP6PZFw-dvez3QJT5SolqXBCW38r0U'
    """
    members = json.dumps({"crv": "Ed25519", "kty": "OKP", "x": x}, separators=(",", ":"))
    return _base64url(sha256(members.encode()).digest())


def need_libraries() -> None:
    """Raise KeyTrouble when what the extra `signatures` brings is not there."""
    try:
        import cryptography
        import http_sf
    except ImportError as error:
        why = f"{SETTING} needs {error.name}, which is not installed: {INSTALL}."
        raise KeyTrouble(why) from None
    del cryptography, http_sf


def _read(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            mode = os.fstat(file.fileno()).st_mode
            if os.name == "posix" and mode & _OTHERS:
                others = f"can be read or written by others (mode {stat.S_IMODE(mode):o})"
                raise _trouble(path, others, f"chmod 600 {path}")
            data = file.read(_MAX_BYTES + 1)
    except OSError as error:
        raise _trouble(path, f"cannot be read ({error.strerror})") from None
    if len(data) > _MAX_BYTES:
        raise _trouble(path, "is no key")
    return data


def _of_pem(data: bytes, path: Path) -> Ed25519PrivateKey:
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    from cryptography.hazmat.primitives.serialization import load_pem_private_key

    try:
        found = load_pem_private_key(data, password=None)
    except TypeError:
        raise _trouble(path, "is encrypted, and there is nobody to ask for its password") from None
    except (ValueError, UnsupportedAlgorithm):
        why = "is a public key" if b"BEGIN PUBLIC KEY" in data else "holds no private key"
        raise _trouble(path, why) from None
    if not isinstance(found, Ed25519PrivateKey):
        raise _trouble(path, "is a key of another kind")
    return found


def _of_jwk(data: bytes, path: Path) -> Ed25519PrivateKey:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    try:
        jwk = json.loads(data)
        kind = (jwk.get("kty"), jwk.get("crv"))
        secret = _octets(jwk["d"]) if kind == ("OKP", "Ed25519") and "d" in jwk else None
        said = jwk.get("x")
    except (ValueError, TypeError, AttributeError, RecursionError):
        raise _trouble(path, "is no JWK") from None
    if kind != ("OKP", "Ed25519"):
        raise _trouble(path, "is a set of keys" if "keys" in jwk else "is a key of another kind")
    if secret is None:
        raise _trouble(path, "is a public key")
    if len(secret) != _KEY_BYTES:
        raise _trouble(path, "is broken")
    private = Ed25519PrivateKey.from_private_bytes(secret)
    if said is not None and said != _named(private).x:
        raise _trouble(path, "is broken: its public part is that of another key")
    return private


def _named(private: Ed25519PrivateKey) -> SigningKey:
    x = _base64url(private.public_key().public_bytes_raw())
    return SigningKey(x, thumbprint(x), private)


def _trouble(path: Path, fault: str, advice: str = _NEW) -> KeyTrouble:
    return KeyTrouble(f"{SETTING}: {path} {fault}: {advice}.")


def _base64url(data: bytes) -> str:
    return urlsafe_b64encode(data).rstrip(b"=").decode()


def _octets(text: str) -> bytes:
    return urlsafe_b64decode(text + "=" * (-len(text) % 4))
