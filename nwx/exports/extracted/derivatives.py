"""Tables of pages, links and files as the Archives Unleashed Toolkit makes and names them."""

import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import polars as pl

from nwx.bulk.pool import Pool
from nwx.bulk.progress import ShowProgress, no_progress
from nwx.bulk.resources import processors
from nwx.bulk.whole_files import parquet_bytes, whole_folder
from nwx.exports.extracted.inputs import (
    FILE_FAILURES,
    ExtractReport,
    InputFile,
    Inputs,
    Visibility,
    VisibleRecords,
)
from nwx.exports.extracted.payload_rows import DERIVATIVES, payload_rows
from nwx.model import ReadError
from nwx.values.csv_cells import csv_lines
from nwx.values.records import add_counts

DOMAINS = "domain-frequency"
_PART_ROWS, _PART_CHARACTERS = 50_000, 16 << 20
_TYPES: Mapping[str, Any] = dict.fromkeys(("count", "width", "height", "size"), pl.Int64)


def export_derivatives(
    inputs: Inputs,
    folder: Path,
    *,
    workers: int | None = None,
    progress: ShowProgress = no_progress,
) -> ExtractReport:
    """Write the tables of DERIVATIVES and of domains to a new folder, as CSV and as Parquet.

    Each file is read once. The folder appears when it is complete. Raises SourceError if it exists
    already or cannot be written.
    """
    began = time.monotonic()
    report = ExtractReport(errors=list(inputs.errors))
    domains: Counter[str] = Counter()
    with whole_folder(folder) as new:
        for name in (DOMAINS, *DERIVATIVES):
            (new / "parquet" / name).mkdir(parents=True)
        tasks = [(one, number, new, inputs.shown) for number, one in enumerate(inputs.files)]
        sizes = [one.source.size or 1 for one in inputs.files]
        with Pool(min(workers or processors(), len(tasks)) or 1) as pool:
            for result in pool.map_shown(_export_file, tasks, progress, "exporting", sizes):
                add_counts(report, result.report)
                domains += result.domains
        counted = sorted(domains.items(), key=lambda pair: (-pair[1], pair[0]))
        _write_part(new, DOMAINS, 0, 0, counted)
        for name in (DOMAINS, *DERIVATIVES):
            _write_csv(new, name)
        report.bytes = sum(one.stat().st_size for one in new.rglob("*") if one.is_file())
    report.seconds = time.monotonic() - began
    return report


@dataclass(slots=True)
class _FileResult:
    report: ExtractReport
    domains: Counter[str] = field(default_factory=Counter)


def _export_file(one: InputFile, number: int, folder: Path, shown: Visibility) -> _FileResult:
    result = _FileResult(ExtractReport())
    records = VisibleRecords(one.source, one.collection, shown)
    parts = _Parts(folder, number)
    try:
        for record in records:
            result.report.records += 1
            found = payload_rows(record, one.source.name, records.errors)
            if found is not None:
                result.domains[found.domain] += 1
                for table, row in found.rows:
                    parts.add(table, row)
                    result.report.written += 1
        result.report.files = 1
    except FILE_FAILURES as error:
        message = f"cannot be read: {error}"
        records.errors.append(ReadError(one.source.name, None, "read", message))
    parts.finish()
    result.report.hidden, result.report.errors = records.hidden, records.errors
    return result


class _Parts:
    """Rows of one archive file on their way into Parquet files, a bounded number at once."""

    def __init__(self, folder: Path, number: int) -> None:
        self._folder, self._number = folder, number
        self._held: dict[str, list[tuple[Any, ...]]] = {name: [] for name in DERIVATIVES}
        self._written: Counter[str] = Counter()
        self._rows = self._characters = 0

    def add(self, table: str, row: tuple[Any, ...]) -> None:
        """Add a row."""
        self._held[table].append(row)
        self._rows += 1
        self._characters += sum(len(value) for value in row if isinstance(value, str))
        if self._rows >= _PART_ROWS or self._characters >= _PART_CHARACTERS:
            self.finish()

    def finish(self) -> None:
        """Write the rows that are held."""
        for table, rows in self._held.items():
            if rows:
                _write_part(self._folder, table, self._number, self._written[table], rows)
                self._written[table] += 1
                rows.clear()
        self._rows = self._characters = 0


def _write_part(
    folder: Path, table: str, file: int, part: int, rows: Sequence[tuple[Any, ...]]
) -> None:
    columns = ("domain", "count") if table == DOMAINS else DERIVATIVES[table]
    schema = {name: _TYPES.get(name, pl.String) for name in columns}
    frame = pl.DataFrame(rows, schema, orient="row")
    path = folder / "parquet" / table / f"part-{file:06}-{part:05}.parquet"
    path.write_bytes(parquet_bytes(frame))


def _write_csv(folder: Path, table: str) -> None:
    """Write the parts of a table into one CSV file; a table without rows gets an empty part."""
    place = folder / "parquet" / table
    if not any(place.iterdir()):
        _write_part(folder, table, 0, 0, [])
    columns = ("domain", "count") if table == DOMAINS else DERIVATIVES[table]
    path = folder / "csv" / f"{table}.csv"
    path.parent.mkdir(exist_ok=True)
    with path.open("w", encoding="utf-8", newline="") as stream:
        stream.writelines(csv_lines(columns, _rows(sorted(place.iterdir()))))


def _rows(parts: Sequence[Path]) -> Iterator[tuple[Any, ...]]:
    for part in parts:
        yield from pl.read_parquet(part).iter_rows()
