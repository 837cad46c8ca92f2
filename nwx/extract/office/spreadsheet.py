"""Sheets of an Office Open XML workbook, one line per row."""

import re
from datetime import date, timedelta
from enum import Enum, auto
from typing import Final

from nwx.extract.office.parts import (
    Attributes,
    Parts,
    Relations,
    XmlHandler,
    read_xml,
    relations_of,
)
from nwx.extract.office.text import OfficeText

_MOST_STYLES = 65_536
_LONGEST_FORMAT = 1_000
_LONGEST_NUMBER = 40
_DAY_SECONDS = 86_400
_MOST_DAYS = 2_958_466  # 10000-01-01
_LEAP_DAY_1900 = 60
"""The day number of 29 February 1900, which did not exist but is counted in spreadsheets."""

_LITERAL = re.compile(r'"[^"]*"|\\.|_.|\*.|\[(?!h+\]|m+\]|s+\])[^\]]*\]', re.I)
_ELAPSED = re.compile(r"\[(h+|m+|s+)\]", re.I)
_TIME = re.compile(r"[hs]|am/pm|a/p", re.I)
_DATE = re.compile(r"[yd]", re.I)
_MONTH_ALONE = re.compile(r"m", re.I)
_GENERAL = re.compile("general", re.I)


class CellFormat(Enum):
    """The display format of a cell's number."""

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
"""Built-in formats by number, which have no code; some of 27 to 58 depend on the language."""


def format_of(code: str) -> CellFormat:
    """Return the display format of a format code, by its first section."""
    code = _GENERAL.sub("", _LITERAL.sub("", code[:_LONGEST_FORMAT])).partition(";")[0]
    if _ELAPSED.search(code):
        return CellFormat.ELAPSED
    has_time, has_date = _TIME.search(code), _DATE.search(code)
    if has_time:
        return CellFormat.MOMENT if has_date else CellFormat.TIME
    return CellFormat.DATE if has_date or _MONTH_ALONE.search(code) else CellFormat.NUMBER


class CellStyles(XmlHandler):
    """Collects the number formats of a workbook's styles."""

    def __init__(self) -> None:
        self._codes: dict[str, str] = {}
        self._formats: list[CellFormat] = []
        self._in_cells = False

    def shown_as(self, style: str) -> CellFormat:
        """Return the format of a cell's style, given its number."""
        number = int(style) if style.isascii() and style.isdigit() and len(style) < 9 else -1
        found = 0 <= number < len(self._formats)
        return self._formats[number] if found else CellFormat.NUMBER

    def start(self, name: str, attributes: Attributes) -> None:
        """Collect a format code, or the format of a cell style."""
        if name == "numFmt" and len(self._codes) < _MOST_STYLES:
            self._codes[attributes.get("numFmtId", "")] = attributes.get("formatCode", "")
        elif name == "cellXfs":
            self._in_cells = True
        elif name == "xf" and self._in_cells and len(self._formats) < _MOST_STYLES:
            self._formats.append(self._format(attributes.get("numFmtId", "")))

    def end(self, name: str) -> None:
        if name == "cellXfs":
            self._in_cells = False

    def _format(self, id: str) -> CellFormat:
        if id in self._codes:
            return format_of(self._codes[id])
        number = int(id) if id.isascii() and id.isdigit() and len(id) < 9 else 0
        return _BUILT_IN.get(number, CellFormat.NUMBER)


def cell_text(value: str, shown_as: CellFormat, *, from_1904: bool) -> str:
    """Return a number as its date or time (ISO 8601) if formatted so, else unchanged.

    `from_1904` means that days are counted from 1904, as on old Macs.
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
    """Return the ISO 8601 date of a day number, "" for dates that do not exist."""
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


_MOST_STRINGS = 1_000_000
_MOST_CHARACTERS = 32 << 20  # of all shared strings
_LONGEST_CELL = 32_767  # characters, as in Excel
_LONGEST_INDEX = 9
_SHARED = "s"
_NUMBERS = frozenset(("", "n"))
_TRUE = frozenset(("1", "true"))


def read_workbook(parts: Parts, text: OfficeText, name: str, relations: Relations) -> None:
    """Add the sheets of a workbook to a text, in order."""
    strings = _SharedStrings(parts.problems)
    for other in relations.of_kind("sharedStrings") or ["xl/sharedStrings.xml"]:
        read_xml(parts, other, strings)
    styles = CellStyles()
    for other in relations.of_kind("styles") or ["xl/styles.xml"]:
        read_xml(parts, other, styles)
    names = _SheetNames()
    read_xml(parts, name, names)
    known = [(title, relations.parts[id]) for title, id in names.found if id in relations.parts]
    for title, sheet in known or [("", each) for each in _sheet_parts(parts)]:
        text.add(title)
        text.end_block()
        rows = _Rows(text, strings.found, styles, relations_of(parts, sheet))
        rows.from_1904 = names.from_1904
        read_xml(parts, sheet, rows)
        text.end_block()


def _sheet_parts(parts: Parts) -> list[str]:
    return sorted(name for name in parts.names if name.startswith("xl/worksheets/sheet"))


class _SheetNames(XmlHandler):
    """Collects names and relation ids of the sheets, and the epoch of day numbers."""

    def __init__(self) -> None:
        self.found: list[tuple[str, str]] = []
        self.from_1904 = False

    def start(self, name: str, attributes: Attributes) -> None:
        if name == "sheet":
            self.found.append((attributes.get("name", ""), attributes.get("id", "")))
        elif name == "workbookPr":
            self.from_1904 = attributes.get("date1904", "") in _TRUE


class _SharedStrings(XmlHandler):
    """Collects the strings that cells refer to by number, within limits."""

    def __init__(self, problems: list[str]) -> None:
        self.found: list[str] = []
        self._problems = problems
        self._pieces: list[str] = []
        self._left = _MOST_CHARACTERS
        self._in_text = self._is_phonetic = False

    def start(self, name: str, attributes: Attributes) -> None:
        if name == "si":
            self._pieces = []
        elif name == "t":
            self._in_text = not self._is_phonetic
        elif name == "rPh":
            self._is_phonetic = True

    def end(self, name: str) -> None:
        if name == "si":
            self._keep("".join(self._pieces)[:_LONGEST_CELL])
        elif name == "t":
            self._in_text = False
        elif name == "rPh":
            self._is_phonetic = False

    def _keep(self, string: str) -> None:
        self._left -= len(string)
        if self._left >= 0 and len(self.found) < _MOST_STRINGS:
            self.found.append(string)
        elif (problem := "office: too many shared strings, some were left out") not in (
            self._problems[-1:]
        ):
            self._problems.append(problem)

    def data(self, text: str) -> None:
        if self._in_text:
            self._pieces.append(text)


class _Rows(XmlHandler):
    """Adds the rows of a sheet to the text."""

    def __init__(
        self, text: OfficeText, strings: list[str], styles: CellStyles, relations: Relations
    ) -> None:
        self._text, self._strings, self._relations = text, strings, relations
        self._styles = styles
        self.from_1904 = False
        self._type = self._style = ""
        self._in_value = False
        self._pieces: list[str] = []

    def start(self, name: str, attributes: Attributes) -> None:
        if name == "c":
            self._type, self._style = attributes.get("t", ""), attributes.get("s", "")
            self._pieces = []
        elif name in ("v", "t"):
            self._in_value = True
        elif name == "hyperlink":
            address = self._relations.addresses.get(attributes.get("id", ""), "")
            if address:
                self._text.add_link(address, attributes.get("display", ""))

    def end(self, name: str) -> None:
        if name in ("v", "t"):
            self._in_value = False
        elif name == "c" and self._pieces:
            self._text.add(self._value())
            self._text.add("\t")
            self._pieces = []
        elif name == "row":
            self._text.end_block()

    def data(self, text: str) -> None:
        if self._in_value:
            self._pieces.append(text)

    def _value(self) -> str:
        value = "".join(self._pieces)
        if self._type in _NUMBERS:
            shown_as = self._styles.shown_as(self._style)
            return cell_text(value, shown_as, from_1904=self.from_1904)[:_LONGEST_CELL]
        if self._type != _SHARED:
            return value[:_LONGEST_CELL]
        number = int(value) if value.isdecimal() and len(value) <= _LONGEST_INDEX else -1
        return self._strings[number] if 0 <= number < len(self._strings) else ""
