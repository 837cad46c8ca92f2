"""Stored records, read back at the offsets that the reader reports."""

import gzip
import io
import zipfile
from pathlib import Path

import pytest
import zstandard

from nwx.errors import SourceError
from nwx.warc.reader import ArchiveReader, CaptureRecord
from nwx.warc.sources import ArchiveSource
from webapp.replay.stored_records import open_record, stored_address


def record(url: str, body: bytes) -> bytes:
    """Return a WARC response record."""
    block = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n" + body
    head = (
        f"WARC/1.0\r\nWARC-Type: response\r\nWARC-Target-URI: {url}\r\n"
        f"WARC-Date: 2014-01-26T20:06:24Z\r\nWARC-Record-ID: <urn:x:{url}>\r\n"
        f"Content-Type: application/http; msgtype=response\r\nContent-Length: {len(block)}\r\n\r\n"
    )
    return head.encode() + block + b"\r\n\r\n"


RECORDS = [record(f"http://a.example/{n}", f"<p>page {n}</p>".encode() * 2_000) for n in range(5)]
INNER = "archive/inner.warc.gz"


def _wacz(inner: bytes, method: int) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", method) as archive:
        archive.writestr("datapackage.json", "{}" * 100)
        archive.writestr(INNER, inner)
    return packed.getvalue()


def _files() -> dict[str, tuple[bytes, str]]:
    compressor = zstandard.ZstdCompressor()
    members = b"".join(map(gzip.compress, RECORDS))
    return {
        "plain.warc": (b"".join(RECORDS), ""),
        "members.warc.gz": (members, ""),
        "one-member.warc.gz": (gzip.compress(b"".join(RECORDS), mtime=0), ""),
        "frames.warc.zst": (b"".join(map(compressor.compress, RECORDS)), ""),
        "stored.wacz": (_wacz(members, zipfile.ZIP_STORED), INNER),
        "deflated.wacz": (_wacz(members, zipfile.ZIP_DEFLATED), INNER),
    }


@pytest.mark.parametrize("name", _files())
def test_every_record_is_found_in_every_kind_of_file(tmp_path: Path, name: str) -> None:
    content, member = _files()[name]
    path = tmp_path / f"odd name, 100% \u00e9#?{name}"
    path.write_bytes(content)
    found = list(ArchiveReader(ArchiveSource(name, str(path), None, member), "default"))
    captures = [each.capture for each in found if isinstance(each, CaptureRecord)]
    assert len(captures) == len(RECORDS)
    address = stored_address(str(path), member)
    for capture, expected in zip(captures, RECORDS, strict=True):
        with open_record(address, capture.source_file_offset) as stream:
            assert stream.read(len(expected)) == expected


def test_records_that_share_members_with_others_are_found_or_refused(tmp_path: Path) -> None:
    """The reader invents increasing offsets for such records, which cannot be read back."""
    path = tmp_path / "pairs.warc.gz"
    path.write_bytes(
        gzip.compress(b"".join(RECORDS[:2]), mtime=0)
        + gzip.compress(b"".join(RECORDS[2:]), mtime=0)
    )
    found = list(ArchiveReader(ArchiveSource(path.name, str(path), None), "default"))
    offsets = [each.capture.source_file_offset for each in found if isinstance(each, CaptureRecord)]
    address = stored_address(str(path), "")
    for offset, expected in zip(offsets[:2], RECORDS, strict=False):
        with open_record(address, offset) as stream:
            assert stream.read(len(expected)) == expected
    with pytest.raises(SourceError, match="hold several records"):
        open_record(address, offsets[2])


@pytest.mark.parametrize("offset", [7, 10**9])
@pytest.mark.parametrize("name", ["plain.warc", "members.warc.gz", "frames.warc.zst"])
def test_an_offset_without_a_record_is_told(tmp_path: Path, name: str, offset: int) -> None:
    path = tmp_path / name
    path.write_bytes(_files()[name][0])
    with pytest.raises(SourceError, match="has no record at"):
        open_record(stored_address(str(path), ""), offset)


def test_a_file_that_is_gone_is_told(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="cannot be opened"):
        open_record(stored_address(str(tmp_path / "gone.warc"), ""), 0)


def test_a_member_that_is_gone_is_told(tmp_path: Path) -> None:
    path = tmp_path / "a.wacz"
    path.write_bytes(_wacz(b"", zipfile.ZIP_STORED))
    with pytest.raises(SourceError, match="cannot be read from its WACZ"):
        open_record(stored_address(str(path), "archive/other.warc.gz"), 0)
