"""Captures as executors read them for facets: a row each, with the values of all criteria.

Texts are not given codes here, as no task knows those of the others; URLs
and digests are pairs of hashes, by which all tasks call them alike.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from operator import attrgetter

import numpy as np
import polars as pl
import pyarrow as pa

from nwx.bulk.arrays import Array
from nwx.cdx.blocks import start_of
from nwx.cdx.files import CdxParser, open_cdx
from nwx.cdx.inputs import FilePiece, LayoutChangedError, ReadTask
from nwx.cdx.raw_blocks import PAD_BYTES, raw_blocks
from nwx.cdxserver.loaded_lines import Loaded, read_captures
from nwx.engine.facet_store import CAPTURE_ROW_FIELDS
from nwx.errors import CdxError
from nwx.facets.builds.sources import read_capture_slice
from nwx.facets.codes import ARCHIVE_FILE, CaptureCodes, Labels, encode, to_frame
from nwx.facets.criteria import COLUMN_CRITERIA
from nwx.facets.sites import Sites
from nwx.jobs.reports import PieceReport
from nwx.model import Capture, ReadError

_Batches = Iterator[pa.RecordBatch]

TEXTS = (
    *(one.value for one in COLUMN_CRITERIA if not one.definition.values),
    ARCHIVE_FILE,
)
"""The columns that hold texts; those of all other criteria are codes."""

CODES = tuple(one.value for one in COLUMN_CRITERIA if one.definition.values)
"""The criteria whose values are fixed."""

HASHES = ("url_first", "url_second", "digest_first", "digest_second")
_NUMBERS = (*CODES, "size_bytes", "offset", "task", "row", *HASHES)
ROW_SCHEMA = pa.schema(
    [(name, pa.string()) for name in TEXTS]
    + [(name, pa.int64()) for name in _NUMBERS]
    + [("revisit", pa.bool_())]
)
"""A capture; `task` and `row` tell it from all others, and their order is that of the input."""

_AT_ONCE = 50_000
_fields_of = attrgetter(*CAPTURE_ROW_FIELDS)
_MIX = (np.uint64(0x9E3779B97F4A7C15), np.uint64(0xC2B2AE3D27D4EB4F))
_TASK_SHIFT = np.uint64(40)


@dataclass(frozen=True, slots=True)
class RowPlan:
    """How captures become rows: all tasks have the same.

    `seeds` are those of the hashes, `sites` the names of URLs, None for
    their domains. Captures of CDX lines are of `collection`.
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
    """Give the rows of the captures in a part of a Parquet file.

    Raises SourceError where it cannot be read.
    """
    frame = read_capture_slice(piece.path, piece.first, piece.rows)
    for first in range(0, len(frame), _AT_ONCE):
        yield _rows(plan, frame[first : first + _AT_ONCE], number, first)


def rows_of_lines(plan: RowPlan, number: int, task: ReadTask, report: PieceReport) -> _Batches:
    """Give the rows of the captures of the CDX lines of a task, as an archive loads them.

    Raises LayoutChangedError where a file cannot be read in pieces,
    SourceError where it cannot be read.
    """
    first = 0
    for piece in task.pieces:
        captures = _captures(plan, piece, report)
        while some := list(islice(captures, _AT_ONCE)):
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
    """Return the error of a line; lines are counted from where its piece begins."""
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

    Those of captures without a digest are like no others, and the same
    whenever the task runs: a task that is tried again gives what it gave.
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
