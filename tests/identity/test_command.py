"""`scrapy identity`: what it shows, what it writes, and what it finds wrong on a site."""

from __future__ import annotations

import json
import stat
import subprocess
import sys
from pathlib import Path

from harness import Answer, Web, robots_fetches
from harness.child import environment

ADDON = 'ADDONS={"scrapy_polite.Addon": 500}'
URL = "https://acme.test/bot"
MAIL = "ops@acme.test"
NAMED = (ADDON, "POLITE_PRODUCT=AcmeBot/1.0", f"POLITE_CONTACT_EMAIL={MAIL}")
HTTPS = (*NAMED, f"POLITE_CONTACT_URL={URL}")


def identity(folder: Path, *options: object, settings: tuple[str, ...]) -> tuple[int, str, str]:
    """Run the command in a folder; return its exit status and what it printed."""
    given = [word for setting in settings for word in ("-s", setting)]
    done = subprocess.run(
        [sys.executable, "-m", "scrapy", "identity", *map(str, options), *given],
        cwd=folder, env=environment(), capture_output=True, text=True, timeout=100, check=False,
    )  # fmt: skip
    return done.returncode, done.stdout, done.stderr


def signed(key: Path, *settings: str) -> tuple[str, ...]:
    return (*settings, f"POLITE_SIGNATURE_KEY={key}")


def test_it_shows_who_sites_see(tmp_path: Path) -> None:
    """Without options: the name, the contact, and what is missing."""
    status, out, err = identity(tmp_path, settings=HTTPS)
    assert (status, err) == (0, "")
    rows = {line[:14].strip(): line[14:] for line in out.splitlines()}
    assert "AcmeBot/1.0" in rows["User-Agent"] and URL in rows["User-Agent"]
    assert rows["robots.txt"] == "groups for AcmeBot"
    assert rows["Signature"] == "none"
    assert "POLITE_SIGNATURE_KEY" in out.partition("Missing:")[2]


def test_a_key_is_made_once(tmp_path: Path) -> None:
    """The file is its owner's alone, is never printed, and never written over."""
    key = tmp_path / "key.pem"
    status, out, _ = identity(tmp_path, "--new-key", key, settings=HTTPS)
    assert status == 0 and f"POLITE_SIGNATURE_KEY = '{key}'" in out
    assert stat.S_IMODE(key.stat().st_mode) == 0o600
    secret = key.read_text().splitlines()[1]
    assert secret not in out
    status, _, err = identity(tmp_path, "--new-key", key, settings=HTTPS)
    assert status == 2 and "is there already" in err
    assert secret in key.read_text()


def test_a_key_is_never_published(tmp_path: Path) -> None:
    """A key in the folder that is published is refused."""
    inside = tmp_path / "site" / "key.pem"
    status, _, err = identity(
        tmp_path, "--new-key", inside, "--write", tmp_path / "site", settings=HTTPS
    )
    assert status == 2 and "published" in err
    assert not inside.exists()


def test_what_is_written(tmp_path: Path) -> None:
    """Page, card and key directory; a page changed by hand and a listed key stay."""
    first, second, site = tmp_path / "1.pem", tmp_path / "2.pem", tmp_path / "site"
    identity(tmp_path, "--new-key", first, "--write", site, settings=HTTPS)
    page, card = site / "bot.html", json.loads((site / "bot.json").read_text())
    directory = site / ".well-known/http-message-signatures-directory"
    [listed] = json.loads(directory.read_text())["keys"]
    assert "AcmeBot" in page.read_text() and "Disallow: /" in page.read_text()
    assert card["client_id"] == "https://acme.test/bot.json"
    assert card["jwks_uri"] == "https://acme.test/.well-known/http-message-signatures-directory"
    assert "d" not in listed and listed["kid"] in page.read_text()
    page.write_text("mine")
    status, out, _ = identity(tmp_path, "--new-key", second, "--write", site, settings=HTTPS)
    assert status == 0 and "stays" in out
    assert page.read_text() == "mine"
    kept = [jwk["kid"] for jwk in json.loads(directory.read_text())["keys"]]
    assert len(kept) == 2 and kept[1] == listed["kid"]


def test_what_is_wrong_on_a_site(web: Web, tmp_path: Path) -> None:
    """--check asks for what is published, after robots.txt, and names each fault."""
    kind = {"Content-Type": "text/plain"}
    site = web.site({"/robots.txt": 404, "/bot": Answer(200, kind, "hello"), "*": 404})
    settings = (*NAMED, f"POLITE_CONTACT_URL={site.url('/bot')}", "POLITE_MIN_DELAY=0")
    status, out, err = identity(tmp_path, "--check", settings=settings)
    assert (status, err) == (1, "")
    assert "people need text/html" in out
    assert "It does not name AcmeBot" in out
    assert "It is not there: the status is 404." in out
    assert [seen.path for seen in web.arrivals()] == ["/robots.txt", "/bot", "/bot.json"]
    assert len(robots_fetches(web.arrivals())) == 1


def test_what_is_right_on_a_site(web: Web, tmp_path: Path) -> None:
    """What --write writes, --check finds nothing wrong with."""
    site = web.site({"/robots.txt": 404})
    contact = f"POLITE_CONTACT_URL={site.url('/bot')}"
    settings = (*NAMED, contact, "POLITE_MIN_DELAY=0")
    identity(tmp_path, "--write", tmp_path / "site", settings=settings)
    read = {name: (tmp_path / "site" / f"bot.{name}").read_text() for name in ("html", "json")}
    json_type = {"Content-Type": "application/json"}
    site.pages.update({"/bot": read["html"], "/bot.json": Answer(200, json_type, read["json"])})
    _, out, _ = identity(tmp_path, "--check", settings=settings)
    assert out.count("as it should be") == 2
