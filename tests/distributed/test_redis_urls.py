"""Which servers a Redis store is told of, and what it says when it cannot be."""

from __future__ import annotations

import datetime
import ipaddress
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from distributed.servers import RedisServer
from scrapy_polite.state.protocol import StoreUnavailable
from scrapy_polite.state.redis import RedisStore
from state.kit import Driven

PASSWORD = "s3cret"
UNDER_SELECT = """
from scrapy.utils.reactor import install_reactor
install_reactor("twisted.internet.selectreactor.SelectReactor")
from scrapy_polite.state.redis import RedisStore
RedisStore("redis://127.0.0.1:1/0")
"""
WITHOUT_LIBRARY = """
import importlib.util
found = importlib.util.find_spec
importlib.util.find_spec = lambda name, *more: None if name == "redis" else found(name, *more)
from scrapy_polite.state.redis import RedisStore
RedisStore("redis://127.0.0.1:1/0")
"""


@pytest.fixture(scope="module")
def guarded() -> Iterator[RedisServer]:
    """A server that wants a password."""
    with RedisServer() as server:
        server.settle("polite:")
        server.client.config_set("requirepass", PASSWORD)
        yield server


def leases(url: str) -> bool:
    """Return whether a store on that server leases a host, without any but fair waiting."""
    with Driven(RedisStore(url, timeout=2.0)) as store:
        return bool(store.acquire(f"{abs(hash(url))}.test").leases)


def test_password(guarded: RedisServer) -> None:
    """User and password of the URL are used."""
    assert leases(f"redis://:{PASSWORD}@127.0.0.1:{guarded.port}/0")
    assert leases(f"redis://default:{PASSWORD}@127.0.0.1:{guarded.port}/0")


def test_unix_socket(guarded: RedisServer) -> None:
    """A server of this machine is reached by its socket."""
    assert leases(f"unix://:{PASSWORD}@{guarded.socket}?db=0")


def test_wrong_password_is_unavailable_and_not_told(guarded: RedisServer) -> None:
    """A server that turns us away is unavailable, and no message has the password."""
    with pytest.raises(StoreUnavailable) as told:
        leases(f"redis://:not-{PASSWORD}@127.0.0.1:{guarded.port}/0")
    assert PASSWORD not in str(told.value)


def test_tls(tmp_path: Path) -> None:
    """rediss:// speaks TLS, and checks the certificate."""
    certificate, key = self_signed(tmp_path)
    options = ("--tls-cert-file", str(certificate), "--tls-key-file", str(key))
    with RedisServer(*options, "--tls-auth-clients", "no") as server:
        server.settle("polite:")
        port = server.free_port()
        server.client.config_set("tls-port", port)
        url = f"rediss://127.0.0.1:{port}/0"
        assert leases(f"{url}?ssl_ca_certs={certificate}")
        with pytest.raises(StoreUnavailable):
            leases(url)


@pytest.mark.parametrize("url", ["http://h/0", "redis://h:port/0"])
def test_bad_url(url: str) -> None:
    """What is no URL of a server is said in one sentence that shows how it is written."""
    with pytest.raises(ValueError, match="write redis://host:port/db"):
        RedisStore(url)


def test_cluster_is_refused_at_start() -> None:
    """A node of a cluster is said in one sentence, which is no trouble that passes."""
    with RedisServer("--cluster-enabled", "yes") as server:
        server.client.execute_command("CLUSTER", "ADDSLOTSRANGE", 0, 16383)
        with (
            Driven(RedisStore(server.url)) as store,
            pytest.raises(ValueError, match="is a node of a Redis Cluster") as told,
        ):
            store.open()
    assert isinstance(told.value, StoreUnavailable)


PROGRAMS = {
    "another reactor": (UNDER_SELECT, "AsyncioSelectorReactor"),
    "no library": (WITHOUT_LIBRARY, "scrapy-polite[redis]"),
}


@pytest.mark.parametrize(("program", "said"), PROGRAMS.values(), ids=PROGRAMS)
def test_what_is_missing_is_said(program: str, said: str) -> None:
    """What the store needs and does not have is a ValueError of one sentence."""
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.stderr.splitlines()[-1].startswith("ValueError: POLITE_STATE is a Redis server")
    assert said in done.stderr


def self_signed(folder: Path) -> tuple[Path, Path]:
    """Write a certificate for 127.0.0.1 and its key; return their paths."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "127.0.0.1")])
    now = datetime.datetime.now(datetime.timezone.utc)
    address = x509.IPAddress(ipaddress.ip_address("127.0.0.1"))
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([address]), critical=False)
        .sign(key, hashes.SHA256())
    )
    paths = folder / "certificate.pem", folder / "key.pem"
    paths[0].write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    paths[1].write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
    )
    return paths
