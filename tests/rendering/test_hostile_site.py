"""The hostile pages have the declared content, so that tests with them are meaningful."""

import io
import json
import warnings
from pathlib import Path

import pytest
from PIL import Image
from warcio.archiveiterator import ArchiveIterator

from tests.rendering.hostile_site import (
    PAGES,
    TIMESTAMP,
    bomb_png,
    broken_pictures,
    har_parts,
    resources,
    write_hostile_warc,
)


def test_each_page_is_archived_once(tmp_path: Path) -> None:
    path = write_hostile_warc(tmp_path / "hostile.warc.gz")
    with path.open("rb") as file:
        records = [
            (record.rec_headers["WARC-Target-URI"], record.content_stream().read())
            for record in ArchiveIterator(file)
        ]
    assert records == [(page.url, page.body) for page in (*PAGES, *resources())]
    assert TIMESTAMP == "20200102030405"


def test_the_bomb_is_a_whole_picture() -> None:
    with Image.open(io.BytesIO(bomb_png(2_000))) as image:
        image.load()
        assert (image.size, image.getpixel((1_999, 1_999))) == ((2_000, 2_000), 255)


@pytest.mark.parametrize("name", broken_pictures())
def test_broken_pictures_are_broken(name: str) -> None:
    with warnings.catch_warnings(), pytest.raises((OSError, Image.DecompressionBombError)):
        warnings.simplefilter("ignore", Image.DecompressionBombWarning)
        Image.open(io.BytesIO(broken_pictures()[name])).load()


def test_a_har_of_any_size_can_be_read() -> None:
    entries = json.loads(b"".join(har_parts(1_000_000)))["log"]["entries"]
    assert len(entries) > 10
    assert entries[-1]["request"]["url"] == "http://end.example/"
