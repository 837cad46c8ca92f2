"""Reports and their bounds."""

import json

from nwx.importing.report import (
    ERRORS_LISTED,
    ERRORS_OF_A_KIND,
    ErrorLog,
    ImportReport,
    Outcome,
    import_report_json,
)
from nwx.model import ReadError


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
