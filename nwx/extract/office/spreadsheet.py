"""Sheets of an Office Open XML workbook: a line a row."""

from nwx.extract.office.cell_dates import CellStyles, cell_text
from nwx.extract.office.parts import Parts
from nwx.extract.office.relations import Relations, relations_of
from nwx.extract.office.text import OfficeText
from nwx.extract.office.xml import Attributes, read_xml

_MOST_STRINGS = 1_000_000
_MOST_CHARACTERS = 32 << 20  # of all shared strings
_LONGEST_CELL = 32_767  # characters, as in Excel
_LONGEST_INDEX = 9
_SHARED = "s"
_NUMBERS = frozenset(("", "n"))
_TRUE = frozenset(("1", "true"))


def read_workbook(parts: Parts, text: OfficeText, name: str, relations: Relations) -> None:
    """Add the sheets of a workbook to a text, in their order."""
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


class _SheetNames:
    """Collects names and relation ids of the sheets, and from when days are counted."""

    def __init__(self) -> None:
        self.found: list[tuple[str, str]] = []
        self.from_1904 = False

    def start(self, name: str, attributes: Attributes) -> None:
        if name == "sheet":
            self.found.append((attributes.get("name", ""), attributes.get("id", "")))
        elif name == "workbookPr":
            self.from_1904 = attributes.get("date1904", "") in _TRUE

    def end(self, name: str) -> None:
        pass

    def data(self, text: str) -> None:
        pass


class _SharedStrings:
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


class _Rows:
    """Takes the rows of a sheet."""

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
            shown_as = self._styles.of(self._style)
            return cell_text(value, shown_as, from_1904=self.from_1904)[:_LONGEST_CELL]
        if self._type != _SHARED:
            return value[:_LONGEST_CELL]
        number = int(value) if value.isdecimal() and len(value) <= _LONGEST_INDEX else -1
        return self._strings[number] if 0 <= number < len(self._strings) else ""
