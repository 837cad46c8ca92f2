"""SQL queries: tables and columns, copies of visible rows for DuckDB, and streamed answers."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import asdict, dataclass
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from weakref import finalize

import polars as pl

from nwx.bulk.child_processes import ChildProcess, Death
from nwx.bulk.progress import batches
from nwx.bulk.whole_files import parquet_bytes, writing
from nwx.engine.base import Engine
from nwx.engine.document_index import current_work
from nwx.engine.facet_store import CAPTURE_ROW_FIELDS
from nwx.errors import ErrorText, QueryError, QuestionTimeoutError, UsageError
from nwx.links.archive_links import ArchiveLinks
from nwx.mappings import OTHER_FIELDS, enriched_fields
from nwx.model import IndexName
from nwx.searching import serve_sql
from nwx.values.urls import url_parts

_TEXT, _TIME, _NUMBER, _TEXTS = "VARCHAR", "TIMESTAMP", "BIGINT", "VARCHAR[]"
_NUMBERS = "BIGINT[]"
_DEGREES = "DOUBLE"
_POLARS: Mapping[str, pl.DataType] = {
    _TEXT: pl.String(),
    _TIME: pl.String(),
    _NUMBER: pl.Int64(),
    _DEGREES: pl.Float64(),
    _TEXTS: pl.List(pl.String()),
    _NUMBERS: pl.List(pl.Int64()),
}
_ISO = "%Y-%m-%dT%H:%M:%SZ"
_FIELD_TYPES = {
    **dict.fromkeys(("keywords", "elements_used", OTHER_FIELDS), _TEXTS),
    "elements_counts": _NUMBERS,
    **dict.fromkeys(("publication_date", "last_modified", "exif_date"), _TIME),
}
_PLACE = dict.fromkeys(("collection", "source_file", "record_type", "redirect_to"), _TEXT)
_CAPTURE = {
    **dict.fromkeys(("url", "urlkey", "host", "domain", "public_suffix"), _TEXT),
    "timestamp": _TIME,
    "status_code": _NUMBER,
    "content_type": _TEXT,
    "content_type_norm": _TEXT,
    "content_length": _NUMBER,
    "digest": _TEXT,
    **_PLACE,
    "source_file_offset": _NUMBER,
    "record_length": _NUMBER,
}
SQL_TABLES: Mapping[str, Mapping[str, str]] = {
    "captures": {
        **_CAPTURE,
        **dict.fromkeys(("document_id", "method", "revisit_profile", "refers_to_url"), _TEXT),
        "refers_to_timestamp": _TIME,
        **dict.fromkeys(("truncated", "hops", "via"), _TEXT),
    },
    "documents": {
        "id": _TEXT,
        **_CAPTURE,
        **dict.fromkeys(("content_language", "title", "description", "author"), _TEXT),
        "headings": _TEXTS,
        "content": _TEXT,
        "problems": _TEXTS,
        **{name: _FIELD_TYPES.get(name, _TEXT) for name in enriched_fields()},
    },
    "links": {
        **dict.fromkeys(("source", "target"), _TEXT),
        "timestamp": _TIME,
        **dict.fromkeys(("kind", "anchor"), _TEXT),
    },
    "pictures": {
        **dict.fromkeys(("id", "url", "urlkey", "host", "domain", "collection"), _TEXT),
        "timestamp": _TIME,
        **dict.fromkeys(("digest", "content_type"), _TEXT),
        **dict.fromkeys(("content_length", "width", "height", "hash"), _NUMBER),
        "colours": _TEXTS,
        **dict.fromkeys(("latitude", "longitude"), _DEGREES),
        "taken": _TIME,
    },
}
"""The columns of each table with their types, named like the fields of searches."""

SQL_VIEWS: Mapping[str, Mapping[str, tuple[str, str]]] = {
    "hosts": {
        "host": (_TEXT, "host"),
        "domain": (_TEXT, "any_value(domain)"),
        "captures": (_NUMBER, "count(*)"),
        "urls": (_NUMBER, "count(DISTINCT url)"),
        "digests": (_NUMBER, "count(DISTINCT digest)"),
        "bytes": (_NUMBER, "sum(content_length)::BIGINT"),
        "first_timestamp": (_TIME, "min(timestamp)"),
        "last_timestamp": (_TIME, "max(timestamp)"),
    },
}
"""Views that group captures by their first column: type and expression of each column."""


def view_statements() -> list[str]:
    """Return the statements that create SQL_VIEWS."""
    return [
        f"CREATE VIEW {name} AS SELECT"
        f" {', '.join(f'{made} AS {column}' for column, (_, made) in columns.items())}"
        f" FROM captures GROUP BY {next(iter(columns))}"
        for name, columns in SQL_VIEWS.items()
    ]


def all_columns() -> dict[str, dict[str, str]]:
    """Return the columns of tables and views with their types."""
    views = {name: {one: kind for one, (kind, _) in of.items()} for name, of in SQL_VIEWS.items()}
    return {**{name: dict(columns) for name, columns in SQL_TABLES.items()}, **views}


_AT_ONCE = 20_000
_Row = Mapping[str, Any]


def table_frames(engine: Engine, table: str, columns: Sequence[str]) -> Iterator[pl.DataFrame]:
    """Stream the rows of a table that are visible in an engine, with the given columns only."""
    if table == "links":
        frames: Iterable[pl.DataFrame] = ArchiveLinks(engine).frames()
    elif table == "captures" and all(name in _IN_BULK for name in columns):
        frames = _captures_in_bulk(engine, columns)
    else:
        frames = _entry_frames(engine, table, columns)
    for frame in frames:
        yield frame.select(
            pl.col(name).str.to_datetime(
                _ISO if name in _FIELD_TYPES else "%Y%m%d%H%M%S", time_unit="us", strict=False
            )
            if SQL_TABLES[table][name] == _TIME
            else pl.col(name)
            for name in columns
        )


@dataclass(frozen=True, slots=True)
class _BulkColumn:
    """The position of a column in bulk rows of captures, and the conversion of its value."""

    place: int
    value: Callable[[Any], Any] | None = None


_IN_BULK = {name: _BulkColumn(place) for place, name in enumerate(CAPTURE_ROW_FIELDS)}
_IN_BULK["host"] = _BulkColumn(_IN_BULK["url"].place, lambda url: url_parts(url).host or None)


def _captures_in_bulk(engine: Engine, columns: Sequence[str]) -> Iterator[pl.DataFrame]:
    schema = {name: _POLARS[SQL_TABLES["captures"][name]] for name in columns}
    for some in engine.facet_store().capture_rows():
        values = list(zip(*some.rows, strict=True))
        if not values:
            continue  # all rows of this batch are hidden
        found = {}
        for name in columns:
            column = _IN_BULK[name]
            cells = values[column.place]
            found[name] = cells if column.value is None else list(map(column.value, cells))
        yield pl.DataFrame(found, schema)


def _entry_frames(engine: Engine, table: str, columns: Sequence[str]) -> Iterator[pl.DataFrame]:
    schema = {name: _POLARS[SQL_TABLES[table][name]] for name in columns}
    entries: Iterator[_Row] = engine.scan(IndexName(table))
    if table == "pictures":
        entries = (one for one in entries if one["kind"] == "picture")
    for some in batches(entries, _AT_ONCE):
        yield pl.DataFrame({name: [one.get(name) for one in some] for name in columns}, schema)


LONGEST_SQL = 20_000
_GRACE_SECONDS = 2.0
_MIB = 1 << 20


@dataclass(frozen=True, slots=True)
class SqlLimits:
    """The limits of a query; `disk_bytes` apply to copies of rows and to large sorts.

    `bytes` apply to the whole answer or, if `is_streamed`, to 500 rows of it.
    """

    seconds: float = 300.0
    rows: int = 1 << 62
    bytes: int = 256 * _MIB
    memory_bytes: int = 2048 * _MIB
    disk_bytes: int = 64 << 30
    threads: int = 2
    is_streamed: bool = True


class SqlAnswer(AbstractContextManager["SqlAnswer"]):
    """A running query: its columns with their types, and rows that can be read once.

    After the last row, `has_more` says whether rows were left out. `close` ends the query.
    """

    def __init__(self, engine: Engine, query: str, limits: SqlLimits) -> None:
        """Copy the rows that the query reads, and start it; raises QueryError if it is refused."""
        self.has_more = False
        self._limits = limits
        with ExitStack() as stack:
            folder = Path(stack.enter_context(TemporaryDirectory(prefix="nwx-sql-")))
            self._process = _start()
            stack.callback(self._process.end)
            reads = self._ask(_task(query, folder, limits))["reads"]
            written = _write_tables(engine, reads, folder, limits.disk_bytes)
            found = self._ask(written)["columns"]
            self.columns: Sequence[tuple[str, str]] = [(name, kind) for name, kind in found]
            # Without a call of `close`, garbage collection ends the process and removes the folder.
            self.close = finalize(self, stack.pop_all().close)

    def __iter__(self) -> Iterator[list[Any]]:
        while "rows" in (answer := self._ask()):
            yield from answer["rows"]
        self.has_more = answer["has_more"]
        self.close()

    def __exit__(self, *_: object) -> None:
        self.close()

    def _ask(self, *messages: Mapping[str, Any]) -> dict[str, Any]:
        work = current_work()
        work.check()
        left = work.remaining_seconds()
        seconds = self._limits.seconds + _GRACE_SECONDS if left is None else left
        data = self._process.ask(*(json.dumps(one).encode() for one in messages), seconds=seconds)
        if isinstance(data, Death):
            if data.was_late:
                raise QuestionTimeoutError.translated(
                    "the query took longer than %(seconds)s s; read less, or add LIMIT",
                    seconds=min(self._limits.seconds, work.seconds or self._limits.seconds),
                )
            raise QueryError.translated("the query needs more memory or disk space than allowed")
        answer: dict[str, Any] = json.loads(data)
        if "refused" in answer:
            raise QueryError(ErrorText.from_json(answer["refused"]))
        return answer


def _start() -> ChildProcess:
    if find_spec("duckdb") is None:
        raise UsageError.translated(
            "SQL needs DuckDB, which is not installed; run pip install 'nwx[sql]'"
        )
    return ChildProcess(serve_sql)


def _task(query: str, folder: Path, limits: SqlLimits) -> dict[str, Any]:
    if len(query) > LONGEST_SQL:
        raise QueryError.translated("the query has more than %(most)s characters", most=LONGEST_SQL)
    return {
        "query": query,
        "folder": str(folder),
        "limits": asdict(limits),
        "tables": SQL_TABLES,
        "views": view_statements(),
        "known": {name: list(columns) for name, columns in all_columns().items()},
    }


def _write_tables(
    engine: Engine, reads: Mapping[str, Sequence[str]], folder: Path, most: int
) -> dict[str, list[str]]:
    """Write the columns that a query reads as Parquet files; return those of tables with rows."""
    work, size = current_work(), 0
    written: dict[str, list[str]] = {}
    for table, columns in reads.items():
        # A query that only counts rows needs any one column.
        wanted = columns or ["url" if "url" in SQL_TABLES[table] else "kind"]
        for number, frame in enumerate(table_frames(engine, table, wanted)):
            work.check()
            path = folder / f"{table}-{number:06}.parquet"
            with writing(path):
                path.write_bytes(parquet_bytes(frame))
            written[table] = list(wanted)
            size += path.stat().st_size
            if size > most:
                raise QueryError.translated(
                    "the query reads more than %(most)s MiB of columns; select fewer",
                    most=most // _MIB,
                )
    return written
