"""nwx check --cdx: missing captures, with reasons."""

from pathlib import Path
from typing import Any

import pytest

from nwx.engine.base import open_engine
from nwx.keys import document_id, document_key
from nwx.model import IndexName
from nwx.settings import Settings
from tests.cli.conftest import Nwx, run_nwx
from tests.warcs import Page, html, many_pages, warc_record, write_warc

URL = "http://www.example.org/"
A, B, LOST = (html(name, f"the {name} text") for name in ("first", "second", "lost"))
PAGES = [
    Page(URL, "20200101000000", A),
    Page(URL, "20210101000000", A),
    Page(URL, "20220101000000", B),
    Page(f"{URL}r", "20230101000000", LOST, revisit=True),
]


@pytest.fixture
def warc(tmp_path: Path) -> Path:
    return write_warc(tmp_path / "crawl.warc.gz", PAGES)


def cdx_of(file: Path, *options: str) -> Path:
    path = file.with_suffix(".cdx")
    run_nwx("none", "cdx", *options, "-o", path, file)
    return path


def compared(nwx: Nwx, *options: object, code: int = 1) -> dict[str, Any]:
    return nwx("check", *options, "--json", code=code).json  # type: ignore[no-any-return]


@pytest.mark.parametrize("form", [(), ("--cdxj",), ("--fields", "9")])
def test_what_was_imported_is_held(nwx: Nwx, tmp_path: Path, form: tuple[str, ...]) -> None:
    file = write_warc(tmp_path / "many.warc.gz", many_pages(1_100))
    nwx("import", file)
    ran = nwx("check", "--cdx", cdx_of(file, *form))
    assert ran.out == "1,467 captures in the CDX, 1,467 held, 0 missing\n"


def test_real_files_are_held_as_other_tools_index_them(nwx: Nwx, shared_data: Path) -> None:
    names = ["20130729-heritrix-original.warc.gz", "20141129-heritrix-original.warc.gz"]
    nwx("import", *(shared_data / "warc" / name for name in names))
    for folder in ("pywb-cdx11", "pywb-cdx9", "cdxj-indexer"):
        for name in names:
            found = list((shared_data / "golden" / folder / "warc").glob(f"{name}*"))
            assert found
            nwx("check", "--cdx", found[0])


def test_a_file_that_was_not_imported(nwx: Nwx, tmp_path: Path, warc: Path) -> None:
    nwx("import", warc)
    other = write_warc(tmp_path / "other.warc.gz", [*PAGES[:1], Page(URL, "20250101000000", A)])
    report = compared(nwx, "--cdx", cdx_of(other), "--cdx", cdx_of(warc), code=1)
    assert report["missing"] == {"not-imported": 1, "original": 1}
    assert (report["lines"], report["held"]) == (6, 4)
    [first] = [one for one in report["first"] if one["cause"] == "not-imported"]
    assert first["timestamp"] == "20250101000000"
    assert first["message"] == (
        "other.warc.gz is not in the archive; its document is in the archive, with another date"
    )


def test_captures_on_a_list_are_missing_on_purpose(nwx: Nwx, tmp_path: Path, warc: Path) -> None:
    listed = tmp_path / "list"
    listed.write_text("".join(f"{p.timestamp} {p.digest} {p.url}\n" for p in PAGES[1:]))
    nwx("import", "-e", listed, warc)
    cdx = cdx_of(warc)
    for lists in ((), ("-e", listed)):
        report = compared(nwx, "--cdx", cdx, *lists, code=0 if lists else 1)
        # the second one has its document and date, the others only the date
        assert report["held"] == 2
        expected = {"excluded": 2} if lists else {"excluded": 1, "original": 1}
        assert report["missing"] == expected


def test_a_revisit_of_another_url_is_held_with_it(nwx: Nwx, tmp_path: Path) -> None:
    revisit = warc_record(Page(f"{URL}r", "20230101000000", A, revisit=True))
    refers = f"WARC-Refers-To-Target-URI: {URL}\r\nWARC-Profile".encode()
    file = tmp_path / "crawl.warc"
    file.write_bytes(revisit.replace(b"WARC-Profile", refers))
    nwx("import", file)
    assert compared(nwx, "--cdx", cdx_of(file))["missing"] == {"original": 1}
    nwx("import", write_warc(tmp_path / "original.warc.gz", PAGES[:1]))
    assert compared(nwx, "--cdx", cdx_of(file), code=0)["held"] == 1


def test_records_that_could_not_be_read(nwx: Nwx, tmp_path: Path, warc: Path) -> None:
    cdx = cdx_of(warc)
    offset = next(
        int(line.split()[9]) for line in cdx.read_text().splitlines() if " 20220101" in line
    )
    data = bytearray(warc.read_bytes())
    data[offset : offset + 40] = b"\xff" * 40
    warc.write_bytes(bytes(data))
    nwx("import", warc)
    out = nwx("check", "--cdx", cdx, code=1).out
    assert f"unread: 20220101000000 {PAGES[2].digest} {URL}: crawl.warc.gz was read" in out
    assert "has no such capture, but 1 error" in out


def test_another_digest_at_the_same_moment(nwx: Nwx, warc: Path, tmp_path: Path) -> None:
    nwx("import", warc)
    cdx = tmp_path / "x.cdx"
    cdx.write_text(f"org,example)/ 20200101000000 {URL} text/html 200 {'C' * 32} - - 5 5 -\n")
    report = compared(nwx, "--cdx", cdx)
    assert report["missing"] == {"digest": 1}
    assert report["first"][0]["message"] == f"the archive has {PAGES[0].digest} at that time"


def test_lines_without_digest_and_with_other_spellings_are_found(
    nwx: Nwx, warc: Path, tmp_path: Path
) -> None:
    nwx("import", warc)
    cdx = tmp_path / "x.cdx"
    lines = [
        f"org,example)/ 20200101000000 {URL} text/html 200 - - - 5 5 crawl.warc.gz",
        f"org,example)/ 20200101000000 http://EXAMPLE.org:80/ - - {PAGES[0].digest} - - 5 5 x",
        f"org,example)/ 20200101000000 {URL} - - {'0' * 64} - - 5 5 crawl.warc.gz",
    ]
    cdx.write_text("\n".join([*lines[:1], *lines[2:], "broken"]))
    ran = nwx("check", "--cdx", cdx)
    assert "2 captures in the CDX, 2 held, 0 missing; 1 line" in ran.out
    assert f"{cdx}:3: " in ran.err
    assert "not-imported" in nwx("check", "--cdx", "-", stdin=lines[1].encode(), code=1).out
    held = lines[1].replace(" x", " -").encode()
    assert "1 held" in nwx("check", "--cdx", "-", stdin=held).out


def test_dates_and_documents_that_were_lost(nwx: Nwx, warc: Path, tmp_path: Path) -> None:
    nwx("import", warc)
    ids = [document_id(document_key(URL, page.digest)) for page in (PAGES[0], PAGES[2])]
    with open_engine(Settings(str(tmp_path / "archive"))) as engine:
        engine.delete(IndexName.DATES, ids[:1])
        engine.delete(IndexName.DOCUMENTS, ids[1:])
    report = compared(nwx, "--cdx", cdx_of(warc))
    assert report["missing"] == {"undated": 2, "undocumented": 1, "original": 1}


def test_a_collection_of_several(nwx: Nwx, warc: Path) -> None:
    nwx("import", "--collection", "one", warc)
    cdx = cdx_of(warc)
    assert compared(nwx, "--cdx", cdx)["held"] == 3
    assert compared(nwx, "--cdx", cdx, "--collection", "one")["held"] == 3
    assert compared(nwx, "--cdx", cdx, "--collection", "two")["missing"] == {"not-imported": 4}


def test_all_are_named_when_wanted(nwx: Nwx, warc: Path, tmp_path: Path) -> None:
    nwx("import", warc)
    file = write_warc(tmp_path / "many.warc.gz", many_pages(120))
    cdx = cdx_of(file)
    ran = nwx("check", "--cdx", cdx, code=1)
    assert (
        "… and 60 more; --all lists them\n160 captures in the CDX, 0 held, 160 missing" in ran.out
    )
    assert nwx("check", "--all", "--cdx", cdx, code=1).out.count("not-imported: 2") == 160


def test_wrong_use(nwx: Nwx, warc: Path) -> None:
    assert "add --cdx" in nwx("check", "-e", warc, code=2).err
    nwx("import", warc)
    assert "cannot be opened" in nwx("check", "--cdx", "/none/at/all.cdx", code=1).err
