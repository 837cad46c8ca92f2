"""Captures in Parquet files: one row a capture, a folder a month.

Columns have the names of Common Crawl's index where it has them, and those
of the captures index where it has not.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import polars as pl

from nwx.engine.facet_store import CAPTURE_ROW_FIELDS
from nwx.errors import SourceError
from nwx.facets.building import Frame
from nwx.facets.criteria import month_of
from nwx.facets.frames import SCHEMA
from nwx.model import DEFAULT_COLLECTION
from nwx.values.media_types import normal_type

COLUMNS: dict[str, tuple[str, Any]] = {
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

NOTE = "_nwx.json"
"""What an export says of itself: the stamp and the months of the captures it was made from."""

_FILE_ROWS = 1_000_000
_MONTH = "month="


def to_table(entries: Iterable[Mapping[str, Any]]) -> pl.DataFrame:
    """Return entries of the captures index as a table."""
    fields = [name for name in COLUMNS if name != "crawl_date"]
    schema = {COLUMNS[name][0]: COLUMNS[name][1] for name in fields}
    rows = [tuple(map(entry.get, fields)) for entry in entries]
    table = pl.DataFrame(rows, schema=schema, orient="row")
    time = pl.col("timestamp").str.to_datetime("%Y%m%d%H%M%S", time_unit="ms", strict=False)
    table = table.with_columns(fetch_time=time.dt.replace_time_zone("UTC"))
    return table.select([name for name, _ in COLUMNS.values()])


class ParquetSource:
    """The captures of an export, or of any Parquet files with columns of these names.

    `url`, `content_digest`, and `timestamp` or `fetch_time` must be there,
    what else is missing is unknown.
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
        """Return the stamp of the captures that were exported, or what tells files apart."""
        return str(self._note().get("stamp", f"files {sorted(self.months().items())}"))

    def months(self) -> dict[str, str]:
        """Return for each month (`201301`) a text that tells whether its captures changed."""
        noted: dict[str, str] | None = self._note().get("months")
        if noted is not None:
            return noted
        if "" in self._files:
            raise SourceError(f"{self._folder} has no folders month=2013-01; it cannot be read")
        return {
            month: " ".join(f"{p.name} {p.stat().st_size} {p.stat().st_mtime_ns}" for p in files)
            for month, files in self._files.items()
        }

    def frames(self, months: list[str] | None, after: str) -> Iterator[Frame]:
        """Stream the captures of these months, or of all, from a mark on."""
        # In an export all that is no month lies in one folder.
        wanted = None if months is None else {month_of(month).replace("-", "") for month in months}
        last: tuple[str, str, int] = ("", "", 0)
        if after:
            month, name, end = after.split("\t")
            last = (month, name, int(end))
        for month, files in sorted(self._files.items()):
            for path in files if wanted is None or month in wanted else ():
                place = (month, str(path.relative_to(self._folder)))
                if place >= last[:2]:
                    yield from self._frames(path, place, last[2] if place == last[:2] else 0)

    def _frames(self, path: Path, place: tuple[str, str], start: int) -> Iterator[Frame]:
        try:
            lazy = pl.scan_parquet(path, hive_partitioning=False)
            columns = set(lazy.collect_schema().names())
            rows = int(lazy.select(pl.len()).collect().item())
            for low in range(start, rows, _FILE_ROWS):
                frame = _fields(lazy.slice(low, _FILE_ROWS), columns, path)
                yield Frame(frame, "\t".join((*place, str(low + len(frame)))))
        except (OSError, pl.exceptions.PolarsError) as error:
            raise SourceError(f"{path} cannot be read: {error}") from error

    def _note(self) -> dict[str, Any]:
        path = self._folder / NOTE
        try:
            found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        except FileNotFoundError:
            return {}
        except (OSError, ValueError) as error:
            raise SourceError(f"{path} cannot be read ({error}); export again") from error
        return found


def _fields(lazy: pl.LazyFrame, columns: set[str], path: Path) -> pl.DataFrame:
    """Return what a build needs of a table, by the names of the captures index."""
    if not {"url", "content_digest"} <= columns or not {"timestamp", "fetch_time"} & columns:
        raise SourceError(f"{path} lacks url, content_digest, or timestamp and fetch_time")
    wanted = {}
    for name in CAPTURE_ROW_FIELDS:
        column = COLUMNS[name][0] if name in COLUMNS else ""
        found = pl.col(column) if column in columns else pl.lit(None)
        wanted[name] = found.cast(SCHEMA[name], strict=False)
    if "timestamp" not in columns:
        wanted["timestamp"] = pl.col("fetch_time").dt.strftime("%Y%m%d%H%M%S")
    if "collection" not in columns:
        wanted["collection"] = pl.lit(DEFAULT_COLLECTION)
    if "content_type_norm" not in columns and "content_mime_type" in columns:
        kinds = pl.col("content_mime_type").fill_null("")
        wanted["content_type_norm"] = kinds.map_elements(normal_type, return_dtype=pl.String)
    return lazy.select(**wanted).collect()
