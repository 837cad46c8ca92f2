"""Office Open XML (ECMA-376): docx and pptx; xlsx by `spreadsheet`."""

import re

from nwx.extract.office.parts import (
    Attributes,
    Parts,
    Relations,
    XmlHandler,
    office_metadata,
    read_xml,
    relations_of,
)
from nwx.extract.office.spreadsheet import read_workbook
from nwx.extract.office.text import OfficeText

_HYPERLINK_FIELD = re.compile(r'\s*HYPERLINK\s+"([^"\s]{1,8000})"')
_LONGEST_INSTRUCTION = 10_000
_HEADING_STYLE = re.compile(r"(?:heading|title|berschrift|titre|t[ií]tulo)\s?\d?", re.I)
_TITLE_PLACEHOLDERS = ("title", "ctrTitle")
_BREAKS = {"tab": "\t", "br": "\n", "cr": "\n", "noBreakHyphen": "-"}
_DOCUMENT_KINDS = ("header", "footnotes", "endnotes", "comments", "footer")


def read_openxml(parts: Parts, text: OfficeText) -> None:
    """Add the content of a docx, pptx or xlsx file to a text."""
    root = relations_of(parts, "")
    for name in root.of_kind("core-properties"):
        text.metadata = office_metadata(parts, name)
    for name in root.of_kind("officeDocument") or _usual(parts):
        relations = relations_of(parts, name)
        if relations.of_kind("worksheet", "chartsheet") or name.startswith("xl/"):
            read_workbook(parts, text, name, relations)
        elif relations.of_kind("slide", "slideMaster") or name.startswith("ppt/"):
            _read_slides(parts, text, name, relations)
        else:
            read_xml(parts, name, _Paragraphs(text, relations))
            for other in relations.of_kind(*_DOCUMENT_KINDS):
                read_xml(parts, other, _Paragraphs(text, relations_of(parts, other)))


def _usual(parts: Parts) -> list[str]:
    """Return the default main part if no relation names it, as in a truncated file."""
    names = ("word/document.xml", "ppt/presentation.xml", "xl/workbook.xml")
    return [name for name in names if name in parts][:1] or sorted(
        name for name in parts.names if re.match(r"(?:ppt/slides|xl/worksheets)/[^/]+\.xml$", name)
    )[:1]


def _read_slides(parts: Parts, text: OfficeText, name: str, relations: Relations) -> None:
    order = _Ids("sldId")
    read_xml(parts, name, order)
    slides = [relations.parts[id] for id in order.found if id in relations.parts]
    for slide in slides or _slide_names(parts):
        own = relations_of(parts, slide)
        read_xml(parts, slide, _Paragraphs(text, own))
        for notes in own.of_kind("notesSlide", "comments"):
            read_xml(parts, notes, _Paragraphs(text, relations_of(parts, notes)))


def _slide_names(parts: Parts) -> list[str]:
    found = (re.fullmatch(r"ppt/slides/slide(\d{1,6})\.xml", name) for name in parts.names)
    return [match[0] for match in sorted(filter(None, found), key=lambda match: int(match[1]))]


class _Ids(XmlHandler):
    """Collects the relation ids of elements of a name, in order."""

    def __init__(self, name: str) -> None:
        self._name = name
        self.found: list[str] = []

    def start(self, name: str, attributes: Attributes) -> None:
        if name == self._name and (id := attributes.get("id")):
            self.found.append(id)


class _Paragraphs(XmlHandler):
    """Takes the paragraphs of a document or a slide."""

    def __init__(self, text: OfficeText, relations: Relations) -> None:
        self._text, self._relations = text, relations
        self._in_text = self._in_instruction = self._is_heading = self._is_title = False
        self._fallbacks = 0
        self._paragraph = self._run = text.mark
        self._run_link = ""
        self._links: list[tuple[str, int]] = []
        self._instruction = ""
        self._field: list[tuple[str, int]] = []

    def start(self, name: str, attributes: Attributes) -> None:
        if name == "t":
            self._in_text = not self._fallbacks
        elif name == "p":
            self._paragraph, self._is_heading = self._text.mark, self._is_title
        elif name == "r":
            self._run, self._run_link = self._text.mark, ""
        elif name in _BREAKS:
            if not self._fallbacks and attributes.get("val") is None:
                self._text.add(_BREAKS[name])
        else:
            self._start_other(name, attributes)

    def _start_other(self, name: str, attributes: Attributes) -> None:
        if name in ("pStyle", "outlineLvl"):
            style = attributes.get("val", "")
            self._is_heading |= bool(_HEADING_STYLE.match(style)) or name == "outlineLvl"
        elif name == "hyperlink":
            self._links.append((self._address(attributes), self._text.mark))
        elif name == "hlinkClick":
            self._run_link = self._address(attributes)
        elif name == "instrText":
            self._in_instruction = True
        elif name == "fldChar":
            self._follow_field(attributes.get("fldCharType", ""))
        elif name == "ph":
            self._is_title = attributes.get("type", "") in _TITLE_PLACEHOLDERS
        elif name == "sp":
            self._is_title = False
        elif name == "Fallback":  # says again what stands beside it
            self._fallbacks += 1

    def end(self, name: str) -> None:
        if name == "t":
            self._in_text = False
        elif name == "p":
            if self._is_heading:
                self._text.add_heading(self._text.since(self._paragraph))
            self._text.end_block()
        elif name == "r":
            if self._run_link:
                self._text.add_link(self._run_link, self._text.since(self._run))
        elif name == "tc":
            self._text.end_block()
        elif name == "instrText":
            self._in_instruction = False
        elif name == "hyperlink" and self._links:
            address, mark = self._links.pop()
            if address:
                self._text.add_link(address, self._text.since(mark))
        elif name == "Fallback":
            self._fallbacks = max(0, self._fallbacks - 1)

    def data(self, text: str) -> None:
        if self._in_text:
            self._text.add(text)
        elif self._in_instruction and len(self._instruction) < _LONGEST_INSTRUCTION:
            self._instruction += text

    def _address(self, attributes: Attributes) -> str:
        return self._relations.addresses.get(attributes.get("id", ""), "")

    def _follow_field(self, kind: str) -> None:
        """Take a part of a complex field: its begin, the end of its instruction, or its end."""
        if kind == "begin":
            self._instruction = ""
        elif kind == "separate":
            match = _HYPERLINK_FIELD.match(self._instruction)
            self._field = [(match[1], self._text.mark)] if match else []
        elif self._field:
            address, mark = self._field.pop()
            self._text.add_link(address, self._text.since(mark))
