"""Pieces of work as run by an executor, including readers that kill their process."""

import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow as pa
import pytest

from nwx.errors import JobError
from nwx.jobs import pieces
from nwx.jobs.output import JobFolder, PieceReport, ReportFolder
from nwx.jobs.pieces import PieceReader, PieceWork, UnreachableError, read_pieces

pytestmark = pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning")

SCHEMA = pa.schema([("text", pa.string())])
NUMBERS = pa.RecordBatch.from_pydict({"id": [0, 1, 2]})
PIECES = ("a.warc", "b.warc", "c.warc")

Read = Callable[..., tuple[list[str], dict[int, PieceReport]]]


@pytest.fixture
def read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Read:
    """Reads three pieces; returns their results and reports."""
    monkeypatch.setattr(pieces, "_PAUSES", (0.0, 0.0))
    reports = ReportFolder(JobFolder(str(tmp_path / "reports")))

    def run(
        reader: PieceReader[str], attempt: int = 0, *, far: bool = False, version: str = ""
    ) -> tuple[list[str], dict[int, PieceReport]]:
        work = PieceWork(reader, str, SCHEMA, reports, lambda piece: far)
        if version:
            work = PieceWork(reader, str, SCHEMA, reports, version=version)
        batches = read_pieces(iter([NUMBERS]), PIECES, work, attempt)
        return [text for batch in batches for text in batch[0].to_pylist()], reports.read()

    return run


def _batch(*texts: str) -> pa.RecordBatch:
    return pa.RecordBatch.from_pydict({"text": list(texts)}, schema=SCHEMA)


def _fine(piece: str, report: PieceReport) -> Iterator[pa.RecordBatch]:
    report.counts["files"] += 1
    yield _batch(f"{piece} 1")
    yield _batch(f"{piece} 2")


@pytest.mark.parametrize("attempt", [0, 1])
@pytest.mark.parametrize("far", [False, True])
def test_all_ways_to_read_come_to_the_same(read: Read, attempt: int, far: bool) -> None:
    texts, reports = read(_fine, attempt, far=far)
    assert texts == [f"{piece} {number}" for piece in PIECES for number in (1, 2)]
    assert [report.counts["files"] for report in reports.values()] == [1, 1, 1]
    assert not any(report.errors for report in reports.values())


@pytest.mark.parametrize(
    ("end", "words"),
    [
        (lambda: os.kill(os.getpid(), signal.SIGSEGV), "its reader crashed (SIGSEGV)"),
        (lambda: os.kill(os.getpid(), signal.SIGKILL), "its reader crashed (SIGKILL)"),
        (lambda: {}["x"], "its reader failed: KeyError: 'x'"),
    ],
)
def test_a_reader_that_dies_is_reported_with_file_and_offset(
    read: Read, end: Callable[[], object], words: str
) -> None:
    def reader(piece: str, report: PieceReport) -> Iterator[pa.RecordBatch]:
        yield from _fine(piece, report)
        report.note(4711)
        if piece == "b.warc":
            end()

    texts, reports = read(reader, 1)
    assert texts == ["a.warc 1", "a.warc 2", "c.warc 1", "c.warc 2"]
    (error,) = reports[1].errors
    assert (error.file, error.offset, error.kind) == ("b.warc", 4711, "crash")
    assert words in error.message
    assert not reports[1].counts


def test_a_reader_that_hangs_is_ended_and_reported(tmp_path: Path) -> None:
    """The time limit restarts with each note and each batch."""

    def reader(piece: str, report: PieceReport) -> Iterator[pa.RecordBatch]:
        yield _batch(f"{piece} 1")
        report.note(4711)
        while piece == "b.warc":
            pass

    reports = ReportFolder(JobFolder(str(tmp_path)))
    work = PieceWork(reader, str, SCHEMA, reports, seconds=0.1)
    texts = [row for batch in read_pieces(iter([NUMBERS]), PIECES, work, 1) for row in batch[0]]
    assert [text.as_py() for text in texts] == ["a.warc 1", "c.warc 1"]
    (error,) = reports.read()[1].errors
    assert (error.file, error.offset, error.kind) == ("b.warc", 4711, "crash")
    assert "its reader took too much processor time for one step" in error.message


@pytest.mark.parametrize("error", [OSError(28, "No space left"), JobError("No space left")])
def test_a_machine_that_fails_stops_the_job(read: Read, error: Exception) -> None:
    def reader(piece: str, report: PieceReport) -> Iterator[pa.RecordBatch]:
        raise error
        yield

    with pytest.raises(JobError, match="No space left"):
        read(reader, 1)


def test_a_process_ends_also_where_it_cannot_say_why(
    read: Read, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*given: object, **named: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_text", full)
    with pytest.raises(JobError, match="could not write why"):
        read(_fine, 1)


def test_what_is_far_is_tried_again_and_then_reported(read: Read) -> None:
    tried = []

    def reader(piece: str, report: PieceReport) -> Iterator[pa.RecordBatch]:
        tried.append(piece)
        yield from _fine(piece, report)
        if piece == "b.warc" or len(tried) == 1:
            raise UnreachableError("503 Slow Down")

    texts, reports = read(reader, far=True)
    assert texts == ["a.warc 1", "a.warc 2", "c.warc 1", "c.warc 2"]
    assert tried == ["a.warc"] * 2 + ["b.warc"] * 3 + ["c.warc"]
    assert reports[0].counts["files"] == 1
    (error,) = reports[1].errors
    assert (error.file, error.kind, error.message) == ("b.warc", "read", "503 Slow Down")


def test_another_version_of_nwx_is_refused(read: Read) -> None:
    with pytest.raises(JobError, match=r"the executors have nwx .*, this command is 0\.0\.1"):
        read(_fine, version="0.0.1")
