"""Reading documents files, and rejecting other files."""

from dataclasses import replace
from io import BytesIO
from pathlib import Path

import polars as pl
import pyarrow.parquet as pq
import pytest

from nwx.errors import SourceError, UsageError
from nwx.importing.extracted.documents_file import (
    DocumentsFile,
    DocumentsWriter,
    check_extracted,
    columns_of,
    documents_notes,
    extract_of,
    extracted_sources,
    row_capture,
)
from nwx.importing.extracted.notes import ExtractedFile
from nwx.importing.messages import FilePart, Verdict
from nwx.importing.options import ImportOptions
from nwx.model import Document, Extract, Link, ReadError
from nwx.warc.sources import ArchiveSource, FileError
from tests.conformance.archive import capture
from tests.documents_files import messages_of, write_documents
from tests.warcs import many_pages, write_warc

HELD = capture("http://a.example/", "2015", body="a")
OTHER = replace(capture("http://a.example/b", "2016", body="b"), source_file_offset=900)
FOUND = Extract(
    title="Größe",
    content="a text",
    headings=("one", "two"),
    links=(Link("http://b.example/", "b", "a"), Link("http://c.example/", "", "img")),
    problems=("size: cut",),
    fields={"generator": "Größe 2", "keywords": ("a", "b"), "elements_count": (1, 2)},
)


def test_rows_give_captures_and_texts_back() -> None:
    columns = columns_of([HELD, OTHER], [Document(HELD, FOUND)])
    first, second = (
        {name: values[number] for name, values in columns.items()} for number in range(2)
    )
    assert (row_capture(first), extract_of(first)) == (HELD, FOUND)
    assert (row_capture(second), extract_of(second)) == (OTHER, None)


def test_files_of_versions_without_fields_are_read(tmp_path: Path) -> None:
    file = write_documents(tmp_path / "x", [write_warc(tmp_path / "a.warc", many_pages(2))])
    [path] = file.glob("*.parquet")
    notes = pq.read_metadata(path).metadata
    table = pq.read_table(path).drop_columns("fields")
    with pq.ParquetWriter(path, table.schema) as writer:
        writer.write_table(table)
        writer.add_key_value_metadata(notes)
    [row] = DocumentsFile(path).rows(0, 1)
    found = extract_of(row)
    assert found is not None
    assert found.fields == {}


def test_a_document_without_text_is_one() -> None:
    columns = columns_of([HELD], [Document(HELD, Extract())])
    assert extract_of({name: values[0] for name, values in columns.items()}) == Extract()


def test_half_signs_are_replaced_as_engines_do_it() -> None:
    columns = columns_of([HELD], [Document(HELD, Extract(title="a\ud800"))])
    assert columns["title"] == ["a\ufffd"]


@pytest.fixture
def made(tmp_path: Path) -> Path:
    warcs = [write_warc(tmp_path / "a.warc.gz", many_pages(5))]
    return write_documents(tmp_path / "out", warcs) / "a.warc.gz.parquet"


def test_rows_are_read_from_any_on(made: Path) -> None:
    file = DocumentsFile(made)
    every = list(file.rows(0, 7))
    assert [row["source_file_offset"] for row in file.rows(2, 3)] == [
        row["source_file_offset"] for row in every[2:5]
    ]
    assert list(file.rows(2, 0)) == []
    assert (file.first_row(0), file.first_row(1)) == (0, 7)
    with pytest.raises(SourceError, match="has fewer rows than its notes say"):
        list(file.rows(5, 3))
    texts = file.text_rows(1, 5)
    assert texts == {
        row["document_id"]: place
        for place, row in enumerate(every[1:6], 1)
        if row["content"] is not None
    }
    for place, row in enumerate(every):
        found = file.extract(place)
        assert (found and found.content) == row["content"]


def test_what_is_no_documents_file_is_an_error(tmp_path: Path, made: Path) -> None:
    other = tmp_path / "captures.parquet"
    pl.DataFrame({"url": ["http://a.example/"]}).write_parquet(other)
    with pytest.raises(SourceError, match="is not a documents file"):
        documents_notes(other)
    cut = tmp_path / "cut.parquet"
    cut.write_bytes(made.read_bytes()[:-100])
    with pytest.raises(SourceError, match=r"cut\.parquet cannot be read"):
        documents_notes(cut)
    damaged = tmp_path / "damaged.parquet"
    damaged.write_bytes(made.read_bytes().replace(b'"collection"', b'"Collection"'))
    with pytest.raises(SourceError, match="cannot be read"):
        documents_notes(damaged)


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


@pytest.fixture
def warc(tmp_path: Path) -> Path:
    return write_warc(tmp_path / "a.warc.gz", many_pages(2))


def test_documents_name_the_archive_files_that_they_are_of(tmp_path: Path, warc: Path) -> None:
    (tmp_path / "b.wacz").write_bytes(b"no zip")
    folder = write_documents(tmp_path / "out", [warc, tmp_path / "b.wacz"])
    found = extracted_sources([str(folder), str(folder / "a.warc.gz.parquet")])
    extracted, fault = found.sources
    documents = str(folder / "a.warc.gz.parquet")
    size = warc.stat().st_size
    wanted = ExtractedFile("a.warc.gz", str(warc), size, "", (), documents=documents, number=0)
    assert extracted == wanted
    assert isinstance(fault, FileError)
    assert (fault.file, fault.is_refused, fault.path) == ("b.wacz", True, str(tmp_path / "b.wacz"))
    check_extracted(found, ImportOptions())


def test_a_folder_that_is_not_whole_is_refused(tmp_path: Path, warc: Path) -> None:
    folder = write_documents(tmp_path / "out", [warc])
    (folder / "_SUCCESS").unlink()
    with pytest.raises(SourceError, match="has no _SUCCESS: the job that wrote it did not finish"):
        extracted_sources([str(folder)])


def test_what_is_not_there_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="does not exist; name the output of `nwx spark extract`"):
        extracted_sources([str(tmp_path / "none")])
    (tmp_path / "_SUCCESS").touch()
    with pytest.raises(SourceError, match="there are no documents files in"):
        extracted_sources([str(tmp_path)])
    with pytest.raises(SourceError, match="copy the documents to a folder first"):
        extracted_sources(["s3://bucket/documents"])


def test_documents_of_several_collections_are_refused(tmp_path: Path, warc: Path) -> None:
    one = write_documents(tmp_path / "one", [warc], ImportOptions(collection="one"))
    two = write_documents(tmp_path / "two", [warc], ImportOptions(collection="two"))
    every = write_documents(tmp_path / "every", [warc], ImportOptions(deduplicate=False))
    some = write_documents(tmp_path / "some", [warc])
    with pytest.raises(UsageError, match="several collections"):
        extracted_sources([str(one), str(two)])
    with pytest.raises(UsageError, match="was extracted without deduplication"):
        extracted_sources([str(some), str(every)])
    with pytest.raises(UsageError, match="are of the collection one; import them into it"):
        check_extracted(extracted_sources([str(one)]), ImportOptions())
    with pytest.raises(UsageError, match="import them without it too"):
        check_extracted(extracted_sources([str(every)]), ImportOptions())
