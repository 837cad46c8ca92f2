"""nwx export wat and wet from the command line."""

import gzip
import hashlib
import io
import json
from pathlib import Path
from typing import Any

import duckdb
from PIL import Image
from pyarrow import parquet
from warcio.archiveiterator import ArchiveIterator

from nwx.exports.derivatives import DERIVATIVES
from tests.cli.conftest import Nwx
from tests.warc_records import http_response, warc_bytes, write_records

REQUEST = b"GET / HTTP/1.1\r\nHost: a.example\r\n\r\n"


def exchange(name: str, body: str) -> list[bytes]:
    """Return the records of a request and its response."""
    url = f"http://a.example/{name}"
    message = "application/http; msgtype=request"
    page = http_response(body.encode())
    return [
        warc_bytes("request", REQUEST, id=f"{name}-q", url=url, content_type=message),
        warc_bytes("response", page, id=name, url=url, WARC_Concurrent_To=f"<urn:x:{name}-q>"),
    ]


def records_of(path: Path) -> list[tuple[str, str, bytes]]:
    """Return type, URL and block of the records in a file, read by warcio."""
    with path.open("rb") as stream:
        return [
            (
                one.rec_type,
                one.rec_headers.get_header("WARC-Target-URI") or "",
                one.content_stream().read(),
            )
            for one in ArchiveIterator(stream, check_digests="raise")
        ]


SHUT = "<html lang=fr><p>Les secrets de la carrière sont dans les livres de la bibliothèque."


def file_of(tmp_path: Path) -> Path:
    records = exchange("open", "<title>Slate</title><p>quarry") + exchange("shut", SHUT)
    return write_records(tmp_path / "a.warc.gz", records)


def test_files_without_an_archive(nwx: Nwx, tmp_path: Path) -> None:
    path, out = file_of(tmp_path), tmp_path / "out"
    report: dict[str, Any] = nwx("export", "wat", out, path, "--json").json
    assert (report["files"], report["records"], report["written"]) == (1, 4, 4)
    found = records_of(out / "a.warc.wat.gz")
    assert [kind for kind, _, _ in found] == ["warcinfo"] + ["metadata"] * 4
    assert json.loads(found[2][2])["Envelope"]["Format"] == "WARC/1.0"
    again = nwx("export", "wat", out, path, "--json").json
    assert (again["files"], again["present"]) == (0, 1)
    assert "files in another format" in nwx("export", "wet", out, path, code=1).err
    nwx("export", "wet", tmp_path / "texts", path)
    texts = records_of(tmp_path / "texts" / "a.warc.wet.gz")
    assert texts[1] == ("conversion", "http://a.example/open", b"Slate\nquarry")
    packed = (tmp_path / "texts" / "a.warc.wet.gz").read_bytes()
    assert b"WARC-Identified-Content-Language: fra\r\n" in gzip.decompress(packed)


def test_hidden_captures_are_left_out_with_their_requests(nwx: Nwx, tmp_path: Path) -> None:
    nwx("import", file_of(tmp_path))
    nwx("access", "add", "exclude", "http://a.example/shut", "--reason", "x")
    report = nwx("export", "wat", tmp_path / "out", "--json").json
    assert (report["records"], report["hidden"]) == (2, 2)
    found = records_of(tmp_path / "out" / "a.warc.wat.gz")
    assert {url for _, url, _ in found} == {"", "http://a.example/open"}
    nwx("access", "add", "exclude", "http://a.example/open", "--reason", "x")
    assert "other access rules" in nwx("export", "wat", tmp_path / "out", code=1).err
    whole = nwx("--unrestricted", "export", "wet", tmp_path / "whole", "--json").json
    assert (whole["written"], whole["hidden"]) == (2, 0)


def test_derivatives_name_no_link_to_a_hidden_url(nwx: Nwx, tmp_path: Path) -> None:
    links = '<a href="shut">s</a><a href="/other">o</a><img src=shut><img src=i.png>'
    nwx(
        "import", write_records(tmp_path / "a.warc.gz", exchange("o", links) + exchange("shut", ""))
    )
    nwx("access", "add", "exclude", "http://a.example/shut", "--reason", "x")
    report = nwx("export", "derivatives", tmp_path / "out", "--json").json
    tables = {one: tmp_path / "out" / "csv" / f"{one}.csv" for one in DERIVATIVES}
    assert not [one for one, path in tables.items() if "shut" in path.read_text("utf-8")]
    rows = {one: path.read_text("utf-8").count("\n") - 1 for one, path in tables.items()}
    assert (rows["web-graph"], rows["image-graph"]) == (1, 1)
    assert report["written"] == sum(rows.values())


def test_derivatives_are_read_by_others(nwx: Nwx, tmp_path: Path) -> None:
    picture = io.BytesIO()
    Image.new("RGB", (3, 2)).save(picture, "PNG")
    image, table = picture.getvalue(), b"a,b\n1,2\n"
    link = (
        b"<html lang=en><title>Page not found</title><p>Page not found"
        b' <a href="/x">there</a><img src=i.png alt=A>'
    )
    found = {"page": (link, "text/html"), "i.png": (image, "text/plain")}
    found |= {"t.csv": (table, "text/csv"), "n.txt": (b"=note", "text/plain")}
    records = [
        warc_bytes("response", http_response(*given), id=name, url=f"http://www.a.example/{name}")
        for name, given in found.items()
    ]
    out = tmp_path / "out"
    path = write_records(tmp_path / "a.warc.gz", records)
    ran = nwx("export", "derivatives", out, path)
    assert "6 rows of 4 records in 1 file" in ran.out
    assert "error" not in ran.out and "page: soft 404" not in ran.err
    names = {one.stem for one in (out / "csv").iterdir()}
    assert (
        names
        == {"domain-frequency", *DERIVATIVES}
        == {one.name for one in (out / "parquet").iterdir()}
    )
    for name, columns in DERIVATIVES.items():
        by_arrow = parquet.read_table(out / "parquet" / name)
        assert by_arrow.column_names == list(columns)
        with duckdb.connect() as base:
            rows = base.read_csv(str(out / "csv" / f"{name}.csv"), header=True, all_varchar=True)
            assert rows.columns == list(columns)
            assert len(rows.fetchall()) == by_arrow.num_rows
    domains = parquet.read_table(out / "parquet" / "domain-frequency").to_pylist()
    assert domains == [{"domain": "a.example", "count": 4}]
    (measured,) = parquet.read_table(out / "parquet" / "image-information").to_pylist()
    assert (measured["width"], measured["height"], measured["size"]) == (3, 2, len(image))
    assert measured["mime_type_tika"] == "image/png"
    assert measured["md5"] == hashlib.md5(image).hexdigest()
    assert measured["sha1"] == hashlib.sha1(image).hexdigest()
    (sheet,) = parquet.read_table(out / "parquet" / "spreadsheet-information").to_pylist()
    assert (sheet["filename"], sheet["extension"]) == ("t.csv", "csv")
    (edge,) = parquet.read_table(out / "parquet" / "web-graph").to_pylist()
    assert (edge["dest"], edge["anchor"]) == ("http://www.a.example/x", "there")
    again = nwx("export", "derivatives", out, path, code=1)
    assert "already exists" in again.err


def test_damage_is_counted_and_reported(nwx: Nwx, tmp_path: Path) -> None:
    path = file_of(tmp_path)
    path.write_bytes(path.read_bytes()[:-20])
    shown = nwx("export", "wet", tmp_path / "out", path)
    assert "a.warc.gz at " in shown.err
    assert ": the gzip member is cut off" in shown.err
    assert "1 error" in shown.out
    assert not list((tmp_path / "out").glob(".*"))
    missing = nwx("export", "wet", tmp_path / "none", tmp_path / "no.warc.gz", code=1)
    assert "cannot be opened" in missing.err
    (tmp_path / "text.warc.gz").write_bytes(b"no records")
    nothing = nwx("export", "wat", tmp_path / "nothing", tmp_path / "text.warc.gz", code=1)
    assert "text.warc.gz at 0: " in nothing.err
