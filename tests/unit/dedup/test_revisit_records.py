"""Stored records made into revisit records."""

import gzip
from io import BytesIO
from pathlib import Path

import pytest
from warcio.archiveiterator import ArchiveIterator
from warcio.recordloader import ArcWarcRecord
from warcio.statusandheaders import StatusAndHeaders
from warcio.warcwriter import WARCWriter

from nwx.dedup.revisit_records import (
    Original,
    location_of,
    prove,
    replayed_captures,
    revisit_record,
)
from nwx.errors import FormatError
from nwx.warc.sources import ArchiveSource
from tests.warcs import Page, html, write_warc

ORIGINAL = Original("http://example.org/first", "20200102030405", "<urn:uuid:1>")
DIGEST = "sha1:HJG5ZWG3MQQKHIN43BXJY3FUWP7WTU43"


def stored(kind: str = "response", *, compressed: bool = True) -> bytes:
    out, payload = BytesIO(), b"<p>hello</p>" * 100
    writer = WARCWriter(out, gzip=compressed, warc_version="WARC/1.0")
    head = StatusAndHeaders("200 OK", [("Content-Type", "text/html"), ("X-A", "b")], "HTTP/1.1")
    writer.write_record(
        writer.create_warc_record(
            "http://example.org/second",
            kind,
            payload=BytesIO(payload),
            length=len(payload),
            http_headers=head if kind == "response" else None,
            warc_headers_dict={
                "WARC-Date": "2021-02-03T04:05:06Z",
                "WARC-Record-ID": "<urn:uuid:2>",
                "WARC-IP-Address": "192.0.2.7",
                "WARC-Truncated": "length",
            },
        )
    )
    return out.getvalue()


def read(data: bytes) -> ArcWarcRecord:
    records = list(ArchiveIterator(BytesIO(data)))
    assert len(records) == 1
    return records[0]


@pytest.mark.parametrize("compressed", [True, False])
def test_a_response_becomes_a_revisit_stored_the_same_way(compressed: bool) -> None:
    made = revisit_record(BytesIO(stored(compressed=compressed)), DIGEST, ORIGINAL)
    assert made.startswith(b"\x1f\x8b") is compressed
    plain = gzip.decompress(made) if compressed else made
    assert plain.startswith(b"WARC/1.1\r\n")
    record = read(made)
    fields = {name.lower(): value for name, value in record.rec_headers.headers}
    assert fields["warc-type"] == "revisit"
    assert fields["warc-target-uri"] == "http://example.org/second"
    assert fields["warc-date"] == "2021-02-03T04:05:06Z"
    assert fields["warc-record-id"] == "<urn:uuid:2>"
    assert fields["warc-ip-address"] == "192.0.2.7"
    assert fields["warc-refers-to"] == "<urn:uuid:1>"
    assert fields["warc-refers-to-target-uri"] == "http://example.org/first"
    assert fields["warc-refers-to-date"] == "2020-01-02T03:04:05Z"
    assert fields["warc-payload-digest"] == DIGEST
    assert fields["warc-profile"].endswith("/warc/1.1/revisit/identical-payload-digest")
    assert "warc-truncated" not in fields
    assert record.http_headers.get_header("X-A") == "b"
    assert record.content_stream().read() == b""


def test_a_resource_becomes_a_revisit_without_a_head() -> None:
    record = read(revisit_record(BytesIO(stored("resource")), DIGEST, ORIGINAL))
    assert record.rec_type == "revisit"
    assert record.http_headers is None


@pytest.mark.parametrize(
    "data", [stored("metadata"), b"no record", b"", gzip.compress(b"x", mtime=0)]
)
def test_nothing_else_does(data: bytes) -> None:
    with pytest.raises(FormatError):
        revisit_record(BytesIO(data), DIGEST, ORIGINAL)


FIRST = Page("http://a.example/", "20200101000000", html("Home", "text"))
SECOND = Page("http://a.example/", "20210101000000", html("Home", "text"))
OTHER = Page("http://a.example/", "20210101000000", html("Home", "other"))


def source(path: Path, *pages: Page) -> ArchiveSource:
    written = write_warc(path, list(pages))
    return ArchiveSource(written.name, str(written), written.stat().st_size)


def test_a_copy_is_proved(tmp_path: Path) -> None:
    old = source(tmp_path / "a.warc.gz", FIRST, SECOND)
    (tmp_path / "b.warc.gz").write_bytes((tmp_path / "a.warc.gz").read_bytes())
    prove(old, tmp_path / "b.warc.gz", lambda *_: None)


@pytest.mark.parametrize("pages", [(FIRST,), (FIRST, OTHER), (SECOND, FIRST)])
def test_other_captures_are_no_proof(tmp_path: Path, pages: tuple[Page, ...]) -> None:
    old = source(tmp_path / "a.warc.gz", FIRST, SECOND)
    new = source(tmp_path / "b.warc.gz", *pages)
    with pytest.raises(FormatError, match="the capture at"):
        prove(old, Path(new.path), lambda *_: None)


def test_captures_are_located_in_their_file(tmp_path: Path) -> None:
    old = source(tmp_path / "a.warc.gz", FIRST, SECOND)
    first, second = replayed_captures(old)
    place = location_of(old.path, second)
    assert (place.path, place.url, place.timestamp) == (old.path, SECOND.url, "20210101000000")
    assert place.offset > first.source_file_offset
