"""OpenDocument (ISO/IEC 26300: odt, ods, odp) and EPUB."""

from dataclasses import replace
from posixpath import dirname, join, normpath
from urllib.parse import unquote

from nwx.extract.html import extract_html
from nwx.extract.office.parts import Attributes, Parts, XmlHandler, office_metadata, read_xml
from nwx.extract.office.text import OfficeText, Stop
from nwx.extract.page import ExtractPayload

CONTENT = "content.xml"
MIME_TYPES = (b"application/vnd.oasis.opendocument.", b"application/vnd.sun.xml.")
"""How the types of such files begin."""

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
    """Takes the body of a document."""

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
_BOOK = "http://book.invalid/"  # its parts lie there while a chapter is read (RFC 2606)
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
    # an entity that is declared here means nothing to a parser of HTML
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
    """Collects the contents of an EPUB package: its files by id, and the reading order."""

    def __init__(self) -> None:
        self._pages: dict[str, str] = {}
        self._order: list[str] = []

    def start(self, name: str, attributes: Attributes) -> None:
        if name == "item" and attributes.get("media-type", "") in _PAGES:
            self._pages[attributes.get("id", "")] = attributes.get("href", "")
        elif name == "itemref":
            self._order.append(attributes.get("idref", ""))

    def chapters(self) -> list[str]:
        """Return the references to the chapters, each once."""
        ids = dict.fromkeys(id for id in self._order if id in self._pages)
        return [self._pages[id] for id in ids or self._pages]
