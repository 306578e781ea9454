"""RFC 9309 by example: each verdict of `cases/*.json`, with section and level in the test's name.

A case is a file, an agent (`ExampleBot` when it names none) and the URLs that are allowed and
denied, as paths of https://site.example. `robots` is a text, or a list of lines that end in LF;
`robots_hex` gives octets. A case with `limit` states what would be better than what we do, and why
we do not: it is expected to fail.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from scrapy_polite.robots.parser import Rfc9309RobotParser

LEVELS = {"MUST", "SHOULD", "MAY", "policy"}
FILES = sorted(Path(__file__).with_name("cases").glob("*.json"))


def _body(case: dict[str, Any]) -> bytes:
    if "robots_hex" in case:
        return bytes.fromhex(case["robots_hex"])
    robots = case["robots"]
    return (robots if isinstance(robots, str) else "\n".join([*robots, ""])).encode()


def _params() -> Iterator[Any]:
    for file in FILES:
        section = file.name.partition("-")[0]
        for case in json.loads(file.read_text("utf-8")):
            limit = case.get("limit")
            marks = [pytest.mark.xfail(reason=limit, strict=True)] if limit else []
            for expected in ("allow", "deny"):
                for url in case.get(expected, ()):
                    name = f"{section}-{case['level']}-{case['id']}-{expected}-{ascii(url)[1:-1]}"
                    yield pytest.param(case, url, expected, id=name, marks=marks)


@pytest.mark.parametrize(("case", "url", "expected"), list(_params()))
def test_verdict(case: dict[str, Any], url: str, expected: str) -> None:
    """The parser decides as the case says, and its explanation agrees."""
    assert case["level"] in LEVELS
    url = f"https://site.example{url}" if url.startswith("/") else url
    agent = case.get("agent", "ExampleBot")
    parser = Rfc9309RobotParser.from_crawler(None, _body(case))
    verdict = parser.explain(url, agent)
    assert parser.allowed(url, agent) is (expected == "allow"), f"{case['why']}; {verdict}"
    assert verdict.allowed is (expected == "allow")


def test_case_names_are_unique() -> None:
    """No case hides behind another one of the same name."""
    names = [(file.name, case["id"]) for file in FILES for case in json.loads(file.read_text())]
    assert len(names) == len(set(names)) > 100
