"""Documents files of archive files, each written by a task."""

from pathlib import Path

import pyarrow as pa
import pytest

from nwx.errors import UsageError
from nwx.importing.options import ImportOptions
from nwx.jobs.documents.extract import DocumentsJobWriter, documents_targets
from nwx.jobs.folders import JobFolder
from nwx.jobs.inputs import ArchiveInputs
from nwx.jobs.pieces import UnreachableError
from nwx.jobs.reports import PieceReport
from nwx.jobs.targets import FileTarget
from nwx.warc.sources import ArchiveSource
from tests.documents_files import write_documents
from tests.unit.jobs.making import read_all
from tests.warcs import many_pages, write_warc

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
