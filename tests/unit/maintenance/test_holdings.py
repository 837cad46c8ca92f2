"""Files that revisits require: listed by a WACZ, found in the archive, or missing."""

import gzip
import json
import re
import zipfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import nwx
from nwx.errors import UsageError
from nwx.exports import PackOptions, WaczSelection
from nwx.maintenance.holdings import stored_name, unmet_requirements
from nwx.model import SourceFile
from tests.warcs import Page, html, write_warc

BODY = html("page", "slate")
FIRST = Page("http://a.example/", "20240101000000", BODY)
AGAIN = Page("http://a.example/", "20250101000000", BODY, revisit=True)


def wacz(path: Path, requires: object, *pages: Page) -> Path:
    """Write a WACZ of some pages with its required files."""
    warc = write_warc(path.with_suffix(".warc.gz"), pages)
    with zipfile.ZipFile(path, "w") as file:
        file.write(warc, "archive/data.warc.gz")
        package = {"resources": [], "relation": {"requires": requires}}
        file.writestr("datapackage.json", json.dumps(package))
    warc.unlink()
    return path


def test_a_required_file_is_missing_until_it_is_imported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
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
        monkeypatch.chdir(tmp_path)
        assert archive.closure([f"../{tmp_path.name}/again.wacz"]) == [needed]
        assert archive.export_wacz(packed, WaczSelection(), PackOptions()).requires == []
        later = WaczSelection(date_from="20250101000000", with_originals=False)
        archive.export_wacz(packed, later, PackOptions())
        (entry,) = requires_of(packed)
        assert entry["filename"] == "first.wacz"
        assert entry["size"] == (tmp_path / "first.wacz").stat().st_size
        with pytest.raises(UsageError, match=r"no file x\.wacz"):
            archive.closure(["x.wacz"])


def requires_of(path: Path) -> Any:
    """Return the required files of a WACZ."""
    with zipfile.ZipFile(path) as file:
        return json.loads(file.read("datapackage.json"))["relation"]["requires"]


def test_revisits_are_counted_by_the_file_they_need(tmp_path: Path) -> None:
    pages = [Page(f"http://a.example/{one}", "20240101000000", html("page", one)) for one in "ab"]
    again = [replace(one, timestamp=AGAIN.timestamp, revisit=True) for one in pages]
    lost = Page("http://a.example/c", "20250101000000", html("page", "lost"), revisit=True)
    own = [lost, replace(lost, url="http://a.example/d")]
    names = ["one.warc.gz", "two.warc.gz", "three.warc.gz"]
    captures = [pages[:1], [pages[1], again[0]], [*again, *own]]
    with nwx.open(tmp_path / "archive") as archive:
        for name, some in zip(names, captures, strict=True):
            archive.import_(write_warc(tmp_path / name, some))
        found = archive.closure(names[2:])
        assert [(one.file, one.held, one.revisits) for one in found] == [
            ("", False, 2),
            ("one.warc.gz", True, 2),
            ("two.warc.gz", True, 1),
        ]
        assert [one.file for one in archive.closure(names[1:2])] == ["one.warc.gz"]


def test_the_original_of_a_revisit_without_a_digest_is_packed(tmp_path: Path) -> None:
    first = write_warc(tmp_path / "first.warc.gz", [FIRST])
    again = write_warc(tmp_path / "again.warc.gz", [AGAIN])
    refers = b"WARC-Refers-To-Target-URI: http://a.example/"
    data = gzip.decompress(again.read_bytes())
    again.write_bytes(re.sub(rb"WARC-Payload-Digest: [^\r]*", refers, data))
    with nwx.open(tmp_path / "archive") as archive:
        archive.import_([first, again])
        (needed,) = archive.closure(["again.warc.gz"])
        assert needed.file == "first.warc.gz"
        later = WaczSelection(date_from="20250101000000")
        packed = archive.export_wacz(tmp_path / "a.wacz", later, PackOptions())
        assert (packed.captures, packed.requires) == (2, [])
        without = WaczSelection(date_from="20250101000000", with_originals=False)
        packed = archive.export_wacz(tmp_path / "b.wacz", without, PackOptions())
        assert (packed.captures, packed.requires) == (1, ["first.warc.gz"])


@pytest.mark.parametrize("requires", [5, [5], [{"filename": 5}], [{"filename": "x" * 500}]])
def test_what_is_no_list_of_files_is_told(tmp_path: Path, requires: object) -> None:
    with nwx.open(tmp_path / "archive") as archive:
        report = archive.import_(wacz(tmp_path / "a.wacz", requires, FIRST))
        assert any("relation.requires" in one.message for one in report.errors)
        assert archive.missing_files() == []


def test_a_requirement_is_met_by_a_file_of_its_name() -> None:
    required = {"filename": "crawls/a.wacz"}, {"filename": "b.wacz"}
    user = SourceFile("one", "c.wacz#archive/c.warc.gz", "", None, "", requires=required)
    held = SourceFile("two", "a.wacz#archive/a.warc.gz", "", None, "")
    assert stored_name(held.name) == "a.wacz"
    assert stored_name("a.warc.gz") == "a.warc.gz"
    assert unmet_requirements([user, held]) == {("one", "c.wacz"): required[1:]}


def test_the_warc_of_an_original_is_named(tmp_path: Path) -> None:
    first = write_warc(tmp_path / "first.warc.gz", [FIRST])
    again = write_warc(tmp_path / "again.warc.gz", [AGAIN])
    out = tmp_path / "out.wacz"
    with nwx.open(tmp_path / "archive") as archive:
        archive.import_([first, again])
        later = WaczSelection(date_from="20250101000000", with_originals=False)
        archive.export_wacz(out, later, PackOptions())
        (one,) = requires_of(out)
        assert (one["filename"], one["size"]) == ("first.warc.gz", first.stat().st_size)
        first.unlink()
        archive.export_wacz(out, later, PackOptions())
        assert requires_of(out) == [{"filename": "first.warc.gz", "crawlId": "default"}]
