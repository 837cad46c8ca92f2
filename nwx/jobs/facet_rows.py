"""Executor steps that read captures for facets: one row per capture, with all criteria.

Texts get codes once the texts of all tasks are known; URLs and digests are pairs of hashes, equal
in all tasks.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
import pyarrow as pa

from nwx.bulk.arrays import Array
from nwx.bulk.progress import batches
from nwx.bulk.whole_files import is_address
from nwx.cdx.blocks import PAD_BYTES, raw_blocks, start_of
from nwx.cdx.files import CdxParser, open_cdx
from nwx.cdx.inputs import FilePiece, LayoutChangedError, ReadTask
from nwx.cdxserver.loaded_lines import Loaded, read_captures
from nwx.engine.facet_store import CAPTURE_ROW_FIELDS
from nwx.errors import CdxError, SourceError, UsageError
from nwx.facets.codes import ARCHIVE_FILE, CaptureCodes, Labels, encode, to_frame
from nwx.facets.criteria import COLUMN_CRITERIA, Criterion
from nwx.facets.sites import Sites
from nwx.facets.sources import EXPORT_NOTE, capture_rows_in, read_capture_slice
from nwx.jobs.facet_cells import CRITERIA, CellLayout
from nwx.jobs.inputs import cdx_tasks, in_one_piece, is_cdx_name, task_is_far, task_name
from nwx.jobs.output import JobFolder, PieceReport, ReportFolder, absolute_place
from nwx.jobs.pieces import PieceWork, UnreachableError, piece_frame
from nwx.model import Capture, ReadError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


_Batches = Iterator[pa.RecordBatch]

TEXTS = (
    *(one.value for one in COLUMN_CRITERIA if not one.definition.values),
    ARCHIVE_FILE,
)
"""The columns of texts; the columns of all other criteria are codes."""

CODES = tuple(one.value for one in COLUMN_CRITERIA if one.definition.values)
"""The criteria whose values are fixed."""

HASHES = ("url_first", "url_second", "digest_first", "digest_second")
_NUMBERS = (*CODES, "size_bytes", "offset", "task", "row", *HASHES)
ROW_SCHEMA = pa.schema(
    [(name, pa.string()) for name in TEXTS]
    + [(name, pa.int64()) for name in _NUMBERS]
    + [("revisit", pa.bool_())]
)
"""A capture, identified by `task` and `row`, which are in the order of the input."""

_AT_ONCE = 50_000
_fields_of = attrgetter(*CAPTURE_ROW_FIELDS)
_MIX = (np.uint64(0x9E3779B97F4A7C15), np.uint64(0xC2B2AE3D27D4EB4F))
_TASK_SHIFT = np.uint64(40)


@dataclass(frozen=True, slots=True)
class RowPlan:
    """Conversion of captures to rows, the same for all tasks.

    `seeds` are the seeds of the hashes, `sites` the names of URLs, None for their domains. Captures
    of CDX lines belong to `collection`.
    """

    seeds: tuple[int, int]
    sites: Sites | None
    collection: str


@dataclass(frozen=True, slots=True)
class ParquetSlice:
    """Some rows of a Parquet file of captures."""

    path: str
    first: int
    rows: int


def rows_of_slice(plan: RowPlan, number: int, piece: ParquetSlice) -> _Batches:
    """Yield the rows of the captures in a slice of a Parquet file.

    Raises SourceError if it cannot be read.
    """
    frame = read_capture_slice(piece.path, piece.first, piece.rows)
    for first in range(0, len(frame), _AT_ONCE):
        yield _rows(plan, frame[first : first + _AT_ONCE], number, first)


def rows_of_lines(plan: RowPlan, number: int, task: ReadTask, report: PieceReport) -> _Batches:
    """Yield rows for the captures in a task's CDX lines, parsed as for an archive.

    Raises LayoutChangedError if a file cannot be read in pieces, SourceError if it cannot be read.
    """
    first = 0
    for piece in task.pieces:
        for some in batches(_captures(plan, piece, report), _AT_ONCE):
            yield _rows(plan, to_frame([_fields_of(one) for one in some]), number, first)
            first += len(some)


def _captures(plan: RowPlan, piece: FilePiece, report: PieceReport) -> Iterator[Capture]:
    layout = start_of(piece.source).parsed
    parser = CdxParser(piece.source.shown, layout, begun=piece.start > 0)
    loaded = Loaded()
    with open_cdx(piece.source.path) as stream:
        blocks = raw_blocks(stream, piece, by_run=False)
        lines = (line for data in blocks for line in data[:-PAD_BYTES].split(b"\n")[:-1])
        yield from read_captures(lines, plan.collection, loaded, parser, skip_bad=True)
    if parser.layout != layout and (piece.start or piece.end):
        raise LayoutChangedError(piece.source.path)
    report.counts["not_captures"] += loaded.not_captures
    report.add_errors(_read_error(piece, error) for error in loaded.errors)
    report.errors_total += loaded.bad_lines - len(loaded.errors)


def _read_error(piece: FilePiece, error: CdxError) -> ReadError:
    """Return the error of a line; lines are counted from the start of its piece."""
    line = f"line {error.line}: " if not piece.start else f"{error.line} lines on: "
    return ReadError(piece.source.shown, piece.start or None, "line", f"{line}{error}")


def _rows(plan: RowPlan, frame: pl.DataFrame, task: int, first: int) -> pa.RecordBatch:
    labels = Labels()
    encoded = encode(frame, labels, plan.sites, plan.seeds)
    places = np.arange(first, first + len(frame), dtype=np.int64)
    numbers = encoded.columns | _hashes(frame, encoded, task, places)
    numbers |= {"task": np.full(len(frame), task, np.int64), "row": places}
    columns = [_texts(labels.values[name], encoded.columns[name]) for name in TEXTS]
    columns += [pa.array(numbers[name].astype(np.int64)) for name in _NUMBERS]
    columns.append(pa.array(encoded.columns["revisit"]))
    return pa.RecordBatch.from_arrays(columns, schema=ROW_SCHEMA)


def _texts(values: list[str], codes: Array) -> pa.Array:
    return pa.DictionaryArray.from_arrays(codes.astype(np.int32), pa.array(values)).cast(
        pa.string()
    )


def _hashes(
    frame: pl.DataFrame, encoded: CaptureCodes, task: int, places: Array
) -> dict[str, Array]:
    """Return the hashes of URLs and digests.

    Captures without a digest get unique hashes that are the same on every run, so that a retried
    task yields the same rows.
    """
    digests = [one.copy() for one in encoded.digest]
    missing = (frame["digest"].is_null() | (frame["digest"] == "")).to_numpy()
    place = (np.uint64(task) << _TASK_SHIFT) + places[missing].astype(np.uint64)
    for hashes, factor in zip(digests, _MIX, strict=True):
        hashes[missing] = (place + np.uint64(1)) * factor
    found = (*encoded.url, *digests)
    return {
        name: np.ascontiguousarray(one).view(np.int64)
        for name, one in zip(HASHES, found, strict=True)
    }


def sorted_labels(found: Mapping[str, Iterable[str]]) -> Labels:
    """Return labels for the values of all tasks; codes follow the order of the values."""
    labels = Labels()
    for name, values in found.items():
        labels.codes(name, sorted(values))
    return labels


def cell_layout(labels: Labels) -> CellLayout:
    """Return the bit layout of the codes of these labels in cell numbers.

    Raises EngineError if they do not fit.
    """
    return CellLayout.of_sizes({name: len(labels.values[name]) for name in CRITERIA})


def coded_schema(schema: pa.Schema) -> pa.Schema:
    """Return the schema of coded rows: codes for texts, plus month and finest cell."""
    coded = [
        pa.field(one.name, pa.int64()) if one.name in TEXTS or one.name == "own_type" else one
        for one in schema
    ]
    return pa.schema([*coded, ("month_name", pa.string()), ("cell", pa.int64())])


def coded_rows(
    batches: Iterable[pa.RecordBatch],
    known: Mapping[str, Sequence[str]],
    layout: CellLayout,
) -> _Batches:
    """Yield rows with the codes of their values, which are all `known`."""
    labels = Labels(known)
    for batch in batches:
        columns = {name: batch.column(name) for name in batch.schema.names}
        coded = columns | {name: pa.array(_codes(labels, name, columns[name])) for name in TEXTS}
        if "own_type" in columns:
            coded["own_type"] = _optional_codes(labels, columns["own_type"])
        codes = {name: coded[name].to_numpy() for name in CRITERIA}
        arrays = [*coded.values(), columns[Criterion.MONTH], pa.array(layout.cells(codes))]
        yield pa.RecordBatch.from_arrays(arrays, schema=coded_schema(batch.schema))


def _codes(
    labels: Labels, name: str, values: pa.Array
) -> "np.ndarray[tuple[int], np.dtype[np.int64]]":
    series = pl.Series(pl.from_arrow(values), dtype=pl.String)
    return labels.column(name, series).astype(np.int64)


def _optional_codes(labels: Labels, types: pa.Array) -> pa.Array:
    """Return the codes of types, null for missing ones."""
    missing = types.is_null().to_numpy(zero_copy_only=False)
    filled = types.fill_null(labels.values[Criterion.TYPE][0])
    return pa.array(_codes(labels, Criterion.TYPE, filled), mask=missing)


_SLICE_ROWS = 1_000_000
_PARQUET = ".parquet"
_MONTH = "month="
LAYOUT_CHANGED = "layout_changed"
"""The key of a report's value that names a file that cannot be read in pieces."""

CapturePiece = ParquetSlice | ReadTask


@dataclass(frozen=True, slots=True)
class CaptureInputs:
    """Pieces of captures, each read by one task.

    `stamp` and `checks` are from an export, "" and None without one. Lines of CDX files may name a
    record twice.
    """

    pieces: Sequence[CapturePiece]
    is_cdx: bool
    stamp: str = ""
    checks: Mapping[str, str] | None = field(default=None)


def capture_inputs(arguments: Sequence[str]) -> CaptureInputs:
    """Return the captures of an export (`nwx export captures`), or of CDX files.

    Raises UsageError if nothing is named, or an export together with others, SourceError if
    something cannot be read.
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
        """Yield the rows of a piece; read errors go to the report."""
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
