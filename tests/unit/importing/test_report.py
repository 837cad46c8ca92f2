"""Reports and their limits."""

import json

from nwx.importing.messages import FilePart, Outcome, Verdict
from nwx.importing.report import (
    ERRORS_LISTED,
    ERRORS_OF_A_KIND,
    ErrorLog,
    ImportReport,
    ImportTally,
    error_entries,
    import_report_json,
    outdated_entries,
    with_error,
)
from nwx.model import Batch, ReadError, SourceFile
from nwx.warc.sources import ArchiveSource, FileError


def test_a_million_errors_are_counted_and_the_first_kept() -> None:
    log = ErrorLog()
    for number in range(1_000_000):
        log.add(ReadError("a.warc", number, "length", "too short"))
    log.add(ReadError("a.warc", 7, "url", "no URL"))
    log.add(ReadError("b.warc", 7, "length", "too short"))
    assert log.total == 1_000_002
    assert log.by_kind == {"length": 1_000_001, "url": 1}
    assert [error.offset for error in log.kept] == [*range(ERRORS_OF_A_KIND), 7, 7]


def test_errors_of_many_files_are_bounded_too() -> None:
    log = ErrorLog()
    for number in range(ERRORS_LISTED + 50):
        log.add(ReadError(f"{number}.warc", 0, "gzip", "cut off"))
    assert len(log.kept) == ERRORS_LISTED
    assert log.total == ERRORS_LISTED + 50


def test_a_report_is_json() -> None:
    report = ImportReport(
        files=1,
        outcomes={Outcome.IMPORTED: 1},
        records={"response": 2},
        errors=(ReadError("a", None, "gzip", "cut off"),),
        errors_total=1,
        seconds=1.23456,
    )
    found = json.loads(json.dumps(import_report_json(report)))
    assert found["errors"] == [{"file": "a", "offset": None, "kind": "gzip", "message": "cut off"}]
    assert found["outcomes"] == {"imported": 1}
    assert found["seconds"] == 1.235


def test_useful_is_what_read_or_knew_something() -> None:
    assert ImportReport(records={"response": 1}, errors_total=5).useful
    assert ImportReport(outcomes={Outcome.SKIPPED: 1}, errors_total=5).useful
    assert ImportReport(files=1, outcomes={Outcome.IMPORTED: 1}).useful
    assert not ImportReport(outcomes={Outcome.UNREADABLE: 1}, errors_total=1).useful


SOURCE = ArchiveSource("a.warc.gz", "a.warc.gz", 100)


def test_parts_and_files_add_up() -> None:
    tally = ImportTally()
    tally.expect([SOURCE])
    error = ReadError("a.warc.gz", 7, "gzip", "damaged")
    for _ in range(2):
        tally.add(FilePart(Batch(), (error,), {"response": 3}, 3, 2, 1, 40), 1)
    running = tally.progress(80)
    assert (running.counts["capture"], running.counts["duplicate"]) == (6, 2)
    tally.close(SOURCE, Verdict(Outcome.IMPORTED))
    report = tally.report(False, 1.5)
    assert (report.files, report.outcomes) == (1, {"imported": 1})
    assert (report.records, report.captures, report.documents) == ({"response": 6}, 6, 2)
    assert (report.excluded, report.bytes, report.errors_total) == (2, 80, 2)


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
