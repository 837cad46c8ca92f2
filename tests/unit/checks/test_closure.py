"""Files that revisits need: named by a WACZ, found in the archive, or missing."""

import json
import zipfile
from pathlib import Path
from typing import Any

import pytest

import nwx
from nwx.errors import UsageError
from nwx.exports import PackOptions, WaczSelection
from tests.warcs import Page, html, write_warc

BODY = html("page", "slate")
FIRST = Page("http://a.example/", "20240101000000", BODY)
AGAIN = Page("http://a.example/", "20250101000000", BODY, revisit=True)


def wacz(path: Path, requires: object, *pages: Page) -> Path:
    """Write a WACZ of some pages, with what it requires."""
    warc = write_warc(path.with_suffix(".warc.gz"), pages)
    with zipfile.ZipFile(path, "w") as file:
        file.write(warc, "archive/data.warc.gz")
        package = {"resources": [], "relation": {"requires": requires}}
        file.writestr("datapackage.json", json.dumps(package))
    warc.unlink()
    return path


def test_a_required_file_is_missing_until_it_is_imported(tmp_path: Path) -> None:
    told = {"filename": "first.wacz", "hash": "sha256:00", "size": 5, "crawlId": "one"}
    again = wacz(tmp_path / "again.wacz", [told], AGAIN)
    with nwx.open(tmp_path / "archive") as archive:
        archive.import_(again)
        (missing,) = archive.missing_files()
        assert (missing.file, missing.required["filename"], missing.revisits) == (
            *("again.wacz", "first.wacz"),
            1,
        )
        assert [one.kind for one in archive.check()] == ["required"]
        (needed,) = archive.closure(["again.wacz"])
        assert (needed.file, needed.held, needed.needed_by) == ("first.wacz", False, "again.wacz")
        packed = tmp_path / "out.wacz"
        report = archive.export_wacz(packed, WaczSelection(), PackOptions())
        assert report.requires == ["first.wacz"]
        assert requires_of(packed) == [told]

        archive.import_(wacz(tmp_path / "first.wacz", [], FIRST))
        assert archive.missing_files() == []
        (needed,) = archive.closure([str(again)])
        assert (needed.file, needed.held, needed.revisits) == ("first.wacz", True, 1)
        assert needed.path == str(tmp_path / "first.wacz")
        assert archive.closure(["first.wacz"]) == []
        assert archive.export_wacz(packed, WaczSelection(), PackOptions()).requires == []
        later = WaczSelection(date_from="20250101000000", with_originals=False)
        archive.export_wacz(packed, later, PackOptions())
        (entry,) = requires_of(packed)
        assert entry["filename"] == "first.wacz"
        assert entry["size"] == (tmp_path / "first.wacz").stat().st_size
        with pytest.raises(UsageError, match=r"no file x\.wacz"):
            archive.closure(["x.wacz"])


def requires_of(path: Path) -> Any:
    """Return what a WACZ requires."""
    with zipfile.ZipFile(path) as file:
        return json.loads(file.read("datapackage.json"))["relation"]["requires"]


@pytest.mark.parametrize("requires", [5, [5], [{"filename": 5}], [{"filename": "x" * 500}]])
def test_what_is_no_list_of_files_is_told(tmp_path: Path, requires: object) -> None:
    with nwx.open(tmp_path / "archive") as archive:
        report = archive.import_(wacz(tmp_path / "a.wacz", requires, FIRST))
        assert any("relation.requires" in one.message for one in report.errors)
        assert archive.missing_files() == []
