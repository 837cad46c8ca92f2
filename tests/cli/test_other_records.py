"""CDX files of all records: request, metadata and warcinfo lines never count as captures."""

from pathlib import Path

import pytest

from tests.cdxlines import ALL_RECORDS, CAPTURED, NOT_CAPTURES
from tests.cli.conftest import Nwx
from tests.warcs import Page, html, warc_record

METADATA = b"".join(
    (
        b"WARC/1.1\r\nWARC-Type: %b\r\nWARC-Record-ID: <urn:uuid:%b>\r\n"
        b"WARC-Target-URI: %b\r\nWARC-Date: 2020-01-01T00:00:00Z\r\n"
        b"Content-Type: %b\r\nContent-Length: 4\r\n\r\nnote\r\n\r\n"
    )
    % fields
    for fields in (
        (b"metadata", b"1", b"<metadata://gnu.org/software/wget/warc/MANIFEST.txt>", b"text/plain"),
        (b"resource", b"2", b"metadata://gnu.org/software/wget/warc/wget.log", b"text/plain"),
        (b"metadata", b"3", b"http://a.example/", b"application/json"),
    )
)


@pytest.fixture
def cdx(tmp_path: Path) -> Path:
    path = tmp_path / "all.cdx"
    path.write_text(ALL_RECORDS)
    return path


def test_savings_and_lists_leave_them_out(nwx: Nwx, cdx: Path) -> None:
    told = nwx("savings", "--json", cdx).json
    assert (told["captures"], told["revisits"]) == (len(CAPTURED) - 1, 1)
    assert (told["lines"], told["not_captures"]) == (len(CAPTURED), NOT_CAPTURES)
    assert f"{NOT_CAPTURES} lines of records that are not captures" in nwx("savings", cdx).out
    ran = nwx("dedup-cdx", "--key", "digest", cdx)
    assert ran.out == f"20200102000000 {'A' * 32} http://a.example/\n"
    assert f"{NOT_CAPTURES} of records that are not captures" in ran.err
    assert len(nwx("revisits", cdx).out.splitlines()) == 1


def test_loading_and_adding_dates_leave_them_out(nwx: Nwx, cdx: Path) -> None:
    told = nwx("cdx-load", "--json", cdx).json
    assert told == {
        "captures": len(CAPTURED),
        "new": len(CAPTURED),
        "not_captures": NOT_CAPTURES,
        "bad_lines": 0,
        "purged": 0,
    }
    told = nwx("add-dates", "--json", cdx).json
    assert (told["lines"], told["not_captures"]) == (len(CAPTURED), NOT_CAPTURES)


def test_what_import_takes_for_no_capture_is_not_missing(nwx: Nwx, tmp_path: Path) -> None:
    page = warc_record(Page("http://a.example/", "20200101000000", html("A", "a")))
    path = tmp_path / "wget.warc"
    path.write_bytes(page + METADATA)
    assert nwx("import", "--json", path).json["captures"] == 1
    nwx("cdx", "-o", tmp_path / "wget.cdx", path)
    told = nwx("check", "--json", "--cdx", tmp_path / "wget.cdx").json
    assert (told["lines"], told["held"], told["not_captures"]) == (1, 1, 3)
    out = nwx("check", "--cdx", tmp_path / "wget.cdx").out
    assert out == (
        "1 capture in the CDX, 1 held, 0 missing; 3 lines of records that are not captures\n"
    )
