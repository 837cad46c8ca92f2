"""CSV of archived values (RFC 4180) that is safe to open in a spreadsheet."""

import csv
import io
import re
from collections.abc import Iterable, Iterator

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
