"""Stored blocks; faulty records are tested in test_stored_renders.py."""

import gzip
from collections.abc import Iterator
from pathlib import Path

import pytest

from nwx.engine.base import Engine, open_engine
from nwx.errors import FormatError, SourceError
from nwx.importing import ImportOptions, import_files
from nwx.quality.stored_blocks import block_at, find_image, read_image
from nwx.settings import Settings
from nwx.warc.sources import ArchiveSource, FilePlaces, expand
from tests.renders import picture
from tests.warc_records import http_response, warc_bytes, write_records

ARC = (
    b"filedesc://a.arc 0.0.0.0 20100101000000 text/plain 75\n"
    b"1 0 x\nURL IP-address Archive-date Content-type Archive-length\n\n\n"
)


def test_the_block_of_an_arc_record(tmp_path: Path) -> None:
    block = b"HTTP/1.0 200 OK\r\n\r\nan image"
    line = b"http://a.example/ 0.0.0.0 20100101000000 image/png %d\n" % len(block)
    path = tmp_path / "a.arc"
    path.write_bytes(ARC + line + block + b"\n")
    source = ArchiveSource(path.name, str(path), None)
    found = block_at(source, len(ARC), 100, "http://a.example/".__eq__)
    assert (found.head.kind, found.block) == ("response", block)
    with pytest.raises(FormatError, match="another record"):
        block_at(source, len(ARC), 100, "http://b.example/".__eq__)
    with pytest.raises(FormatError, match="10 are read") as caught:
        block_at(source, len(ARC), 10, bool)
    assert (caught.value.file, caught.value.offset) == ("a.arc", len(ARC))


IMAGE = picture(size=(60, 40))
URL = "http://a.example/x.png"


def _records() -> Iterator[bytes]:
    coded = gzip.compress(IMAGE, mtime=0)
    for year, kind, body in ((2010, "image/png", IMAGE), (2011, "text/html", b"<p>gone")):
        block = http_response(body, kind)
        yield warc_bytes("response", block, id=str(year), url=URL, date=f"{year}-01-01T00:00:00Z")
    block = http_response(coded, "image/png\r\nContent-Encoding: gzip")
    yield warc_bytes("response", block, id="c", url=URL + "?coded")
    yield warc_bytes("resource", IMAGE, id="r", url=URL + "?bare", content_type="image/png")
    svg = http_response(b"<svg/>", "image/svg+xml")
    yield warc_bytes("response", svg, id="s", url=URL + "?svg")
    again = b"HTTP/1.1 200 OK\r\nContent-Type: image/png\r\n\r\n"
    digest = "sha1:" + "A" * 32
    for kind, block in (("response", http_response(IMAGE, "image/png")), ("revisit", again)):
        date = "2010-01-01T00:00:00Z" if kind == "response" else "2012-01-01T00:00:00Z"
        yield warc_bytes(
            kind, block, id=kind, url=URL + "?again", date=date, WARC_Payload_Digest=digest
        )
    other = URL + "?elsewhere"
    yield warc_bytes("revisit", again, id="other", url=other, WARC_Payload_Digest=digest)
    yield warc_bytes("revisit", again, id="nameless", url=URL + "?nameless")


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Engine]:
    path = write_records(tmp_path / "a.warc.gz", _records())
    settings = Settings(str(tmp_path / "archive"))
    with open_engine(settings) as opened:
        opened.create()
        import_files(opened, settings, list(expand([str(path)])), ImportOptions(jobs=1))
        yield opened


@pytest.mark.parametrize(
    ("url", "timestamp"),
    [
        (URL, "20100101000000"),
        (URL, "20150101000000"),
        (URL.replace("http:", "https:").replace("a.", "www.a."), "2009"),
        (URL + "?coded", "2015"),
        (URL + "?bare", "2015"),
        (URL + "?again", "20120101000000"),
        (URL + "?elsewhere", "2015"),
    ],
)
def test_images(engine: Engine, url: str, timestamp: str) -> None:
    found = find_image(engine, url, timestamp)
    assert found is not None
    assert read_image(FilePlaces(engine.files), found) == IMAGE


@pytest.mark.parametrize(
    ("url", "timestamp"),
    [
        (URL + "?svg", "2015"),
        (URL + "?nameless", "2015"),
        (URL + "?none", "2015"),
        ("", "2015"),
        (URL, "soon"),
    ],
)
def test_what_is_no_image(engine: Engine, url: str, timestamp: str) -> None:
    assert find_image(engine, url, timestamp) is None


def test_images_that_cannot_be_read(engine: Engine, tmp_path: Path) -> None:
    places = FilePlaces(engine.files)
    coded = find_image(engine, URL + "?coded", "2015")
    assert coded is not None
    stored = len(gzip.compress(IMAGE)) + 200
    with pytest.raises(FormatError, match="more than" if stored < len(IMAGE) else "are read"):
        read_image(places, coded, min(stored, len(IMAGE) - 1))
    (tmp_path / "a.warc.gz").unlink()
    with pytest.raises(SourceError):
        read_image(places, coded)
