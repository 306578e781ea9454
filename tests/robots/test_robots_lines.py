"""Reading octets: encodings, line ends, the limit, and numbered records."""

from __future__ import annotations

import pytest

from scrapy_polite.robots.lines import LIMIT_BYTES, Record, RobotsFile, printable, split_line

TEXT = "User-agent: *\nDisallow: /café\n"


@pytest.mark.parametrize(
    ("octets", "encoding", "has_bom"),
    [
        (TEXT.encode(), "utf-8", False),
        (TEXT.encode("utf-8-sig"), "utf-8", True),
        (b"\xff\xfe" + TEXT.encode("utf-16-le"), "utf-16-le", True),
        (b"\xfe\xff" + TEXT.encode("utf-16-be"), "utf-16-be", True),
    ],
)
def test_2_3_encodings(octets: bytes, encoding: str, has_bom: bool) -> None:
    """The same text comes out of every encoding that says what it is."""
    file = RobotsFile.read(octets)
    assert (file.text, file.encoding, file.has_bom) == (TEXT, encoding, has_bom)


def test_octets_that_are_not_utf8_can_be_told_apart() -> None:
    """Each octet that is not UTF-8 comes back as it was."""
    octets = bytes(range(0x80, 0x100))
    assert RobotsFile(octets).text.encode("utf-8", "surrogateescape") == octets


@pytest.mark.parametrize(
    ("octets", "lines"),
    [
        (b"", [""]),
        (b"a\nb\r\nc\rd", ["a", "b", "c", "d"]),
        (b"a\n\nb\r\rc\r\n\r\nd\n", ["a", "", "b", "", "c", "", "d", ""]),
        ("a\x0b\x0c\x1c\x85\u2028b".encode(), ["a\x0b\x0c\x1c\x85\u2028b"]),
    ],
)
def test_2_2_line_ends(octets: bytes, lines: list[str]) -> None:
    """Only LF, CR LF and CR end a line."""
    assert RobotsFile(octets).lines() == lines


def test_records_are_numbered_by_line() -> None:
    """Empty lines, comments and prose count, and give no record."""
    octets = b"\xef\xbb\xbf# hello\r\n\r\nUSER-AGENT : * # all\rwelcome to all of you\nDisalow:/a"
    assert list(RobotsFile(octets).records()) == [
        Record(3, "user-agent", "*"),
        Record(5, "disallow", "/a"),
    ]


@pytest.mark.parametrize(
    ("line", "pair"),
    [
        ("Crawl delay: 5", ("crawl-delay", "5")),
        ("Site-map: https://a.example/s.xml", ("sitemap", "https://a.example/s.xml")),
        ("Sitemap https://a.example/s.xml", ("sitemap", "https://a.example/s.xml")),
        ("X-Thing : a: b", ("x-thing", "a: b")),
        ("X-Thing a", None),
        ("Disallow", None),
        (" : /a", None),
        ("# Disallow: /a", None),
    ],
)
def test_split_line(line: str, pair: tuple[str, str] | None) -> None:
    """A line is split at its first colon, or where a known key stands before one other word."""
    assert split_line(line) == pair


def _of_size(size_bytes: int, end: str = "\n") -> str:
    head = f"User-agent: *{end}Disallow: /a{end}"
    return head + "#" * (size_bytes - len(head))


@pytest.mark.parametrize("end", ["\n", "\r", "\r\n"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-16-le", "utf-16-be"])
def test_2_5_line_that_just_fits_is_kept(encoding: str, end: str) -> None:
    """A line whose last octet is the last one of the limit counts, and one octet more does not."""
    mark = "" if encoding == "utf-8" else "\ufeff"
    width = len("a".encode(encoding))
    room = LIMIT_BYTES // width - len(mark)
    fits, too_long = (
        RobotsFile.read((mark + _of_size(size, end) + end + "Disallow: /b").encode(encoding))
        for size in (room, room + 1)
    )
    assert len(fits.octets) == LIMIT_BYTES
    assert len(fits.lines()) == 3
    assert too_long.text == f"User-agent: *{end}Disallow: /a"
    assert fits.ignored_bytes == len((end + "Disallow: /b").encode(encoding))


def test_2_5_limit() -> None:
    """The limit is the least that the standard allows, 500 KiB."""
    assert LIMIT_BYTES == 500 * 1024


def test_2_5_half_a_rule_is_no_rule() -> None:
    """A rule that the limit cuts is dropped, because its beginning would match more."""
    body = b"User-agent: *\nDisallow: /" + b"a" * LIMIT_BYTES + b"\nDisallow: /b\n"
    assert [record.key for record in RobotsFile.read(body).records()] == ["user-agent"]


def test_2_5_file_of_one_endless_line() -> None:
    """A file without any line end within the limit has nothing to say."""
    file = RobotsFile.read(b"Disallow: /" * LIMIT_BYTES)
    assert file.octets == b""
    assert file.ignored_bytes == 11 * LIMIT_BYTES


def test_a_file_within_the_limit_is_not_copied() -> None:
    """Whoever keeps the body too pays for it once."""
    body = TEXT.encode()
    assert RobotsFile.read(body).octets is body


def test_printable_hides_control_characters() -> None:
    """What a site writes cannot steer a terminal."""
    assert printable("a\x1b[2J\r\n\u202eé\udce9") == r"a\x1b[2J\r\n\u202eé\xe9"
