"""FilesPipeline and ImagesPipeline: files are fetched as politely as pages."""

from __future__ import annotations

from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from PIL import Image
from scrapy import Spider
from scrapy.http import Response

from crawls.judging import DISALLOW, moved, paths
from crawls.promise import SLOW, assert_no_lease_left, assert_ten_times
from harness import Answer, Web, crawl_here, gaps
from harness.pages import Page

pytestmark = pytest.mark.crawl


def picture(shade: int) -> bytes:
    """Return a small PNG file."""
    octets = BytesIO()
    Image.new("L", (8, 8), shade).save(octets, "PNG")
    return octets.getvalue()


@pytest.mark.usefixtures("in_process")
@pytest.mark.parametrize("places", [1, 16])
async def test_files_and_images(web: Web, tmp_path: Path, places: int) -> None:
    """Files of the same host and of another one wait their turn, and robots.txt is for them too.

    A redirect is followed and a refused file comes later; nothing is stuck with one place only.
    """
    files: dict[str, Page] = {
        "/robots.txt": DISALLOW,
        "/file": Answer(body="a file", delay=0.02),
        "/refused": [Answer(429, {"Retry-After": "1"}), "after all"],
        "/moved": moved("/new"),
        "/new": "another file",
        "/image": Answer(headers={"Content-Type": "image/png"}, body=picture(99)),
        "*": SLOW,
    }
    home, other = web.site({**files, "/file": "my own file", "/image": picture(7)}), web.site(files)

    def parse(self: Spider, response: Response, asked_url: str) -> Any:
        wanted = ("/file", "/refused", "/moved", "/private/file")
        yield {
            "file_urls": [site.url(path) for site in (home, other) for path in wanted],
            "image_urls": [
                site.url(f"{at}/image") for site in (home, other) for at in ("", "/private")
            ],
        }

    settings = {
        "CONCURRENT_REQUESTS": places,
        "FILES_STORE": str(tmp_path / "files"),
        "IMAGES_STORE": str(tmp_path / "images"),
        "MEDIA_ALLOW_REDIRECTS": True,
        "ITEM_PIPELINES": {
            "scrapy.pipelines.files.FilesPipeline": 1,
            "scrapy.pipelines.images.ImagesPipeline": 2,
        },
    }
    pages = [home.url(f"/{number}") for number in range(3)]
    run = await crawl_here(web, pages, settings, {"parse": parse})
    fetched = ["/robots.txt", "/file", "/refused", "/refused", "/moved", "/new", "/image"]
    assert sorted(paths(run, other)) == sorted(fetched)
    assert sorted(paths(run, home)) == sorted([*fetched, "/0", "/1", "/2"])
    assert_ten_times(run.arrivals)
    waits = [gap.wait for gap in gaps(run.arrivals) if gap.before.status == 429]
    assert len(waits) == 2 and min(waits) >= 1
    kept = {file.read_bytes() for file in (tmp_path / "files").rglob("*") if file.is_file()}
    assert kept == {b"my own file", b"a file", b"after all", b"another file"}
    assert len(list((tmp_path / "images").rglob("*.jpg"))) == 2
    assert_no_lease_left(run)
