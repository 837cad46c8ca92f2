"""Reading documents files, and what is none."""

from pathlib import Path

import polars as pl
import pytest

from nwx.errors import SourceError
from nwx.importing.extracted.documents_file import DocumentsFile, documents_notes
from tests.documents_files import write_documents
from tests.warcs import many_pages, write_warc


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
    with pytest.raises(SourceError, match="has fewer rows than its notes tell"):
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
    with pytest.raises(SourceError, match="is no documents file"):
        documents_notes(other)
    cut = tmp_path / "cut.parquet"
    cut.write_bytes(made.read_bytes()[:-100])
    with pytest.raises(SourceError, match=r"cut\.parquet cannot be read"):
        documents_notes(cut)
    damaged = tmp_path / "damaged.parquet"
    damaged.write_bytes(made.read_bytes().replace(b'"collection"', b'"Collection"'))
    with pytest.raises(SourceError, match="cannot be read"):
        documents_notes(damaged)
