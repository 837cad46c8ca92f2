"""CSV of archived values that is safe to open in a spreadsheet."""

import csv
import io
from collections.abc import Iterable

_END = "\r\n"  # other ends would let a carriage return stand without quotes
FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")


def csv_line(cells: Iterable[object], end: str = "\r\n") -> str:
    """Return a line of CSV without formulas."""
    line = io.StringIO()
    csv.writer(line, lineterminator=_END).writerow([plain_cell(cell) for cell in cells])
    return line.getvalue().removesuffix(_END) + end


def plain_cell(value: object) -> object:
    """Return a cell that no spreadsheet interprets as a formula.

    OWASP, "CSV Injection": a quote is put before characters that begin a formula.
    """
    if isinstance(value, str) and value.startswith(FORMULA_STARTS):
        return f"'{value}"
    return value
