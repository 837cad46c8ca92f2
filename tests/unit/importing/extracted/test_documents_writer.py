"""What a documents file has of archive files."""

from io import BytesIO
from pathlib import Path

import pyarrow.parquet as pq

from nwx.importing.extracted.documents_file import DocumentsFile
from nwx.importing.extracted.documents_writer import DocumentsWriter
from nwx.importing.messages import FilePart, Verdict
from nwx.model import ReadError
from nwx.warc.sources import ArchiveSource, FileError
from tests.documents_files import messages_of, write_documents
from tests.warcs import many_pages, write_warc


def written(tmp_path: Path, writer_of: object) -> DocumentsFile:
    path = tmp_path / "a.parquet"
    path.write_bytes(writer_of.getvalue())  # type: ignore[attr-defined]
    return DocumentsFile(path)


def test_a_row_is_a_capture_and_a_row_group_a_part(tmp_path: Path) -> None:
    warc = write_warc(tmp_path / "a.warc.gz", many_pages(10))
    folder = write_documents(tmp_path / "out", [warc])
    found = pq.ParquetFile(folder / "a.warc.gz.parquet")
    assert (found.metadata.num_rows, found.metadata.num_row_groups) == (14, 1)
    texts = found.read(["url", "content"]).to_pylist()
    assert sum(row["content"] is not None for row in texts) == 10
    notes = DocumentsFile(folder / "a.warc.gz.parquet").notes
    [file] = notes.files
    assert (notes.collection, notes.deduplicated) == ("default", True)
    assert (file.name, file.path, file.outcome) == ("a.warc.gz", str(warc), "imported")
    [part] = file.parts
    assert (part.finished, part.rows, part.marked) == (True, 14, 14)
    assert part.counts == {"response": 12, "revisit": 2, "captures": 14, "errors": 0}


def test_a_part_that_comes_again_after_a_crash_is_there_once(tmp_path: Path) -> None:
    warc = write_warc(tmp_path / "a.warc.gz", many_pages(10))
    source = ArchiveSource("a.warc.gz", str(warc), warc.stat().st_size)
    part, verdict = messages_of(source)
    stream = BytesIO()
    writer = DocumentsWriter(stream, "default", deduplicated=True)
    assert isinstance(part, FilePart)
    writer.add_file(source, iter([part, part, verdict]))
    writer.finish()
    found = written(tmp_path, stream)
    assert [one.rows for one in found.notes.files[0].parts] == [14, 0]
    assert (writer.captures, writer.documents) == (14, 10)


def test_many_errors_of_a_kind_are_counted_and_the_first_listed(tmp_path: Path) -> None:
    source = ArchiveSource("a.warc.gz", "/a.warc.gz", 1)
    errors = tuple(ReadError("a.warc.gz", n, "gzip", "damaged") for n in range(50))
    messages: list[FilePart | Verdict] = []
    warc = write_warc(tmp_path / "a.warc.gz", many_pages(1))
    part, verdict = messages_of(ArchiveSource("a.warc.gz", str(warc), 1))
    assert isinstance(part, FilePart)
    messages = [FilePart(part.batch, errors, {}, 0, 0, 0, 0), verdict]
    stream = BytesIO()
    writer = DocumentsWriter(stream, "default", deduplicated=True)
    writer.add_file(source, iter(messages))
    writer.add_fault(FileError("b.wacz", None, "wacz", "empty", "/b.wacz", 3))
    writer.finish()
    notes = written(tmp_path, stream).notes
    [kept] = notes.files[0].parts
    assert (len(kept.errors), kept.more_errors) == (20, {"gzip": 30})
    [fault] = notes.faults
    assert (fault.error.file, fault.path, fault.size) == ("b.wacz", "/b.wacz", 3)
