"""Messages of nwx import about unreadable data, and their record in nwx files."""

import json
import os
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Nwx, run_nwx
from tests.unit.engine.search_server.fake_server import refusal, serving
from tests.warcs import Page, html, many_pages, write_warc


def _files(nwx: Nwx) -> dict[str, Any]:
    return {file["name"]: file for file in nwx("files", "--json").json_lines}


def _wacz(path: Path, entries: Mapping[str, bytes]) -> Path:
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in entries.items():
            archive.writestr(name, data)
    return path


@pytest.mark.parametrize("what", ["an empty folder", "a folder that is not there", "a pipe"])
def test_where_no_archive_file_is_named_the_exit_code_is_1_and_no_archive_is_made(
    nwx: Nwx, tmp_path: Path, what: str
) -> None:
    path = tmp_path / "named.warc.gz"
    if what == "an empty folder":
        path.mkdir()
    elif what == "a pipe":
        os.mkfifo(path)
    ran = nwx("import", path, code=1)
    assert str(path) in ran.err
    assert "0 files" in ran.out
    assert not (tmp_path / "archive").exists()
    assert "no archive at" in nwx("files", code=1).err


def test_archives_beside_a_missing_one_are_named(nwx: Nwx, tmp_path: Path) -> None:
    (tmp_path / "demo").mkdir()
    (tmp_path / "demo/nwx.json").write_text("{}")
    told = nwx("files", code=1).err
    assert f"{tmp_path / 'archive'} is not an archive" in told
    assert f"there is one at {tmp_path / 'demo'}: nwx --engine {tmp_path / 'demo'} …" in told


def test_files_shows_as_many_errors_as_import_reports(nwx: Nwx, tmp_path: Path) -> None:
    folder = tmp_path / "files"
    folder.mkdir()
    bad = Page("http://a.example/x.pdf", "20150101000000", b"%PDF-nothing", "application/pdf")
    good = write_warc(folder / "good.warc.gz", [*many_pages(3), bad])
    good.write_bytes(good.read_bytes() + b"garbage")
    (folder / "noise.warc.gz").write_bytes(b"noise" * 100)
    (folder / "noise.wacz").write_bytes(b"noise" * 100)
    _wacz(folder / "none.wacz", {"datapackage.json": b"{}"})
    told = {"resources": [{"path": "archive/a.warc.gz", "hash": "sha256:" + 64 * "0"}]}
    _wacz(
        folder / "told.wacz",
        {
            "datapackage.json": json.dumps(told).encode(),
            "archive/a.warc.gz": write_warc(tmp_path / "a.warc.gz", many_pages(2)).read_bytes(),
            "archive/../b.warc.gz": b"",
        },
    )
    report = nwx("import", folder, "--json").json
    files = _files(nwx)
    assert {name: file["counts"]["errors"] for name, file in files.items()} == {
        "good.warc.gz": 2,
        "noise.warc.gz": 1,
        "noise.wacz": 1,
        "none.wacz": 1,
        "told.wacz#archive/../b.warc.gz": 1,
        "told.wacz#archive/a.warc.gz": 1,
    }
    assert report["errors_total"] == 7
    assert report["outcomes"] == {"imported": 2, "unreadable": 4}
    assert report["files"] == 6
    assert report["errors_by_kind"]["digest"] == 1
    shown = nwx("files").out.splitlines()
    for name in ("noise.warc.gz", "noise.wacz", "none.wacz"):
        assert any(name in line and "unreadable" in line for line in shown)
    again = nwx("import", folder, "--json").json
    assert again["outcomes"] == {"skipped": 2, "unreadable": 4}
    assert _files(nwx) == files
    assert nwx("import", folder, "--strict", code=1)
    nwx("check")


def test_a_file_that_could_not_be_read_gives_way_to_a_good_one(nwx: Nwx, tmp_path: Path) -> None:
    folder = tmp_path / "files"
    folder.mkdir()
    (folder / "a.warc.gz").write_bytes(b"noise")
    (folder / "b.wacz").write_bytes(b"noise")
    assert nwx("import", folder, code=1)
    assert set(_files(nwx)) == {"a.warc.gz", "b.wacz"}
    write_warc(folder / "a.warc.gz", many_pages(3))
    _wacz(folder / "b.wacz", {"archive/a.warc.gz": (folder / "a.warc.gz").read_bytes()})
    report = nwx("import", folder, "--json").json
    assert report["errors"] == []
    files = _files(nwx)
    assert set(files) == {"a.warc.gz", "b.wacz#archive/a.warc.gz"}
    assert all(file["finished"] for file in files.values())


def test_a_wrong_digest_in_a_wacz_fails_with_strict(nwx: Nwx, tmp_path: Path) -> None:
    warc = write_warc(tmp_path / "a.warc.gz", [Page("http://a.example/", "2015", html("A", "a"))])
    told = {"resources": [{"path": "archive/a.warc.gz", "hash": "sha256:" + 64 * "0"}]}
    path = _wacz(
        tmp_path / "x.wacz",
        {"datapackage.json": json.dumps(told).encode(), "archive/a.warc.gz": warc.read_bytes()},
    )
    assert "datapackage.json says sha256:0000" in nwx("import", "--strict", path, code=1).err
    assert "datapackage.json says sha256:0000" in nwx("cdx", path, code=None).err


def test_the_text_of_a_wacz_in_a_wacz_is_found_and_packed(nwx: Nwx, tmp_path: Path) -> None:
    warc = write_warc(tmp_path / "a.warc.gz", many_pages(3)).read_bytes()
    inner = _wacz(tmp_path / "inner.wacz", {"archive/a.warc.gz": warc}).read_bytes()
    told = {"profile": "multi-wacz-package", "resources": [{"path": "crawl.wacz"}]}
    outer = {"datapackage.json": json.dumps(told).encode(), "crawl.wacz": inner}
    report = nwx("import", _wacz(tmp_path / "outer.wacz", outer), "--json", "--strict").json
    assert (report["captures"], report["errors"]) == (4, [])
    assert list(_files(nwx)) == ["outer.wacz#crawl.wacz#archive/a.warc.gz"]
    packed = nwx("wacz", tmp_path / "all.wacz", "--json").json
    assert packed["captures"] == 4


def test_a_refusal_of_the_server_is_shown_with_how_to_resume(warc: Path) -> None:
    answer = refusal("illegal_argument_exception", "another mapping")
    with serving(lambda *_: (400, answer)) as (fake, _):
        failed = run_nwx(f"http://{fake.address}", "import", warc, code=1)
    assert "illegal_argument_exception: another mapping; what was imported so far" in failed.err
    assert "Traceback" not in failed.err
