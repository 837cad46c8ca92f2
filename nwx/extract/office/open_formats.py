"""Readers of OpenDocument, EPUB and Office Open XML, and detection of a payload's office format."""

import re
from dataclasses import replace
from posixpath import dirname, join, normpath
from urllib.parse import unquote

from nwx.extract.html import extract_html
from nwx.extract.office import RTF_MAGIC, ZIP_MAGIC
from nwx.extract.office.parts import (
    Attributes,
    Parts,
    Relations,
    XmlHandler,
    office_metadata,
    read_xml,
    relations_of,
)
from nwx.extract.office.rtf import read_rtf
from nwx.extract.office.spreadsheet import read_workbook
from nwx.extract.office.text import OfficeText, Stop
from nwx.extract.page import ExtractPayload
from nwx.model import Extract

CONTENT = "content.xml"
MIME_TYPES = (b"application/vnd.oasis.opendocument.", b"application/vnd.sun.xml.")
"""The prefixes of OpenDocument media types."""

_MOST_SPACES = 100
_SKIPPED = frozenset(("tracked-changes", "scripts", "automatic-styles", "font-face-decls", "forms"))
_BREAKS = {"tab": "\t", "line-break": "\n"}
_TITLE = "title"


def read_opendocument(parts: Parts, text: OfficeText) -> None:
    """Add the content of an OpenDocument file to a text."""
    text.metadata = office_metadata(parts, "meta.xml")
    if encrypted(parts):
        parts.problems.append("office: the content is encrypted")
        return
    read_xml(parts, CONTENT, _Content(text))


def encrypted(parts: Parts) -> bool:
    """Return whether the manifest declares encrypted parts."""
    return b"encryption-data" in parts.read("META-INF/manifest.xml", 1 << 20)


class _Content(XmlHandler):
    """Collects the body of an OpenDocument document."""

    def __init__(self, text: OfficeText) -> None:
        self._text = text
        self._skipped = self._paragraphs = self._cells = 0
        self._title_depth = self._depth = 0
        self._marks: list[int] = []
        self._links: list[tuple[str, int]] = []

    def start(self, name: str, attributes: Attributes) -> None:
        self._depth += 1
        if name in _SKIPPED:
            self._skipped += 1
        if self._skipped:
            return
        if name in ("p", "h"):
            self._paragraphs += 1
            self._marks.append(self._text.mark)
        elif name == "s":
            count = attributes.get("c", "1")[:3]
            self._text.add(" " * min(int(count) if count.isdecimal() else 1, _MOST_SPACES))
        elif name in _BREAKS:
            self._text.add(_BREAKS[name])
        elif name == "a":
            self._links.append((attributes.get("href", ""), self._text.mark))
        elif name == "table-cell":
            self._cells += 1
        elif name == "table" and (title := attributes.get("name", "")):
            self._text.add(title)
            self._text.end_block()
        elif name == "frame" and attributes.get("class") == _TITLE:
            self._title_depth = self._depth

    def end(self, name: str) -> None:
        if name in _SKIPPED:
            self._skipped = max(0, self._skipped - 1)
        elif not self._skipped:
            self._end_shown(name)
        if self._depth == self._title_depth:
            self._title_depth = 0
        self._depth -= 1

    def _end_shown(self, name: str) -> None:
        if name in ("p", "h"):
            self._paragraphs -= 1
            mark = self._marks.pop()
            if name == "h" or self._title_depth:
                self._text.add_heading(self._text.since(mark))
            if self._cells:
                self._text.add("\t")
            else:
                self._text.end_block()
        elif name == "a" and self._links:
            address, mark = self._links.pop()
            self._text.add_link(address, self._text.since(mark))
        elif name == "table-cell":
            self._cells -= 1
        elif name == "table-row":
            self._text.end_block()

    def data(self, text: str) -> None:
        if self._paragraphs and not self._skipped:
            self._text.add(text)


CONTAINER = "META-INF/container.xml"
MIME_TYPE = b"application/epub+zip"

_MOST_CHAPTERS = 5_000
_BOOK = "http://book.invalid/"  # the base URL of a book's parts (RFC 2606)
_PAGES = ("application/xhtml+xml", "text/html", "application/x-dtbook+xml")


def read_epub(parts: Parts, text: OfficeText, payload: ExtractPayload) -> None:
    """Add the content of an EPUB's chapters to a text."""
    container = _Container()
    read_xml(parts, CONTAINER, container)
    packages = container.packages or [name for name in parts.names if name.endswith(".opf")][:1]
    for package in packages[:1]:
        text.metadata = office_metadata(parts, package)
        listed = _Package()
        read_xml(parts, package, listed)
        for number, reference in enumerate(listed.chapters()):
            if number >= _MOST_CHAPTERS:
                raise Stop(f"office: more than {_MOST_CHAPTERS} chapters, the rest was left out")
            name = normpath(join(dirname(package), unquote(reference.partition("#")[0])))
            _read_chapter(parts, text, payload, name)


def _read_chapter(parts: Parts, text: OfficeText, payload: ExtractPayload, name: str) -> None:
    if name not in parts:
        parts.problems.append("office: a chapter is missing")
        return
    parts.check_time()
    data = parts.read(name, payload.limits.bytes)
    # an HTML parser ignores entity declarations
    page = extract_html(
        replace(payload, data=data, url=f"{_BOOK}{name}", content_type=_PAGES[0], charset="")
    )
    parts.problems.extend(page.problems)
    for heading in page.headings:
        text.add_heading(heading)
    for link in page.links:
        if not link.url.startswith(_BOOK):
            text.add_link(link.url, link.text)
    for line in page.content.split("\n"):
        text.add(line)
        text.end_block()


class _Container(XmlHandler):
    """Collects the names of the packages of a container."""

    def __init__(self) -> None:
        self.packages: list[str] = []

    def start(self, name: str, attributes: Attributes) -> None:
        if name == "rootfile" and (path := attributes.get("full-path")):
            self.packages.append(path)


class _Package(XmlHandler):
    """Collects the chapters of an EPUB package: its files by id, and the reading order."""

    def __init__(self) -> None:
        self._pages: dict[str, str] = {}
        self._order: list[str] = []

    def start(self, name: str, attributes: Attributes) -> None:
        if name == "item" and attributes.get("media-type", "") in _PAGES:
            self._pages[attributes.get("id", "")] = attributes.get("href", "")
        elif name == "itemref":
            self._order.append(attributes.get("idref", ""))

    def chapters(self) -> list[str]:
        """Return the references of the chapters in reading order, each once."""
        ids = dict.fromkeys(id for id in self._order if id in self._pages)
        return [self._pages[id] for id in ids or self._pages]


_HYPERLINK_FIELD = re.compile(r'\s*HYPERLINK\s+"([^"\s]{1,8000})"')
_LONGEST_INSTRUCTION = 10_000
_HEADING_STYLE = re.compile(r"(?:heading|title|berschrift|titre|t[ií]tulo)\s?\d?", re.I)
_TITLE_PLACEHOLDERS = ("title", "ctrTitle")
_XML_BREAKS = {"tab": "\t", "br": "\n", "cr": "\n", "noBreakHyphen": "-"}
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
    """Collects the paragraphs of a document or slide."""

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
        elif name in _XML_BREAKS:
            if not self._fallbacks and attributes.get("val") is None:
                self._text.add(_XML_BREAKS[name])
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
        elif name == "Fallback":  # repeats the content of its sibling `Choice`
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
        """Process a `fldChar`: a complex field's begin, the end of its instruction, or its end."""
        if kind == "begin":
            self._instruction = ""
        elif kind == "separate":
            match = _HYPERLINK_FIELD.match(self._instruction)
            self._field = [(match[1], self._text.mark)] if match else []
        elif self._field:
            address, mark = self._field.pop()
            self._text.add_link(address, self._text.since(mark))


_OPENXML = ("word/", "xl/", "ppt/")
_LONGEST_TYPE = 200


def extract_office(payload: ExtractPayload) -> Extract:
    """Return the extract of an office file or book; empty if the bytes are neither."""
    text = OfficeText(payload)
    try:
        if payload.data.startswith(RTF_MAGIC):
            read_rtf(text, payload)
        elif payload.data.startswith(ZIP_MAGIC):
            _read_zip(text, payload)
        else:
            return Extract()
    except Stop as stop:
        text.problems.extend(filter(None, (str(stop),)))
    return text.finish()


def _read_zip(text: OfficeText, payload: ExtractPayload) -> None:
    problems: list[str] = []
    parts = Parts(payload, problems)
    try:
        mime_type = parts.read("mimetype", _LONGEST_TYPE).strip()
        if mime_type == MIME_TYPE or CONTAINER in parts:
            read_epub(parts, text, payload)
        elif mime_type.startswith(MIME_TYPES):
            read_opendocument(parts, text)
        elif any(name.startswith(_OPENXML) for name in parts.names):
            read_openxml(parts, text)
        else:
            problems.clear()  # other ZIP files are not office files
    finally:
        text.problems.extend(problems)
