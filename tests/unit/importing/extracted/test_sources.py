"""Which archive files documents are of, and which folders are refused."""

from pathlib import Path

import pytest

from nwx.errors import SourceError, UsageError
from nwx.importing.extracted.notes import ExtractedFile
from nwx.importing.extracted.sources import check_extracted, extracted_sources
from nwx.importing.options import ImportOptions
from nwx.warc.sources import FileError
from tests.documents_files import write_documents
from tests.warcs import many_pages, write_warc


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
    assert extracted == ExtractedFile("a.warc.gz", str(warc), size, "", (), documents, 0)
    assert isinstance(fault, FileError)
    assert (fault.file, fault.is_refused, fault.path) == ("b.wacz", True, str(tmp_path / "b.wacz"))
    check_extracted(found, ImportOptions())


def test_a_folder_that_is_not_whole_is_refused(tmp_path: Path, warc: Path) -> None:
    folder = write_documents(tmp_path / "out", [warc])
    (folder / "_SUCCESS").unlink()
    with pytest.raises(SourceError, match="has no _SUCCESS: the job that wrote it did not end"):
        extracted_sources([str(folder)])


def test_what_is_not_there_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="is not there; name the output of `nwx spark extract`"):
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
    with pytest.raises(UsageError, match="was extracted with --no-dedup"):
        extracted_sources([str(some), str(every)])
    with pytest.raises(UsageError, match="are of the collection one; leave --collection out"):
        check_extracted(extracted_sources([str(one)]), ImportOptions())
    with pytest.raises(UsageError, match="import them with it too"):
        check_extracted(extracted_sources([str(every)]), ImportOptions())
