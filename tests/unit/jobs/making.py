"""Runs pieces of work for the tests of jobs."""

from collections.abc import Iterable, Sequence
from pathlib import Path

import pyarrow as pa

from nwx.jobs.output import JobFolder, PieceReport, ReportFolder
from nwx.jobs.pieces import PieceReader, PieceT, PieceWork, read_pieces


def read_all(
    reader: PieceReader[PieceT], pieces: Sequence[PieceT], schema: pa.Schema, folder: Path
) -> tuple[list[dict[str, object]], dict[int, PieceReport]]:
    """Return the rows and reports of pieces as one executor produces them."""
    reports = ReportFolder(JobFolder(str(folder)))
    numbers = pa.RecordBatch.from_pydict({"id": list(range(len(pieces)))})
    work = PieceWork(reader, str, schema, reports)
    batches: Iterable[pa.RecordBatch] = read_pieces(iter([numbers]), pieces, work, 0)
    return [row for batch in batches for row in batch.to_pylist()], reports.read()
