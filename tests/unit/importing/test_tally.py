"""The running figures of an import."""

from nwx.importing.messages import FilePart, Verdict
from nwx.importing.report import Outcome
from nwx.importing.tally import ImportTally
from nwx.model import Batch, ReadError
from nwx.warc.sources import ArchiveSource

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
