"""Records copied into a gzip-compressed WARC."""

import gzip
import hashlib
import io
import json
import zipfile
from datetime import UTC, datetime
from pathlib import Path

import pytest

from nwx.errors import FormatError
from nwx.exports.wacz_records import WaczWriter, copied_record, new_record
from nwx.model import Capture
from nwx.warc.sources import ArchiveSource
from tests.conformance.archive import capture
from tests.unit.warc.stored_files import http, warc


def test_every_file_is_listed_with_its_checksum() -> None:
    stream = io.BytesIO()
    writer = WaczWriter(stream, datetime(2020, 1, 2, 3, 4, 6, tzinfo=UTC))
    with writer.entry("archive/data.warc.gz") as entry:
        places = [entry.write(b"one"), entry.write(b"three")]
    with writer.entry("pages/pages.jsonl", deflated=True) as entry:
        entry.write(b"{}")
    writer.finish({"title": "A title", "description": ""})

    assert places == [0, 3]
    with zipfile.ZipFile(stream) as archive:
        assert archive.testzip() is None
        assert archive.getinfo("archive/data.warc.gz").compress_type == zipfile.ZIP_STORED
        package = json.loads(archive.read("datapackage.json"))
        digest = json.loads(archive.read("datapackage-digest.json"))
        found = {one["path"]: one["hash"] for one in package["resources"]}
        for path, checksum in found.items():
            assert checksum == f"sha256:{hashlib.sha256(archive.read(path)).hexdigest()}"
        written = hashlib.sha256(archive.read("datapackage.json")).hexdigest()
    assert set(found) == {"archive/data.warc.gz", "pages/pages.jsonl"}
    assert digest["hash"] == f"sha256:{written}"
    assert (package["title"], "description" in package) == ("A title", False)
    assert package["created"] == "2020-01-02T03:04:06Z"


def test_closing_twice_is_harmless() -> None:
    writer = WaczWriter(io.BytesIO(), datetime(2020, 1, 1, tzinfo=UTC))
    writer.close()
    writer.close()


RECORD = warc(http(b"<p>stone</p>"))
OTHER = warc(http(b"<p>grass</p>"), url="http://b.example/")


def _copied(path: Path, data: bytes, held: Capture) -> bytes:
    path.write_bytes(data)
    source = ArchiveSource(path.name, str(path), len(data))
    with source.open() as handle:
        return b"".join(copied_record(source, handle, held))


def _at(offset: int, length: int | None) -> Capture:
    return capture("http://www.example.org/", offset=offset, length=length and 3 * length)


def test_a_member_of_one_record_is_copied_as_it_is(tmp_path: Path) -> None:
    first, second = (gzip.compress(record, mtime=0) for record in (OTHER, RECORD))
    found = _copied(tmp_path / "a.warc.gz", first + second, _at(len(first), len(second)))
    assert found == second


def test_a_plain_record_is_compressed(tmp_path: Path) -> None:
    found = _copied(tmp_path / "a.warc", OTHER + RECORD, _at(len(OTHER), len(RECORD)))
    assert gzip.decompress(found) == RECORD


def test_an_arc_record_becomes_a_warc_record(tmp_path: Path) -> None:
    block = http(b"<p>stone</p>")
    head = b"http://www.example.org/ 1.2.3.4 20100101000000 text/html %d\n" % len(block)
    about = b"1 0 Test\nURL IP-address Archive-date Content-type Archive-length\n"
    filedesc = b"filedesc://a.arc 0.0.0.0 20100101000000 text/plain %d\n%b\n" % (len(about), about)
    data = filedesc + head + block + b"\n"
    found = gzip.decompress(_copied(tmp_path / "a.arc", data, _at(len(filedesc), None)))
    lines = found.partition(b"\r\n\r\n")[0].split(b"\r\n")
    assert lines[:2] == [b"WARC/1.1", b"WARC-Type: response"]
    assert b"WARC-Target-URI: http://www.example.org/" in lines
    assert b"WARC-Date: 2010-01-01T00:00:00Z" in lines
    assert b"Content-Type: application/http; msgtype=response" in lines
    assert found.endswith(b"\r\n\r\n" + block + b"\r\n\r\n")


def test_an_arc_record_without_a_head_of_http_becomes_a_resource(tmp_path: Path) -> None:
    head = b"http://www.example.org/ 1.2.3.4 20100101000000 image/gif 3\n"
    held = _at(0, None)._replace(content_type="image/gif")
    found = gzip.decompress(_copied(tmp_path / "a.arc", head + b"GIF\n", held))
    lines = found.partition(b"\r\n\r\n")[0].split(b"\r\n")
    assert lines[:2] == [b"WARC/1.1", b"WARC-Type: resource"]
    assert b"Content-Type: image/gif" in lines
    assert found.endswith(b"\r\n\r\nGIF\r\n\r\n")


def test_a_place_without_a_record_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(FormatError):
        _copied(tmp_path / "a.warc", RECORD, _at(len(RECORD), None))


def test_a_record_that_is_cut_off_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(FormatError):
        _copied(tmp_path / "a.warc", RECORD[:-20], _at(0, len(RECORD)))


def test_a_new_record_has_its_fields_and_no_breaks_in_them() -> None:
    made = gzip.decompress(new_record("warcinfo", {"Note": "a\r\nb", "None": ""}, b"block"))
    head, _, rest = made.partition(b"\r\n\r\n")
    assert b"Note: a b" in head.split(b"\r\n")
    assert b"None:" not in head
    assert head.endswith(b"Content-Length: 5")
    assert rest == b"block\r\n\r\n"
