"""The tables of SQL queries: their columns, and their visible rows as frames."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

import polars as pl

from nwx.engine.base import Engine
from nwx.engine.facet_store import CAPTURE_ROW_FIELDS
from nwx.links.archive_links import ArchiveLinks
from nwx.mappings import enriched_fields
from nwx.model import IndexName
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
    **dict.fromkeys(("keywords", "elements_used"), _TEXTS),
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
"""The columns of each table with their types, named as the fields of searches."""

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
"""Views that count captures by their first column: type and expression of each column."""


def view_statements() -> list[str]:
    """Return the statements that make SQL_VIEWS."""
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
    """Stream the rows of a table that an engine shows, of some of its columns only."""
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
    """Where captures in bulk have a column, and what makes its value of that one."""

    place: int
    value: Callable[[Any], Any] | None = None


_IN_BULK = {name: _BulkColumn(place) for place, name in enumerate(CAPTURE_ROW_FIELDS)}
_IN_BULK["host"] = _BulkColumn(_IN_BULK["url"].place, lambda url: url_parts(url).host or None)


def _captures_in_bulk(engine: Engine, columns: Sequence[str]) -> Iterator[pl.DataFrame]:
    schema = {name: _POLARS[SQL_TABLES["captures"][name]] for name in columns}
    for some in engine.facet_store().capture_rows():
        values = list(zip(*some.rows, strict=True))
        if not values:
            continue  # all that were read at once are hidden
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
    while some := list(islice(entries, _AT_ONCE)):
        yield pl.DataFrame({name: [one.get(name) for one in some] for name in columns}, schema)
