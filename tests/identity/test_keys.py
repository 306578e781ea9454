"""Key files: which are taken, what is said of the others, and that no secret gets out."""

from __future__ import annotations

import copy
import json
import os
import pickle
from pathlib import Path

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa

from crawls.verifying import make_key
from scrapy_polite.identity.keys import KeyTrouble, load, write_new

pytest.importorskip("http_sf")
PEM, PKCS8 = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8
PLAIN = serialization.NoEncryption()
LOCKED = serialization.BestAvailableEncryption(b"word")
D = "n4Ni-HpISpVObnQMW0wOhCKROaIKqKtW_2ZYb2p9KcU"
OTHER_X = "JrQLj5P_89iXES9-vFgrIy29clF9CC_oPPsw3c5D0bt"
OKP = {"kty": "OKP", "crv": "Ed25519"}
ED = ed25519.Ed25519PrivateKey.generate()


@pytest.mark.parametrize("jwk", [False, True], ids=["PEM", "JWK"])
def test_both_forms(tmp_path: Path, jwk: bool) -> None:
    """A key of either form has the public part and thumbprint of what was written."""
    made = make_key(tmp_path / "key", jwk=jwk)
    key = load(made.path)
    assert (key.x, key.thumbprint) == (made.x, made.thumbprint)
    made.private.public_key().verify(key.sign(b"text"), b"text")


def test_a_new_key(tmp_path: Path) -> None:
    """It is written for its owner alone, whatever the umask, and is read back as it was."""
    before = os.umask(0)
    try:
        key = write_new(tmp_path / "key.pem")
    finally:
        os.umask(before)
    assert (tmp_path / "key.pem").stat().st_mode & 0o777 == 0o600
    assert load(tmp_path / "key.pem") == key


def test_a_new_key_never_replaces_one(tmp_path: Path) -> None:
    """A file that is there stays as it is."""
    made = make_key(tmp_path / "key.pem")
    with pytest.raises(KeyTrouble, match="is there already"):
        write_new(made.path)
    assert load(made.path).x == made.x


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o644, 0o660, 0o666])
def test_a_key_that_others_can_read(tmp_path: Path, mode: int) -> None:
    """It is refused in one sentence that says what to type."""
    made = make_key(tmp_path / "key.pem")
    made.path.chmod(mode)
    with pytest.raises(KeyTrouble) as raised:
        load(made.path)
    assert str(raised.value) == (
        f"POLITE_SIGNATURE_KEY: {made.path} can be read or written by others (mode {mode:o}): "
        f"chmod 600 {made.path}."
    )


BROKEN = {
    "empty": (b"", "holds no private key"),
    "junk": (b"\x00\xff" * 99, "holds no private key"),
    "huge": (b"x" * 100_000, "is no key"),
    "a public key": (
        ED.public_key().public_bytes(PEM, serialization.PublicFormat.SubjectPublicKeyInfo),
        "is a public key",
    ),
    "encrypted": (ED.private_bytes(PEM, PKCS8, LOCKED), "is encrypted"),
    "RSA": (
        rsa.generate_private_key(65537, 2048).private_bytes(PEM, PKCS8, PLAIN),
        "is a key of another kind",
    ),
    "EC": (
        ec.generate_private_key(ec.SECP256R1()).private_bytes(PEM, PKCS8, PLAIN),
        "is a key of another kind",
    ),
    "cut": (ED.private_bytes(PEM, PKCS8, PLAIN)[:70], "holds no private key"),
    "no JSON": (b"{", "is no JWK"),
    "nested JSON": (b'{"a":' * 30_000, "is no JWK|is no key"),
    "a JWK set": (json.dumps({"keys": [{**OKP, "d": D}]}).encode(), "is a set of keys"),
    "a public JWK": (json.dumps({**OKP, "x": OTHER_X}).encode(), "is a public key"),
    "a short JWK": (json.dumps({**OKP, "d": D[:20]}).encode(), "is broken"),
    "a JWK of two keys": (json.dumps({**OKP, "d": D, "x": OTHER_X}).encode(), "of another key"),
    "a secret of HMAC": (b'{"kty": "oct", "k": "c2VjcmV0"}', "is a key of another kind"),
    "a number for d": (json.dumps({**OKP, "d": 5}).encode(), "is no JWK"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_what_is_no_key(tmp_path: Path, name: str) -> None:
    """One sentence names the setting and the fault, and shows nothing of the file."""
    data, said = BROKEN[name]
    path = tmp_path / "key"
    path.write_bytes(data)
    path.chmod(0o600)
    with pytest.raises(KeyTrouble, match=f"^POLITE_SIGNATURE_KEY: .*({said}).*: .*--new-key") as e:
        load(path)
    assert D not in str(e.value) and e.value.__cause__ is None
    assert str(e.value).count("\n") == 0


def test_a_key_that_is_not_there(tmp_path: Path) -> None:
    """A missing file and a folder are told apart."""
    for path, said in ((tmp_path / "none", "No such file"), (tmp_path, "Is a directory")):
        with pytest.raises(KeyTrouble, match=said):
            load(path)


def test_no_secret_gets_out(tmp_path: Path) -> None:
    """Neither repr, nor a pickle, nor a copy has the secret part."""
    made = make_key(tmp_path / "key")
    key = load(made.path)
    assert not any(secret in f"{key!r} {key}" for secret in made.secrets)
    for attempt in (pickle.dumps, copy.copy, copy.deepcopy):
        with pytest.raises(TypeError):
            attempt(key)
