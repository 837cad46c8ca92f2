"""Pieces of work on killed executors, and files that kill their readers."""

import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

from nwx.jobs.output import JobFolder, PieceReport, ReportFolder
from nwx.jobs.pieces import PieceWork, piece_frame

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.xdist_group("spark")

SCHEMA = pa.schema([("text", pa.string())])


def test_a_killed_executor_and_a_file_that_crashes_its_reader_cost_nothing_else(
    spark: "SparkSession", tmp_path: Path
) -> None:
    flag = tmp_path / "killed"

    def kill_executor() -> None:
        # this worker's parent is Spark's fork daemon, which the executor started
        with open(f"/proc/{os.getppid()}/status") as status:  # noqa: PTH123
            parent = next(line for line in status if line.startswith("PPid:"))
        os.kill(int(parent.split()[1]), signal.SIGKILL)

    def read(piece: str, report: PieceReport) -> Iterator[pa.RecordBatch]:
        report.counts["files"] += 1
        yield pa.RecordBatch.from_pydict({"text": [f"{piece}-{number}" for number in range(3)]})
        if piece == "poison":
            report.note(99)
            os.kill(os.getpid(), signal.SIGSEGV)
        if piece == "killer" and not flag.exists():
            flag.touch()
            kill_executor()

    pieces = ["a", "killer", "b", "poison", "c"]
    reports = ReportFolder(JobFolder(str(tmp_path / "reports")))
    rows = piece_frame(spark, pieces, PieceWork(read, str, SCHEMA, reports)).collect()
    good = [piece for piece in pieces if piece != "poison"]
    assert sorted(row["text"] for row in rows) == sorted(
        f"{piece}-{number}" for piece in good for number in range(3)
    )
    assert flag.exists()
    found = reports.read()
    assert [report.counts["files"] for report in found.values()] == [1, 1, 1, 0, 1]
    (error,) = [error for report in found.values() for error in report.errors]
    assert (error.file, error.offset, error.kind) == ("poison", 99, "crash")
    assert "SIGSEGV" in error.message
