"""Records (dataclasses, named tuples): conversion from others, and output as JSON and safe CSV."""

import csv
import io
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, fields
from json import dumps
from typing import Any, TypeVar

_Record = TypeVar("_Record")
_NAMES: dict[Any, tuple[str, ...]] = {}
"""The field names of each kind of record, cached as looking them up is slower than copying."""


def copied(kind: type[_Record], *sources: object, **values: Any) -> _Record:
    """Return a record with the given values, and all others from the sources' attributes.

    The first source with an attribute of the same name counts; fields without any keep their
    defaults.
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
    """Return a record with the given values, the others from a mapping; ignores unknown keys."""
    found = {name: entry[name] for name in _field_names(kind) if name in entry}
    return kind(**found | values)


def add_counts(total: object, other: object) -> None:
    """Add the fields of `other`, numbers or Counters, to the same fields of `total`."""
    for name in _field_names(type(other)):
        setattr(total, name, getattr(total, name) + getattr(other, name))


def json_array(records: Iterable[Any]) -> Iterator[str]:
    """Yield dataclasses as a JSON array, one object per line."""
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


_END = "\r\n"  # with other line ends, a carriage return would not be quoted
FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")
BYTE_ORDER_MARK = "\ufeff"
"""The start of a file that makes Excel read it as UTF-8."""

TIME_COLUMNS = (
    *("timestamp", "first_date", "last_date", "dates", "first", "last", "due"),
    *("checked", "original", "reviewed", "before", "after"),
)
"""Columns whose 14-digit timestamps are written as ISO 8601 dates in UTC."""

LOCAL_TIME = "taken"
"""The column with times in the unknown time zone of a camera."""

_TIMESTAMP = re.compile(r"(?<!\S)(\d{4})(\d\d)(\d\d)(\d\d)(\d\d)(\d\d)(?!\S)", re.ASCII)


def csv_lines(columns: Iterable[object], rows: Iterable[Iterable[object]]) -> Iterator[str]:
    """Yield the lines of a table as CSV, the names of its columns first.

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
    """Return a line of CSV, with cells made safe by `plain_cell`."""
    line = io.StringIO()
    csv.writer(line, lineterminator=_END).writerow([plain_cell(cell) for cell in cells])
    return line.getvalue()


def plain_cell(value: object) -> object:
    """Return a cell that no spreadsheet interprets as a formula.

    A quote is put before characters that begin a formula (OWASP, "CSV Injection").
    """
    if isinstance(value, str) and value.startswith(FORMULA_STARTS):
        return f"'{value}"
    return value
