"""What the ledger keeps of errors that concern a file as a whole."""

from nwx.importing.file_errors import error_entries, outdated_entries, with_error
from nwx.model import ReadError, SourceFile
from nwx.warc.sources import ArchiveSource, FileError


def _error(file: str, *, refused: bool = True) -> FileError:
    return FileError(file, None, "gzip", "broken", f"/x/{file}", 9, is_refused=refused)


def test_a_refused_file_is_unreadable_and_not_finished() -> None:
    (entry,) = error_entries([_error("a.warc"), _error("a.warc", refused=False)], "web", {})
    assert entry == SourceFile(
        "web", "a.warc", "/x/a.warc", 9, "", counts={"errors": 2, "unreadable": 1}
    )


def test_a_file_that_was_read_all_the_same_is_finished() -> None:
    (entry,) = error_entries([_error("a.wacz", refused=False)], "web", {})
    assert (entry.finished, entry.counts) == (True, {"errors": 1})


def test_errors_of_records_make_no_entry() -> None:
    assert error_entries([ReadError("a.warc", 5, "header", "broken")], "web", {}) == []


def test_an_imported_file_keeps_its_entry() -> None:
    imported = SourceFile("web", "a.warc", "/x/a.warc", 9, "checksum", 9, finished=True)
    refused = SourceFile("web", "b.warc", "/x/b.warc", 9, "", counts={"unreadable": 1})
    ledger = {"a.warc": imported, "b.warc": refused}
    found = error_entries([_error("a.warc"), _error("b.warc")], "web", ledger)
    assert [entry.name for entry in found] == ["b.warc"]


def test_entries_of_errors_that_are_gone_are_outdated() -> None:
    old = SourceFile("web", "a.wacz", "/x/a.wacz", 9, "", counts={"unreadable": 1})
    inside = ArchiveSource("a.wacz#b.warc", "/x/a.wacz", 5, "b.warc")
    assert outdated_entries({"a.wacz": old}, [inside], []) == [old]
    assert outdated_entries({"a.wacz": old}, [inside], [old]) == []
    assert outdated_entries({"a.wacz": old}, [ArchiveSource("a.wacz", "/x/a.wacz", 5)], []) == []


def test_an_error_is_added_to_what_is_known_of_a_file() -> None:
    new = SourceFile("web", "a.warc", "/x/a.warc", 9, "")
    imported = SourceFile("web", "a.warc", "/x/a.warc", 9, "c", 9, finished=True, counts={"n": 4})
    assert with_error(None, new).counts == {"errors": 1, "unreadable": 1}
    assert with_error(imported, new).counts == {"n": 4, "errors": 1}
    assert with_error(with_error(imported, new), new).counts == {"n": 4, "errors": 2}
    assert with_error(imported, new).checksum == "c"
