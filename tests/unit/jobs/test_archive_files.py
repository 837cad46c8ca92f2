"""Output of jobs for each archive file."""

import shutil
from pathlib import Path

import pyarrow as pa
import pytest

from nwx.archive_cdx import IndexLineForm, IndexOptions, index_beside
from nwx.errors import JobError, UsageError
from nwx.importing.options import ImportOptions
from nwx.jobs.archive_files import (
    DocumentsJobWriter,
    FileTarget,
    IndexWriter,
    documents_targets,
    file_indexes,
    path_below,
)
from nwx.jobs.inputs import ArchiveInputs, archive_inputs
from nwx.jobs.output import JobFolder, PieceReport
from nwx.jobs.pieces import UnreachableError
from nwx.warc.sources import ArchiveSource
from tests.documents_files import write_documents
from tests.unit.jobs.making import read_all
from tests.warcs import many_pages, write_warc


def test_paths_are_kept_below_a_folder_and_lead_nowhere_else() -> None:
    assert path_below("/in/a/b.warc", "/in") == path_below("/in/a/b.warc", "/in/") == "a/b.warc"
    assert path_below("/other/b.warc", "/in") == "other/b.warc"
    assert path_below("s3://bucket/../b.warc", "/in") == "bucket/b.warc"
    assert path_below("/in/../../etc/b.warc", "/in") == "etc/b.warc"


def test_addresses_are_far() -> None:
    for path, is_far in (("s3://bucket/a.warc", True), ("/in/a.warc", False)):
        assert FileTarget(ArchiveSource("a.warc", path, 1), "a.cdx").is_far is is_far


ROOT = Path(__file__).parent.parent.parent.parent
SAMPLE = ROOT / "sample" / "archive"


@pytest.mark.parametrize(
    "options",
    [
        IndexOptions(),
        IndexOptions(IndexLineForm.CDX9, in_order=False),
        IndexOptions(IndexLineForm.CDXJ, post_append=True),
    ],
)
def test_an_index_is_that_of_one_machine(tmp_path: Path, options: IndexOptions) -> None:
    copied = shutil.copytree(SAMPLE, tmp_path / "in")
    torn = (copied / "LANTERN-2010-00000.warc.gz").read_bytes()[:30_000]
    (copied / "torn.warc.gz").write_bytes(torn)
    inputs = archive_inputs([str(copied)])
    report = index_beside(inputs.sources, options)
    indexes = file_indexes(inputs, options.form, append_extension=True)
    writer = IndexWriter(JobFolder(str(tmp_path / "out")), options)
    _, reports = read_all(writer, indexes, pa.schema([("a", pa.int64())]), tmp_path / "reports")
    end = "cdxj" if options.form is IndexLineForm.CDXJ else "cdx"
    expected = {path.name: path.read_bytes() for path in copied.rglob(f"*.{end}")}
    written = {path.name: path.read_bytes() for path in (tmp_path / "out").rglob(f"*.{end}")}
    of_wacz = {name for name in expected if ".wacz." in name}
    assert {name.partition(".wacz.")[2] or name for name in expected} == set(written)
    assert all(written[name] == expected[name] for name in set(expected) - of_wacz)
    assert sum(each.counts["lines"] for each in reports.values()) == report.lines
    assert [each for one in reports.values() for each in one.errors] == report.errors != []


def _targets(*paths: str, base: str = "/in", append: bool = False) -> list[str]:
    sources = [ArchiveSource(Path(path).name, path.partition("#")[0], 1) for path in paths]
    inputs = archive_inputs(["none"])
    made = type(inputs)(tuple(sources), (), "/in")
    found = file_indexes(made, IndexLineForm.CDX11, base=base, append_extension=append)
    return [index.target for index in found]


def test_paths_are_kept_and_extensions_replaced() -> None:
    assert _targets("/in/a/b.warc.gz", "/in/c.ARC", "/in/d.warc.wat.gz", "/in/e.wacz") == [
        "a/b.cdx",
        "c.cdx",
        "d.cdx",
        "e.wacz.cdx",
    ]
    assert _targets("/in/b.warc.gz", "/in/b.warc", append=True) == ["b.warc.gz.cdx", "b.warc.cdx"]
    assert _targets("/in/b.warc.gz", base="/else") == ["in/b.cdx"]
    assert _targets("s3://bucket/x/../b.warc", base="") == ["bucket/x/b.cdx"]
    with pytest.raises(UsageError, match=r"b\.warc\.gz and /in/b\.warc would both be written"):
        _targets("/in/b.warc.gz", "/in/b.warc")


def test_of_a_file_that_does_not_come_nothing_is_written(tmp_path: Path) -> None:
    writer = IndexWriter(JobFolder(str(tmp_path / "out")), IndexOptions())
    report = PieceReport()
    gone = FileTarget(ArchiveSource("x.warc", str(tmp_path / "x.warc"), 1), "x.cdx")
    assert list(writer(gone, report)) == []
    assert [error.kind for error in report.errors] == ["read"]
    far = FileTarget(ArchiveSource("x.warc", "memory://none/x.warc", 1), "x.cdx")
    with pytest.raises(UnreachableError):
        list(writer(far, PieceReport()))
    assert not (tmp_path / "out").exists()
    write_warc(tmp_path / "x.warc", many_pages(2))
    full = IndexWriter(JobFolder(str(tmp_path / "x.warc")), IndexOptions())
    with pytest.raises(JobError, match=r"x\.cdx cannot be written"):
        list(full(gone, PieceReport()))
    list(writer(gone, PieceReport()))
    assert (tmp_path / "out" / "x.cdx").exists()


OPTIONS = ImportOptions()


def test_documents_are_those_of_an_import(tmp_path: Path) -> None:
    warc = write_warc(tmp_path / "a.warc.gz", many_pages(6))
    warc.write_bytes(warc.read_bytes() + b"garbage")
    gone = tmp_path / "gone.warc.gz"
    pieces = [
        FileTarget(ArchiveSource(path.name, str(path), None), f"in/{path.name}.parquet")
        for path in (warc, gone)
    ]
    writer = DocumentsJobWriter(JobFolder(str(tmp_path / "out")), OPTIONS)
    schema = pa.schema([("a", pa.int64())])
    _, reports = read_all(writer, pieces, schema, tmp_path / "reports")
    assert reports[0].counts == {"files": 1, "captures": 8, "documents": 6}
    assert [error.kind for error in reports[0].errors] == ["gzip"]
    assert (reports[1].counts, [error.kind for error in reports[1].errors]) == ({}, ["open"])
    folder = write_documents(tmp_path / "here", [warc])
    written = tmp_path / "out" / "in" / "a.warc.gz.parquet"
    assert written.stat().st_size > 0
    assert sorted(path.name for path in written.parent.iterdir()) == [written.name]
    assert folder.exists()
    far = FileTarget(ArchiveSource("x.warc", "memory://none/x.warc", 1), "x.parquet")
    with pytest.raises(UnreachableError):
        list(writer(far, PieceReport()))


def test_paths_are_kept() -> None:
    sources = (
        ArchiveSource("a.warc.gz", "/in/x/a.warc.gz", 1),
        ArchiveSource("b.wacz#archive/1.warc", "/in/b.wacz", 1, "archive/1.warc"),
    )
    found = documents_targets(ArchiveInputs(sources, (), "/in"))
    assert [one.target for one in found] == ["x/a.warc.gz.parquet", "b.wacz/archive/1.warc.parquet"]
    places = [ArchiveSource("a.warc", f"{scheme}://one/a.warc", 1) for scheme in ("s3", "gs")]
    with pytest.raises(UsageError, match=r"would both be written to one/a\.warc\.parquet"):
        documents_targets(ArchiveInputs(tuple(places), (), ""))
