"""The captures that the job `facets` counts: an export as Parquet, or CDX files."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from nwx.bulk.addresses import is_address
from nwx.cdx.inputs import LayoutChangedError, ReadTask
from nwx.errors import SourceError, UsageError
from nwx.facets.builds.sources import EXPORT_NOTE, capture_rows_in
from nwx.jobs.cdx_lines import task_is_far, task_name
from nwx.jobs.facets.capture_rows import (
    ROW_SCHEMA,
    ParquetSlice,
    RowPlan,
    rows_of_lines,
    rows_of_slice,
)
from nwx.jobs.folders import JobFolder
from nwx.jobs.frames import piece_frame
from nwx.jobs.inputs import absolute_place, cdx_tasks, in_one_piece, is_cdx_name
from nwx.jobs.pieces import PieceWork, UnreachableError
from nwx.jobs.reports import PieceReport, ReportFolder
from nwx.model import ReadError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_SLICE_ROWS = 1_000_000
_PARQUET = ".parquet"
_MONTH = "month="
LAYOUT_CHANGED = "layout_changed"
"""The value of a report that names a file which cannot be read in pieces."""

CapturePiece = ParquetSlice | ReadTask


@dataclass(frozen=True, slots=True)
class CaptureInputs:
    """Pieces of captures, to be read each by a task.

    `stamp` and `checks` are those of the captures of an export; None where
    there are none. Lines of CDX files may name a record twice.
    """

    pieces: Sequence[CapturePiece]
    is_cdx: bool
    stamp: str = ""
    checks: Mapping[str, str] | None = field(default=None)


def capture_inputs(arguments: Sequence[str]) -> CaptureInputs:
    """Return the captures of an export (`nwx export captures`), or of CDX files.

    Raises UsageError where nothing is named, or an export among others,
    SourceError where something cannot be read.
    """
    if not arguments:
        raise UsageError("there is nothing to read; name an export of captures, or CDX files")
    folder = JobFolder(absolute_place(arguments[0]))
    is_lines = arguments[0].startswith("@") or is_cdx_name(arguments[0])
    names = [] if is_lines else _parquet_names(folder)
    if not names:
        return CaptureInputs(cdx_tasks(arguments), is_cdx=True)
    if len(arguments) > 1:
        raise UsageError("name one export of captures, or CDX files")
    note = _note(folder)
    pieces = [piece for name in names for piece in _slices(folder.path(name))]
    return CaptureInputs(pieces, False, str(note.get("stamp", "")), note.get("months"))


def _parquet_names(folder: JobFolder) -> list[str]:
    """Return the Parquet files of an export in the order in which `nwx build-facets` reads them."""
    names = [name for name in folder.names() if name.endswith(_PARQUET)]
    return sorted(names, key=lambda name: (_month_of(name), name))


def _month_of(name: str) -> str:
    named = [part for part in Path(name).parts if part.startswith(_MONTH)]
    return named[-1] if named else ""


def _slices(path: str) -> Iterator[ParquetSlice]:
    rows = capture_rows_in(path)
    for first in range(0, rows, _SLICE_ROWS):
        yield ParquetSlice(path, first, min(_SLICE_ROWS, rows - first))


def _note(folder: JobFolder) -> dict[str, Any]:
    if not folder.exists(EXPORT_NOTE):
        return {}
    try:
        found: dict[str, Any] = json.loads(folder.read(EXPORT_NOTE))
    except ValueError as error:
        place = folder.path(EXPORT_NOTE)
        raise SourceError(f"{place} cannot be read ({error}); export again") from error
    return found


@dataclass(frozen=True, slots=True)
class RowReader:
    """Reads the rows of a numbered piece."""

    plan: RowPlan

    def __call__(
        self, numbered: tuple[int, CapturePiece], report: PieceReport
    ) -> Iterator[pa.RecordBatch]:
        """Give the rows of a piece; what cannot be read goes to the report."""
        number, piece = numbered
        try:
            if isinstance(piece, ParquetSlice):
                yield from rows_of_slice(self.plan, number, piece)
            else:
                yield from rows_of_lines(self.plan, number, piece, report)
        except SourceError as error:
            if _is_far(numbered):
                raise UnreachableError(str(error)) from error
            report.add_errors([ReadError(_shown(numbered), None, "read", str(error))])
        except LayoutChangedError as error:
            report.values[LAYOUT_CHANGED] = error.path


def _is_far(numbered: tuple[int, CapturePiece]) -> bool:
    _, piece = numbered
    return is_address(piece.path) if isinstance(piece, ParquetSlice) else task_is_far(piece)


def _shown(numbered: tuple[int, CapturePiece]) -> str:
    _, piece = numbered
    return piece.path if isinstance(piece, ParquetSlice) else task_name(piece)


def row_frame(
    spark: "SparkSession", inputs: CaptureInputs, plan: RowPlan, reports: ReportFolder
) -> "DataFrame":
    """Return the rows (ROW_SCHEMA) of all captures; tasks write reports."""
    pieces = list(enumerate(inputs.pieces))
    work = PieceWork(RowReader(plan), _shown, ROW_SCHEMA, reports, _is_far)
    return piece_frame(spark, pieces, work)


def without_cuts(inputs: CaptureInputs, path: str) -> CaptureInputs:
    """Return inputs that read a CDX file in one piece."""
    tasks = [piece for piece in inputs.pieces if isinstance(piece, ReadTask)]
    return replace(inputs, pieces=in_one_piece(tasks, path))
