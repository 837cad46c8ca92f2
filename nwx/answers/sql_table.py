"""The result of an SQL query as a table."""

from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from nwx.answers.tables import ResultTable, frames_of
from nwx.bulk.whole_files import parquet_bytes, whole_file, writing
from nwx.errors import SourceError

if TYPE_CHECKING:
    import polars as pl

    from nwx.searching.sql import SqlAnswer

Row = list[Any]
_WHOLE = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT")
_INTEGERS = frozenset((*_WHOLE, *(f"U{name}" for name in _WHOLE)))


def column_kind(name: str) -> type | tuple[type]:
    """Return the cell type of a column with a DuckDB type."""
    if name.endswith("]"):
        kind = column_kind(name[: name.rindex("[")])
        return (str if isinstance(kind, tuple) else kind,)
    if name in _INTEGERS:
        return int
    if name in ("FLOAT", "DOUBLE") or name.startswith("DECIMAL"):
        return float
    return bool if name == "BOOLEAN" else str


def is_time(name: str) -> bool:
    """Return whether a DuckDB type is a timestamp, not a list of them."""
    return name.startswith("TIMESTAMP") and not name.endswith("]")


def _with_texts(row: Row, kinds: Sequence[object]) -> Row:
    """Return a row with text in the columns of text: values of a union can have any type."""
    return [
        _text(cell)
        if kind is str
        else list(map(_text, cell))
        if kind == (str,) and cell is not None
        else cell
        for kind, cell in zip(kinds, row, strict=True)
    ]


def _text(cell: object) -> str | None:
    return cell if cell is None or isinstance(cell, str) else str(cell)


class SqlTable(ResultTable[Row]):
    """The rows of an answer; each iteration runs the query, until `len` or a slice caches them.

    After the last row, `has_more` says whether rows were left out. Pickles contain the rows.
    """

    def __init__(self, ask: "Callable[[], SqlAnswer]") -> None:
        self._ask = ask
        self._begun: SqlAnswer | None = ask()
        self.types: dict[str, str] = {}
        for name, kind in self._begun.columns:
            number = 1
            while (column := name if number == 1 else f"{name}_{number}") in self.types:
                number += 1
            self.types[column] = kind
        self.has_more = False
        self._rows: list[Row] | None = None

    def __getstate__(self) -> dict[str, Any]:
        len(self)  # reads them
        return {**vars(self), "_ask": None}

    @property
    def columns(self) -> tuple[str, ...]:
        """The column names, made unique: `x`, `x_2`."""
        return tuple(self.types)

    def __iter__(self) -> Iterator[Row]:
        if self._rows is not None:
            yield from self._rows
            return
        answer, self._begun = self._begun or self._ask(), None
        with answer:
            yield from answer
            self.has_more = answer.has_more

    def __len__(self) -> int:
        if self._rows is None:
            self._rows = [*iter(self)]
        return len(self._rows)

    def rows_between(self, start: int, stop: int | None) -> list[Row]:
        return list(islice(self, start, min(stop, len(self)) if stop is not None else len(self)))

    def frames(self) -> "Iterator[pl.DataFrame]":
        """Stream the rows as frames; timestamps become UTC datetime columns."""
        import polars as pl

        kinds = {name: column_kind(kind) for name, kind in self.types.items()}
        times = [name for name, kind in self.types.items() if is_time(kind)]
        to_time = pl.col(times).str.to_datetime(time_unit="us", time_zone="UTC", strict=False)
        rows = (_with_texts(row, tuple(kinds.values())) for row in self)
        for frame in frames_of(kinds, rows):
            yield frame.with_columns(to_time) if times else frame

    def cells(self, row: Row) -> Sequence[object]:
        return row

    def text_cells(self, row: Row) -> Sequence[object]:
        """Return the values of a row for a text file: lists are joined by spaces."""
        return [" ".join(map(str, one)) if isinstance(one, list) else one for one in row]

    def to_parquet(self, path: Path) -> int:
        """Write all rows to a Parquet file, a batch at a time; return their number."""
        import polars as pl

        count = 0
        with TemporaryDirectory(prefix="nwx-sql-") as folder, whole_file(path) as stream:
            for number, frame in enumerate(self.frames()):
                count += len(frame)
                with writing(Path(folder)):
                    (Path(folder) / f"{number:08}.parquet").write_bytes(parquet_bytes(frame))
            # polars wraps errors of the stream.
            with SourceError.instead_of(pl.exceptions.ComputeError, f"{path} cannot be written"):
                pl.scan_parquet(Path(folder)).sink_parquet(stream)
        return count

    def close(self) -> None:
        """Stop the query if it is still running."""
        if self._begun is not None:
            self._begun.close()
