"""The notes of documents files as JSON, and those of other versions."""

import json
from dataclasses import replace

import pytest

from nwx.errors import SourceError
from nwx.importing.extracted.notes import (
    DOCUMENTS_FORMAT,
    DocumentsNotes,
    FaultNotes,
    FileNotes,
    LateNotes,
    PartNotes,
)
from nwx.importing.late_outlinks import LateOutlinks
from nwx.model import ReadError
from nwx.warc.record_groups import Outlink, RecordedOutlinks

ERROR = ReadError("a.warc.gz", 7, "gzip", "the gzip member is cut off")
RECORDED = RecordedOutlinks(
    90,
    (b"<urn:x:\xff>",),
    b"http://a.example/\xe9",
    b"2015",
    (Outlink("/x", "L", "a/@href"),),
    True,
)
PART = PartNotes(
    rows=2,
    records={"response": 2},
    bytes=90,
    done_to=80,
    finished=True,
    counts={"captures": 2},
    marked=2,
    errors=(ERROR,),
    more_errors={"gzip": 3},
    late=(
        LateNotes.from_late(LateOutlinks(RECORDED, ("ab",), 12)),
        LateNotes.from_late(LateOutlinks(RECORDED)),
    ),
)
FILE = FileNotes("a.warc.gz", "/a/a.warc.gz", 90, "", "90-00", "imported", (), (PART, PART))
NOTES = DocumentsNotes("web", True, (FILE,), (FaultNotes(ERROR, "/b.wacz", None, True),))


def test_notes_are_read_as_they_were_written() -> None:
    found = json.loads(json.dumps(NOTES.as_json()))
    assert DocumentsNotes.from_json(found, "here") == NOTES
    assert FILE.rows == 4
    assert PART.late[0].late_outlinks() == LateOutlinks(RECORDED, ("ab",), 12)


def test_another_version_is_refused() -> None:
    found = NOTES.as_json() | {"format": DOCUMENTS_FORMAT + 1}
    with pytest.raises(
        SourceError, match=r"a\.parquet has documents of format 2, this nwx reads 1"
    ):
        DocumentsNotes.from_json(found, "a.parquet")


@pytest.mark.parametrize("change", [{"files": [{}]}, {"files": 3}, {"faults": [{"error": {}}]}])
def test_notes_that_make_no_sense_are_an_error(change: dict[str, object]) -> None:
    with pytest.raises(SourceError, match=r"notes of a\.parquet cannot be read"):
        DocumentsNotes.from_json(replace(NOTES).as_json() | change, "a.parquet")
