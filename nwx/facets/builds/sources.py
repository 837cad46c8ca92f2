"""Sources of captures for a build: the captures index of an archive, or Parquet files.

The Parquet files have one row per capture and one folder per month. Their columns are named as
in Common Crawl's index where it has them, otherwise as in the captures index.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from nwx.engine.facet_store import CAPTURE_ROW_FIELDS, FacetStore
from nwx.errors import InsteadOf, SourceError
from nwx.facets.codes import CAPTURE_SCHEMA, to_frame
from nwx.facets.criteria import month_name
from nwx.model import DEFAULT_COLLECTION
from nwx.values.media_types import normal_type


@dataclass(frozen=True, slots=True)
class CaptureFrame:
    """Captures in bulk (CAPTURE_SCHEMA), with the mark `after` which reading continues."""

    frame: pl.DataFrame
    after: str


class ArchiveCaptures:
    """The captures index of an archive.

    A stamp differs whenever captures were written or deleted, that of a month whenever its captures
    changed.
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
        """Stream the captures of these months (`201301`), or of all, from a mark on."""
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
"""What an export says of itself: the stamp and the months of the captures it was made from."""

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
        """Stream the captures of these months (`201301`), or of all, from a mark on."""
        # An export keeps captures without a valid month in one folder.
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
            raise SourceError(f"{path} cannot be read ({error}); export again") from error
        return found


CaptureSource = ArchiveCaptures | ParquetSource
"""Where captures come from."""


def capture_rows_in(path: str) -> int:
    """Return how many captures a Parquet file has; raises SourceError if it cannot be read."""
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
