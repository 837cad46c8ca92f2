"""Records (dataclasses, named tuples) made from others, and written as JSON and as safe CSV."""

import csv
import io
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, fields
from json import dumps
from typing import Any, TypeVar

_Record = TypeVar("_Record")
_NAMES: dict[Any, tuple[str, ...]] = {}
"""The names of the fields of each kind of record: looking them up takes longer than copying."""


def copied(kind: type[_Record], *sources: object, **values: Any) -> _Record:
    """Return a record with the given values, and all others from attributes of the same name.

    The first source that has the attribute counts. Fields that no source has keep their defaults.
    """
    found = {
        name: getattr(source, name)
        for name in _field_names(kind)
        if name not in values
        for source in sources[::-1]
        if hasattr(source, name)
    }
    return kind(**found, **values)


def from_mapping(kind: type[_Record], entry: Mapping[str, Any], **values: Any) -> _Record:
    """Return a record with the given values, and all others from a mapping; unknown names stay."""
    found = {name: entry[name] for name in _field_names(kind) if name in entry}
    return kind(**found | values)


def add_counts(total: object, other: object) -> None:
    """Add each field of a dataclass of counts, numbers or Counters, to that of another."""
    for name in _field_names(type(other)):
        setattr(total, name, getattr(total, name) + getattr(other, name))


def json_array(records: Iterable[Any]) -> Iterator[str]:
    """Stream dataclasses as a JSON array, an object a line."""
    opening = "["
    for record in records:
        yield f"{opening}\n{dumps(asdict(record), ensure_ascii=False)}"
        opening = ","
    yield "[]\n" if opening == "[" else "\n]\n"


def _field_names(kind: Any) -> tuple[str, ...]:
    names = _NAMES.get(kind)
    if names is None:
        fields_of_tuple: tuple[str, ...] | None = getattr(kind, "_fields", None)
        names = _NAMES[kind] = fields_of_tuple or tuple(field.name for field in fields(kind))
    return names


_END = "\r\n"  # other ends would let a carriage return stand without quotes
FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")
BYTE_ORDER_MARK = "\ufeff"
"""Excel reads a file as UTF-8 if it begins with this."""

TIME_COLUMNS = frozenset(
    ("timestamp", "first_date", "last_date", "dates", "first", "last", "due", "checked", "original")
)
"""Columns whose 14-digit timestamps are written as ISO 8601 dates in UTC."""

LOCAL_TIME = "taken"
"""The column of dates in the unknown time zone of a camera."""

_TIMESTAMP = re.compile(r"(?<!\S)(\d{4})(\d\d)(\d\d)(\d\d)(\d\d)(\d\d)(?!\S)", re.ASCII)


def csv_lines(columns: Iterable[object], rows: Iterable[Iterable[object]]) -> Iterator[str]:
    """Yield the lines of a table, the names of its columns first.

    Missing values are empty, the values of a list are separated by blanks.
    """
    names = [str(name) for name in columns]
    zones = {**dict.fromkeys(TIME_COLUMNS, "Z"), LOCAL_TIME: ""}
    times = [zones.get(name) for name in names]
    yield csv_line(names)
    for row in rows:
        yield csv_line(map(_cell, row, times))


def _cell(value: object, zone: str | None) -> object:
    if isinstance(value, list | tuple):
        value = " ".join(map(str, value))
    if zone is None or not isinstance(value, str):
        return value
    return _TIMESTAMP.sub(rf"\1-\2-\3T\4:\5:\6{zone}", value)


def csv_line(cells: Iterable[object]) -> str:
    """Return a line of CSV without formulas."""
    line = io.StringIO()
    csv.writer(line, lineterminator=_END).writerow([plain_cell(cell) for cell in cells])
    return line.getvalue()


def plain_cell(value: object) -> object:
    """Return a cell that no spreadsheet interprets as a formula.

    OWASP, "CSV Injection": a quote is put before characters that begin a formula.
    """
    if isinstance(value, str) and value.startswith(FORMULA_STARTS):
        return f"'{value}"
    return value
