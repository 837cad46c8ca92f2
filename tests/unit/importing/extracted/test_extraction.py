"""Extraction in a process that documents kill."""

from collections.abc import Iterator
from dataclasses import replace
from io import BytesIO
from multiprocessing import get_context
from pathlib import Path

import pytest

from nwx.importing.extracted.documents_file import DocumentsFile
from nwx.importing.extracted.extraction import (
    FileExtractor,
    extract_file,
    shared_extractor,
    write_faults,
)
from nwx.importing.messages import FilePart, Outcome, Verdict
from nwx.importing.options import ImportOptions
from nwx.warc.sources import ArchiveSource, FileError
from tests.documents_files import write_documents
from tests.hostile import CRASH, HANG, hostile_extract
from tests.unit.importing.test_importer import DeadlySource
from tests.warcs import Page, html, many_pages, write_warc

OPTIONS = ImportOptions(item_seconds=0.5, extract=hostile_extract)


@pytest.fixture(scope="module")
def extractor() -> Iterator[FileExtractor]:
    made = FileExtractor(OPTIONS, get_context("forkserver"))
    yield made
    made.close()


def source_of(path: Path) -> ArchiveSource:
    return ArchiveSource(path.name, str(path), path.stat().st_size)


def bad(sign: bytes) -> Page:
    return Page(f"http://bad.example/{sign.decode()}", "20150101000000", html("bad", sign.decode()))


def test_documents_are_those_of_an_import(tmp_path: Path, extractor: FileExtractor) -> None:
    warc = write_warc(tmp_path / "a.warc.gz", many_pages(9))
    stream = BytesIO()
    counts = extract_file(source_of(warc), stream, extractor, OPTIONS)
    assert (counts.captures, counts.documents, counts.outcome) == (12, 9, Outcome.IMPORTED)
    folder = write_documents(tmp_path / "here", [warc])
    assert stream.getvalue() == (folder / "a.warc.gz.parquet").read_bytes()


def test_no_document_ends_an_extraction(tmp_path: Path, extractor: FileExtractor) -> None:
    pages = many_pages(6)
    pages[3:3] = [bad(CRASH), bad(HANG)]
    warc = write_warc(tmp_path / "a.warc.gz", pages)
    path = tmp_path / "a.parquet"
    with path.open("wb") as stream:
        counts = extract_file(source_of(warc), stream, extractor, OPTIONS)
    assert (counts.captures, counts.documents) == (10, 8)
    causes = {error.message for error in counts.errors.kept}
    assert causes == {"extraction crashed (SIGSEGV)", "extraction took longer than 0.5 s"}
    notes = DocumentsFile(path).notes
    assert {error.message for error in notes.files[0].parts[-1].errors} == causes
    counted = notes.files[0].parts[-1].counts
    assert counted is not None
    assert (counted["errors"], notes.files[0].outcome) == (2, "imported")


def test_a_file_whose_reading_kills_is_left(tmp_path: Path, extractor: FileExtractor) -> None:
    warc = write_warc(tmp_path / "a.warc.gz", many_pages(2))
    part, verdict = extractor.messages(DeadlySource("deadly.warc.gz", str(warc), 1))
    assert isinstance(part, FilePart)
    assert isinstance(verdict, Verdict)
    assert verdict.outcome is Outcome.PARTIAL
    assert "reading failed: " in verdict.errors[0].message
    assert part.batch.files[0].counts == {"errors": 1, "unreadable": 1}


def test_faults_of_files_have_a_documents_file(tmp_path: Path) -> None:
    path = tmp_path / "faults.parquet"
    with path.open("wb") as stream:
        write_faults(stream, [FileError("b.wacz", None, "wacz", "no zip", "/b.wacz")], OPTIONS)
    notes = DocumentsFile(path).notes
    assert [fault.error.message for fault in notes.faults] == ["no zip"]


def test_an_extractor_is_kept_for_the_next_file() -> None:
    one = shared_extractor(OPTIONS)
    assert shared_extractor(OPTIONS) is one
    assert shared_extractor(replace(OPTIONS, verify=True)) is not one
