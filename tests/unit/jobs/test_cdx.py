"""Indexes of archive files, each written by a task."""

import shutil
from pathlib import Path

import pyarrow as pa
import pytest

from nwx.errors import JobError, UsageError
from nwx.indexing.cdx_files import IndexOptions, index_beside
from nwx.indexing.index_lines import IndexLineForm
from nwx.jobs.cdx import IndexWriter, file_indexes
from nwx.jobs.folders import JobFolder
from nwx.jobs.inputs import archive_inputs
from nwx.jobs.pieces import UnreachableError
from nwx.jobs.reports import PieceReport
from nwx.jobs.targets import FileTarget
from nwx.warc.sources import ArchiveSource
from tests.unit.jobs.making import read_all
from tests.warcs import many_pages, write_warc

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
