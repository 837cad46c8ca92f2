"""Captures for a build: read from an archive or Parquet files, stored in parts to resume."""

import json
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from nwx.bulk.arrays import Array, narrow, read_arrays, write_arrays
from nwx.engine.facet_store import CAPTURE_ROW_FIELDS, FacetStore
from nwx.errors import InsteadOf, SourceError, system_reason
from nwx.facets.codes import (
    CAPTURE_SCHEMA,
    LABEL_TABLES,
    CaptureCodes,
    DenseNumbers,
    Labels,
    to_frame,
)
from nwx.facets.criteria import Criterion, month_name
from nwx.model import DEFAULT_COLLECTION
from nwx.values.media_types import normal_type


@dataclass(frozen=True, slots=True)
class CaptureFrame:
    """Captures in bulk (CAPTURE_SCHEMA), with the mark `after` which reading continues."""

    frame: pl.DataFrame
    after: str


class ArchiveCaptures:
    """The captures index of an archive.

    Its stamp changes whenever captures are written or deleted, the stamp of a month whenever its
    captures change.
    """

    def __init__(self, store: FacetStore) -> None:
        self._store = store

    def stamp(self) -> str:
        """Return the stamp of the archive's captures."""
        return self._store.stamp()

    def month_stamps(self) -> dict[str, str]:
        """Return the stamps of the archive's captures by month (`201301`)."""
        return self._store.month_stamps()

    def frames(self, months: list[str] | None, after: str) -> Iterator[CaptureFrame]:
        """Yield the captures of these months (`201301`), or of all, from a mark on."""
        for rows in self._store.capture_rows(months, after):
            yield CaptureFrame(to_frame(rows.rows), rows.after)


PARQUET_COLUMNS: dict[str, tuple[str, Any]] = {
    "urlkey": ("url_surtkey", pl.String()),
    "url": ("url", pl.String()),
    "host": ("url_host_name", pl.String()),
    "domain": ("url_host_private_domain", pl.String()),
    "public_suffix": ("url_host_private_suffix", pl.String()),
    "crawl_date": ("fetch_time", pl.Datetime("ms", "UTC")),
    "timestamp": ("timestamp", pl.String()),
    "status_code": ("fetch_status", pl.Int32()),
    "redirect_to": ("fetch_redirect", pl.String()),
    "digest": ("content_digest", pl.String()),
    "content_type": ("content_mime_type", pl.String()),
    "content_type_norm": ("content_type_norm", pl.String()),
    "content_length": ("content_length", pl.Int64()),
    "truncated": ("content_truncated", pl.String()),
    "source_file": ("warc_filename", pl.String()),
    "source_file_offset": ("warc_record_offset", pl.Int64()),
    "record_length": ("warc_record_length", pl.Int64()),
    "record_type": ("record_type", pl.String()),
    "collection": ("collection", pl.String()),
    "document_id": ("document_id", pl.String()),
    "method": ("method", pl.String()),
    "revisit_profile": ("revisit_profile", pl.String()),
    "refers_to_url": ("refers_to_url", pl.String()),
    "refers_to_timestamp": ("refers_to_timestamp", pl.String()),
    "hops": ("hops", pl.String()),
    "via": ("via", pl.String()),
}
"""The column and its type for each field of the captures index."""

EXPORT_NOTE = "_nwx.json"
"""The file with an export's metadata: the stamp and the month stamps of its captures."""

_FILE_ROWS = 1_000_000
_MONTH = "month="


def _folder_month(month: str) -> str:
    return month_name(month).replace("-", "")


def to_table(entries: Iterable[Mapping[str, Any]]) -> pl.DataFrame:
    """Return entries of the captures index as a table."""
    fields = [name for name in PARQUET_COLUMNS if name != "crawl_date"]
    schema = {PARQUET_COLUMNS[name][0]: PARQUET_COLUMNS[name][1] for name in fields}
    rows = [tuple(map(entry.get, fields)) for entry in entries]
    table = pl.DataFrame(rows, schema=schema, orient="row")
    time = pl.col("timestamp").str.to_datetime("%Y%m%d%H%M%S", time_unit="ms", strict=False)
    table = table.with_columns(fetch_time=time.dt.replace_time_zone("UTC"))
    return table.select([name for name, _ in PARQUET_COLUMNS.values()])


class ParquetSource:
    """The captures of an export, or of any Parquet files with columns of these names.

    `url`, `content_digest`, and `timestamp` or `fetch_time` are required; values of other missing
    columns are unknown.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._files: dict[str, list[Path]] = {}
        for path in sorted(folder.rglob("*.parquet")):
            named = [part for part in path.parts if part.startswith(_MONTH)]
            month = named[-1].removeprefix(_MONTH).replace("-", "") if named else ""
            self._files.setdefault(month, []).append(path)
        if not self._files:
            raise SourceError(f"there are no Parquet files in {folder}; name an export")

    def stamp(self) -> str:
        """Return the stamp of the exported captures, or one that identifies the files."""
        return str(self._note().get("stamp", f"files {sorted(self.month_stamps().items())}"))

    def month_stamps(self) -> dict[str, str]:
        """Return the exported stamps by month (`201301`), or ones that identify the files."""
        noted: dict[str, str] | None = self._note().get("months")
        if noted is not None:
            return noted
        if "" in self._files:
            raise SourceError(f"{self._folder} has no folders month=2013-01; it cannot be read")
        return {
            month: " ".join(f"{p.name} {p.stat().st_size} {p.stat().st_mtime_ns}" for p in files)
            for month, files in self._files.items()
        }

    def frames(self, months: list[str] | None, after: str) -> Iterator[CaptureFrame]:
        """Yield the captures of these months (`201301`), or of all, from a mark on."""
        # An export has captures without a valid month in one folder.
        wanted = None if months is None else {_folder_month(month) for month in months}
        last: tuple[str, str, int] = ("", "", 0)
        if after:
            month, name, end = after.split("\t")
            last = (month, name, int(end))
        for month, files in sorted(self._files.items()):
            for path in files if wanted is None or month in wanted else ():
                place = (month, str(path.relative_to(self._folder)))
                if place >= last[:2]:
                    yield from self._frames(path, place, last[2] if place == last[:2] else 0)

    def _frames(self, path: Path, place: tuple[str, str], start: int) -> Iterator[CaptureFrame]:
        for low in range(start, capture_rows_in(str(path)), _FILE_ROWS):
            frame = read_capture_slice(str(path), low, _FILE_ROWS)
            yield CaptureFrame(frame, "\t".join((*place, str(low + len(frame)))))

    def _note(self) -> dict[str, Any]:
        path = self._folder / EXPORT_NOTE
        try:
            found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        except FileNotFoundError:
            return {}
        except (OSError, ValueError) as error:
            why = system_reason(error)
            raise SourceError(f"{path} cannot be read ({why}); export again") from error
        return found


CaptureSource = ArchiveCaptures | ParquetSource
"""A source of captures for a build."""


def capture_rows_in(path: str) -> int:
    """Return the number of captures in a Parquet file; raises SourceError if unreadable."""
    with _reading(path):
        lazy = pl.scan_parquet(path, hive_partitioning=False)
        return int(lazy.select(pl.len()).collect().item())


def read_capture_slice(path: str, first: int, rows: int) -> pl.DataFrame:
    """Return some captures of a Parquet file (CAPTURE_SCHEMA).

    Raises SourceError if it cannot be read, or lacks a required column.
    """
    with _reading(path):
        lazy = pl.scan_parquet(path, hive_partitioning=False)
        columns = set(lazy.collect_schema().names())
        return _fields(lazy.slice(first, rows), columns, path)


def _reading(path: str) -> InsteadOf:
    return SourceError.instead_of((OSError, pl.exceptions.PolarsError), f"{path} cannot be read")


def _fields(lazy: pl.LazyFrame, columns: set[str], path: str) -> pl.DataFrame:
    """Return the columns of a table that a build needs, named as in the captures index."""
    if not {"url", "content_digest"} <= columns or not {"timestamp", "fetch_time"} & columns:
        raise SourceError(f"{path} lacks url, content_digest, or timestamp and fetch_time")
    wanted = {}
    for name in CAPTURE_ROW_FIELDS:
        column = PARQUET_COLUMNS[name][0] if name in PARQUET_COLUMNS else ""
        found = pl.col(column) if column in columns else pl.lit(None)
        wanted[name] = found.cast(CAPTURE_SCHEMA[name], strict=False)
    if "timestamp" not in columns:
        wanted["timestamp"] = pl.col("fetch_time").dt.strftime("%Y%m%d%H%M%S")
    if "collection" not in columns:
        wanted["collection"] = pl.lit(DEFAULT_COLLECTION)
    if "content_type_norm" not in columns and "content_mime_type" in columns:
        kinds = pl.col("content_mime_type").fill_null("")
        wanted["content_type_norm"] = kinds.map_elements(normal_type, return_dtype=pl.String)
    return lazy.select(**wanted).collect()


NUMBERED = ("url", "digest")
"""The columns of dense numbers."""


@dataclass(frozen=True, slots=True)
class CapturePart:
    """Captures in the order of their months.

    `after` is the source's mark of the part's end, `months` the first row of each month and the row
    after its last, `labels` the new values in it, `ids` the count of numbers of each kind before
    it.
    """

    after: str
    rows: int
    months: dict[str, tuple[int, int]]
    labels: dict[str, list[str]]
    ids: dict[str, int]


class CaptureParts:
    """The parts in a folder, with labels and numbers that extend those of the previous build."""

    def __init__(
        self, folder: Path, labels: Labels, ids: dict[str, DenseNumbers], key: Any
    ) -> None:
        """Read the parts made for the same `key` (JSON), or remove the existing ones."""
        self._folder = folder
        self.labels = labels
        self.ids = ids
        self.parts: list[CapturePart] = []
        if self._take_up(key):
            return
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        (folder / "key.json").write_text(json.dumps(key), encoding="utf-8")

    @property
    def after(self) -> str:
        """The mark after which reading continues."""
        return self.parts[-1].after if self.parts else ""

    @property
    def rows(self) -> int:
        """The number of captures in all parts."""
        return sum(part.rows for part in self.parts)

    def add(self, encoded: CaptureCodes, after: str) -> None:
        """Add captures: convert their texts to numbers, and write everything to disk.

        The captures of a month are sorted by the numbers of their URLs, and so mostly by the
        numbers of their digests: later reads and writes by number are then sequential instead of
        random.
        """
        counts = {name: self.ids[name].count for name in NUMBERED}
        known = {name: sum(len(p.labels[name]) for p in self.parts) for name in LABEL_TABLES}
        columns = dict(encoded.columns)
        months = columns.pop(Criterion.MONTH)
        urls = self.ids["url"].assign(*encoded.url)
        order = np.lexsort((urls, months))
        arrays = {name: narrow(column[order]) for name, column in columns.items()}
        arrays["url"] = narrow(urls[order])
        arrays["digest"] = narrow(
            self.ids["digest"].assign(*(one[order] for one in encoded.digest))
        )
        for kind in NUMBERED:
            first, second = self.ids[kind].hashes(counts[kind])
            arrays |= {f"{kind}_first": first, f"{kind}_second": second}
        part = CapturePart(
            after,
            len(months),
            _stretches(self.labels.values[Criterion.MONTH], months[order]),
            {
                name: self.labels.values[name][self._before[name] + known[name] :]
                for name in LABEL_TABLES
            },
            counts,
        )
        write_arrays(self._path(len(self.parts)), arrays)
        self._write_head(part)
        self.parts.append(part)

    def month(self, name: str) -> dict[str, Array]:
        """Return the columns of a month (`2013-01`) from all parts."""
        pieces = []
        for number, part in enumerate(self.parts):
            if name in part.months:
                low, high = part.months[name]
                arrays = read_arrays(self._path(number))
                pieces.append({key: arrays[key][low:high] for key in _column_names(arrays)})
        return {key: np.concatenate([piece[key] for piece in pieces]) for key in pieces[0]}

    def months(self) -> list[str]:
        """Return the months that have captures."""
        return sorted({month for part in self.parts for month in part.months})

    def new_hashes(self) -> Iterator[dict[str, Array]]:
        """Yield the hashes of the numbers that each part added, in order (uint64).

        They are `url_first`, `url_second`, `digest_first`, `digest_second`.
        """
        for number in range(len(self.parts)):
            arrays = read_arrays(self._path(number))
            yield {key: arrays[key] for key in arrays if key not in _column_names(arrays)}

    def remove(self) -> None:
        """Remove the parts from disk."""
        shutil.rmtree(self._folder, ignore_errors=True)

    def _take_up(self, key: Any) -> bool:
        """Load the parts made for the same key; return whether any exist."""
        self._before = {name: len(self.labels.values[name]) for name in LABEL_TABLES}
        try:
            kept = json.loads((self._folder / "key.json").read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return False
        if kept != json.loads(json.dumps(key)):
            return False
        while (head := self._folder / f"{len(self.parts)}.json").exists():
            part = CapturePart(**json.loads(head.read_text(encoding="utf-8")))
            for table in LABEL_TABLES:
                self.labels.codes(table, part.labels[table])
            arrays = read_arrays(self._path(len(self.parts)))
            for kind in NUMBERED:
                self.ids[kind].extend(arrays[f"{kind}_first"], arrays[f"{kind}_second"])
            self.parts.append(part)
        return True

    def _path(self, number: int) -> Path:
        return self._folder / f"{number}.arrays"

    def _write_head(self, part: CapturePart) -> None:
        head = self._folder / f"{len(self.parts)}.json"
        new = head.with_suffix(".new")
        named = {name: getattr(part, name) for name in CapturePart.__dataclass_fields__}
        new.write_text(json.dumps(named), encoding="utf-8")
        new.rename(head)


def _column_names(arrays: dict[str, Array]) -> list[str]:
    return [name for name in arrays if not name.endswith(("_first", "_second"))]


def _stretches(labels: Sequence[str], months: Array) -> dict[str, tuple[int, int]]:
    codes, starts = np.unique(months, return_index=True)
    ends = [*starts[1:].tolist(), len(months)]
    return {
        labels[code]: (start, end)
        for code, start, end in zip(codes.tolist(), starts.tolist(), ends, strict=True)
    }
