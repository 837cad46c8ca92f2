"""Dates and times in the cells of a workbook: numbers that a format shows as such.

ECMA-376 part 1, 18.8.30 (number formats) and 18.17.4 (dates and times).
"""

import re
from datetime import date, timedelta
from enum import Enum, auto
from typing import Final

from nwx.extract.office.xml import Attributes

_MOST_STYLES = 65_536
_LONGEST_FORMAT = 1_000
_LONGEST_NUMBER = 40
_DAY_SECONDS = 86_400
_MOST_DAYS = 2_958_466  # 10000-01-01
_LEAP_DAY_1900 = 60
"""The day that 1900 did not have, and that spreadsheets count."""

_LITERAL = re.compile(r'"[^"]*"|\\.|_.|\*.|\[(?!h+\]|m+\]|s+\])[^\]]*\]', re.I)
_ELAPSED = re.compile(r"\[(h+|m+|s+)\]", re.I)
_TIME = re.compile(r"[hs]|am/pm|a/p", re.I)
_DATE = re.compile(r"[yd]", re.I)
_MONTH_ALONE = re.compile(r"m", re.I)
_GENERAL = re.compile("general", re.I)


class CellFormat(Enum):
    """What a number of a cell is shown as."""

    NUMBER = auto()
    DATE = auto()
    TIME = auto()
    MOMENT = auto()
    ELAPSED = auto()


_BUILT_IN: Final = {
    **dict.fromkeys((*range(14, 18), *range(27, 32), 36, *range(50, 55), 57, 58), CellFormat.DATE),
    **dict.fromkeys((*range(18, 22), *range(32, 36), 45, 47, 55, 56), CellFormat.TIME),
    22: CellFormat.MOMENT,
    46: CellFormat.ELAPSED,
}
"""The formats that have a number and no code; some of 27 to 58 differ by language."""


def format_of(code: str) -> CellFormat:
    """Return what a format code shows a number as; its first section counts."""
    code = _GENERAL.sub("", _LITERAL.sub("", code[:_LONGEST_FORMAT])).partition(";")[0]
    if _ELAPSED.search(code):
        return CellFormat.ELAPSED
    has_time, has_date = _TIME.search(code), _DATE.search(code)
    if has_time:
        return CellFormat.MOMENT if has_date else CellFormat.TIME
    return CellFormat.DATE if has_date or _MONTH_ALONE.search(code) else CellFormat.NUMBER


class CellStyles:
    """Collects what the styles of a workbook show numbers as."""

    def __init__(self) -> None:
        self._codes: dict[str, str] = {}
        self._formats: list[CellFormat] = []
        self._in_cells = False

    def of(self, style: str) -> CellFormat:
        """Return the format of the style that a cell names by its number."""
        number = int(style) if style.isascii() and style.isdigit() and len(style) < 9 else -1
        found = 0 <= number < len(self._formats)
        return self._formats[number] if found else CellFormat.NUMBER

    def start(self, name: str, attributes: Attributes) -> None:
        """Take a format code, or the format of a style of cells."""
        if name == "numFmt" and len(self._codes) < _MOST_STYLES:
            self._codes[attributes.get("numFmtId", "")] = attributes.get("formatCode", "")
        elif name == "cellXfs":
            self._in_cells = True
        elif name == "xf" and self._in_cells and len(self._formats) < _MOST_STYLES:
            self._formats.append(self._format(attributes.get("numFmtId", "")))

    def end(self, name: str) -> None:
        """Leave the styles of cells."""
        if name == "cellXfs":
            self._in_cells = False

    def data(self, text: str) -> None:
        """Pass over text, of which styles have none."""

    def _format(self, id: str) -> CellFormat:
        if id in self._codes:
            return format_of(self._codes[id])
        number = int(id) if id.isascii() and id.isdigit() and len(id) < 9 else 0
        return _BUILT_IN.get(number, CellFormat.NUMBER)


def cell_text(value: str, shown_as: CellFormat, *, from_1904: bool) -> str:
    """Return a number as the date or time that it stands for (ISO 8601), else as it is.

    `from_1904` tells that days are counted from 1904, as on old Macs.
    """
    if shown_as is CellFormat.NUMBER or len(value) > _LONGEST_NUMBER:
        return value
    try:
        number = float(value)
    except ValueError:
        return value
    if not 0 <= number < _MOST_DAYS:
        return value
    days, seconds = divmod(round(number * _DAY_SECONDS), _DAY_SECONDS)
    clock = f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}"
    if shown_as is CellFormat.ELAPSED:
        return f"{days * 24 + seconds // 3600}{clock[2:]}"
    if shown_as is CellFormat.TIME or (shown_as is CellFormat.MOMENT and not days):
        return clock
    day = _date(days, from_1904=from_1904)
    return f"{day} {clock}" if day and seconds and shown_as is CellFormat.MOMENT else day or value


def _date(days: int, *, from_1904: bool) -> str:
    """Return the date of a day, "" of those that no calendar has."""
    if from_1904:
        first = date(1904, 1, 1)
    elif days in (0, _LEAP_DAY_1900):
        return ""
    else:
        first = date(1899, 12, 31) if days < _LEAP_DAY_1900 else date(1899, 12, 30)
    try:
        return (first + timedelta(days)).isoformat()
    except OverflowError:
        return ""
